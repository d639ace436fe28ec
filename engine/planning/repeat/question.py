"""Declaration of the planner question "Simulate or repeat"."""

from __future__ import annotations

from dataclasses import replace

from isoplan.engine.amounts import SAMPLES
from isoplan.engine.planning.questions.declaration import CurveInput, FitInput, PlannerQuestion
from isoplan.engine.planning.scenario.fields import EUR, FIELDS, Field, pick
from isoplan.engine.quantities import parse_number

FITS = (
    FitInput("Fit of chinchilla to runs of one pass.", "one_pass", "ONE_PASS.json", "Every sample seen once",
             laws=("chinchilla", "data-constrained")),
    FitInput("Fit of the law 'repetition' to runs with early stopping.", "repeated", "REPEATED.json",
             "Samples repeated to the early stop", laws=("repetition", "power"), repeated=True,
             excluded="Not offered, because these laws do not contain unique samples or repeats: {}.",
             missing="This task has no law of repeated samples. Fit the law 'repetition' to a table of repeated runs, "
             "or choose another law of samples seen once.",
             unsure="The task of this law is not known. Choose the law of repeated samples that was fitted to runs of "
             "the same task.",
             lacking="This question needs a second table of the same task, with two columns: U, the number of unique "
             "samples, and the loss. Each run repeats its U samples until the validation loss stops decreasing; the "
             "loss is the smallest validation loss of the run. Example line: U = 500, loss = 1.399. Upload this table "
             "on Data and fit the law 'repetition' to U.",
             examples=("Jets, repeated, widths x numbers of jets (trained)",
                       "Jets, repeated data for four inputs (simulated)")),
    FitInput("Fit of the law 'threshold', for N and epochs of repeated training.", "threshold",
             label="Overfitting threshold", laws=("threshold",), optional=True),
    FitInput("Fit of data-constrained, for the cost of a few epochs.", "surface",
             label="Data-constrained law for a few epochs", link="few_epochs", laws=("data-constrained",),
             optional=True),
)  # fmt: skip
INPUTS = (
    replace(FIELDS["target_loss"], help="Target loss.", link="reach", required=True),
    *pick("sample_price", "sample_seconds", "cpu_price"),
    Field("flop_price", "Price of one FLOP; or give --device and --hour-price.", per=("flop",)),
    *pick("device", "hour_price", "utilisation", "precision"),
    Field("kappa", "kappa: compute of repeated training divided by the compute of one pass; about 10 for jets.",
          "kappa", start="10", read=parse_number, before="repeating takes",
          after="times the compute of one pass, and I have"),
    Field("have", "Number of available samples.", "Samples at hand", SAMPLES, start="0", default="0",
          said="number of samples at hand", before="", after="{unit} already"),
    replace(FIELDS["currency"], default=EUR),
)  # fmt: skip
QUESTION = PlannerQuestion(
    name="repeat",
    title="Simulate or repeat",
    icon="call_split",
    summary="Compare simulating more samples with repeating few of them.",
    lead="I must reach a {y} of",
    fits=FITS,
    fields=INPUTS,
    module=f"{__package__}.reply",
    key="regimes",
    grouped="repeated",
    curves=CurveInput("kappa", "Training curves that determine kappa, instead of --kappa.", "Source of kappa",
                      "kappa_from", "Computed from training curves with repeated samples."),
    more="More inputs: training curves for kappa, overfitting threshold, law for a few epochs",
    costs=f"{__package__}.costs",
)  # fmt: skip
