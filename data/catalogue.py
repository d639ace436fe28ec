"""Catalogue of the bundled data: simulated demo tables, published run tables and law cards.

``data/README.md`` describes every bundled file. When this module is imported, it reads only two small files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from isoplan.data.files import is_there, path, records
from isoplan.engine.costs import ComputeRule
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.planning.amplitude.cell_laws import AS_PUBLISHED
from isoplan.engine.schema import Metric, Roles

__all__ = ["BUNDLED", "CARDS", "DEMOS", "PUBLISHED", "TRAINED", "Card", "Demo", "path", "records"]


@dataclass(frozen=True)
class Demo:
    """A bundled run table: its display name, its file under ``data``, its mapping and its provenance.

    ``spec`` is the specification of the default fit of the table: the law, the error of the losses, and the parameters
    that all groups share.
    """

    name: str
    file: str
    roles: Roles
    provenance: str
    spec: FitSpec


@dataclass(frozen=True)
class Card:
    """A published law: its display name and its file under ``data``, in the JSON format of ``isoplan fit --json``."""

    name: str
    file: str


SIGNALS = tuple(row["signal"] for row in records("papers/jets/efficiencies.csv"))
REJECTIONS = tuple(f"R_{signal}" for signal in SIGNALS)
AXES = {"N": "N", "D": "D", "C": "C"}
JETS = ComputeRule(rule="6npND", n_p=40)


def _roles(*metrics: str, smaller: Iterable[str] = (), **more: object) -> Roles:
    """Return a mapping with metrics and other roles.

    In the columns ``metrics``, larger values are better. In the columns ``smaller``, smaller values are better.
    ``more`` maps other roles to columns.
    """
    larger = [Metric(column=name) for name in metrics]
    listed = (*larger, *(Metric(column=name, direction="min") for name in smaller))
    return Roles.model_validate({"metrics": listed, **more})


DEMOS = (
    Demo(
        "Jets, N x D grid (simulated)",
        "demo/jets_grid.csv",
        _roles(*REJECTIONS, **AXES, loss="loss", run="run", hyper=("width",), compute=JETS),
        "Simulated: 9 model sizes x 6 data sizes drawn from the published law of jet tagging (jets, Table 1) with 1 % "
        "noise; the rejections are computed from the loss with constants that Isoplan chose.",
        FitSpec(law="chinchilla"),
    ),
    Demo(
        "Recommender, iso-FLOP sweep (simulated)",
        "demo/recommender_isoflop.csv",
        _roles("recall@10", "NDCG@10", **AXES, loss="val_loss", budget="budget", run="run"),
        "Simulated: 5 budgets x 9 model sizes on parabolas whose minima are the published optima (behavioural, "
        "Table 4), with 0.2 % noise.",
        FitSpec(law="isoflop"),
    ),
    Demo(
        "Jets, repeated data for four inputs (simulated)",
        "demo/jets_repetition.csv",
        _roles(D="unique_jets", loss="loss", group="inputs", seed="seed", run="run", hyper=("features", "particles")),
        "Simulated: the best loss that repeated training reaches on D unique jets, drawn from the published "
        "laws of four input configurations (jets, Table 2) with 1 % noise. D counts unique jets.",
        FitSpec(law="power", axis="D"),
    ),
)

RANKING = tuple(f"{name}@10" for name in ("recall", "NDCG", "MRR", "coverage"))
SWEEPS = (
    ("allocation", "isoflop", None, "full", "models of several widths",
     "evaluated batch-locally, `full_...` on all items"),
    ("share", "log-parabola", "s", "full", "shares of the embedder",
     "evaluated batch-locally, `full_...` on all items. Filter to one budget"),
    ("negatives", "log-parabola", "negatives", "local", "extra negatives of stage 2",
     "evaluated on all items, `local_...` batch-locally. Filter to one budget"),
)  # fmt: skip
"""Sweeps of recommender cells: name, law, axis, prefix, quantity that varies, and text on the evaluation.

A sweep ranks either batch-local candidates or all items. The prefix marks the metrics on the other kind of candidates.
"""


def _recommender(
    folder: str, log: str, sweep: str, law: str, axis: str | None, other: str, varied: str, judged: str
) -> Demo:
    """Return a sweep of recommender cells on one log of events.

    A sweep ranks either batch-local candidates or all items. Metrics with the prefix ``other`` ("full" or "local") are
    evaluated on the other kind of candidates.
    """
    metrics = (*RANKING, *(f"{other}_{name}" for name in RANKING))
    roles = _roles(
        *metrics, smaller=[f"{other}_loss"], N="N", D="D", C="C_step", budget="budget", loss="loss", seed="seed",
        run="run", hyper=(axis,) if axis else (),
    )  # fmt: skip
    table = f"{folder}/behavior_{sweep}"
    provenance = (
        f"Trained by `isoplan train data/{table}.toml`: {varied} on a {log} log at three budgets of the step formula; "
        f"{judged}."
    )
    name, spec = f"Recommender, {sweep} sweep, {log} log (trained)", FitSpec(law=law, axis=axis)
    return Demo(name, f"{table}.csv", roles, provenance, spec)


RECOMMENDER = tuple(
    _recommender(folder, log, *sweep)
    for folder, log in (("grids", "synthetic"), ("grids/games", "video games"))
    for sweep in SWEEPS
)
"""Sweeps of recommender cells. A sweep is listed only if its table exists. The training curves of the batch sweeps are
read by ``isoplan.data.trained``.
"""


def _amplitudes(grid: str, name: str, axis: str, provenance: str, *metrics: str, **more: object) -> Demo:
    """Return a scan of amplitude surrogates along ``axis``.

    The metrics of the scan are relative errors and ``metrics``; ``more`` maps further roles to columns.
    """
    errors = ("relative_median", "relative_mean", "epsilon", *metrics)
    shared = {**AXES, "loss": "loss", "seed": "seed", "run": "run", "hyper": ("d", "updates", "epochs")}
    roles = _roles(smaller=errors, **{**shared, **more})
    how = {"share": ("K",)} if roles.group else {"interval": "profile"}
    spec = AS_PUBLISHED.model_copy(update={"axis": axis, **how})
    said = f"Trained by `make grid-amplitudes` from data/grids/amplitudes_{grid}: {provenance}"
    file = f"grids/amplitudes_{grid.removesuffix('.toml').removesuffix('-*')}.csv"
    return Demo(f"Amplitudes, {name} (trained)", file, roles, said, spec)


AMPLITUDES = (
    _amplitudes(
        "data-*.toml", "loss against D, five processes", "D",
        "MLPs on invariants at N = 1e5 learn log |M|^2 of Zg, Zgg, Zggg, ttH and WZ; D counts training points. All "
        "cells with D up to 1,000, and at least one seed of each larger D, are repeated at twice the compute. Each "
        "process has its own law; all laws share the floor K.",
        group="process",
    ),
    _amplitudes(
        "data_raw.toml", "ttH with raw targets against D", "D",
        "the same for |M|^2 of ttH itself, as in the paper (amplitudes, Tables 2 to 4).",
    ),
    _amplitudes(
        "size.toml", "Zg, loss against N", "N",
        "7 sizes at D = 1,000 and 30,000, width over layers fixed. Filter to one D: D = 30000.",
    ),
    _amplitudes(
        "compute.toml", "Zg, loss against C", "C",
        "7 budgets at D = 100 and 10,000, each with its own cosine schedule, at N = 1e5. Filter to one D: D = 10000.",
    ),
    _amplitudes(
        "pulls.toml", "learned uncertainties of ttH and Zgg", "D",
        "networks that learn log |M|^2 and its uncertainty sigma at three D; a pull is an error divided by sigma.",
        "sigma_mean", group="process",
        hyper=("d", "updates", "epochs", "pull_mean", "pull_width", "bulk_mean", "bulk_width", "within_1", "within_2"),
    ),
    _amplitudes(
        "dimension.toml", "intrinsic dimensions of Zg, Zgg and ttH", "D",
        "two-NN dimensions of the last hidden layer, with sqrt(s) varying (sqrt_s = 0) and at 1 TeV. Filter to one N.",
        group="process",
        hyper=("d", "sqrt_s", "updates", "epochs", "dimension", "dimension_spread", "dimension_inputs"),
    ),
)  # fmt: skip
"""Scans of amplitude surrogates. A scan is listed only if its table exists."""


def _jets(*metrics: str, smaller: Iterable[str] = (), **more: object) -> Roles:
    """Return the mapping of a table of jet cells that Isoplan trained; ``more`` maps further roles to columns.

    The compute rule is C = 6 n_p N D in FLOPs, with n_p = 42 particles per jet.
    """
    compute = ComputeRule(rule="6npND", n_p=42)
    return _roles(*metrics, smaller=smaller, N="N", C="C", loss="loss", seed="seed", run="run", compute=compute, **more)


TRAINED = (
    Demo(
        "Jets, one pass, widths x numbers of jets (trained)",
        "grids/jets_one_pass.csv",
        _jets("accuracy", D="D", hyper=("width",)),
        "Trained by `isoplan train data/grids/jets_one_pass.toml`: the set Transformer of the jet paper on jets that "
        "Isoplan simulated, each seen once. C is counted, attention included.",
        FitSpec(law="chinchilla"),
    ),
    Demo(
        "Jets, repeated, widths x numbers of jets (trained)",
        "grids/jets_repeated.csv",
        _jets("accuracy", smaller=["overfits"], U="U", hyper=("width",)),
        "Trained by `isoplan train data/grids/jets_repeated.toml`: the same jets in each epoch until the validation "
        "loss increases; the best epoch is kept. Filter to width > 4: the smallest model hardly overfits.",
        FitSpec(law="repetition", axis="U"),
    ),
    *(sweep for sweep in RECOMMENDER if is_there(sweep.file)),
    Demo(
        "Jets, four inputs x numbers of repeated jets (trained)",
        "grids/jets_inputs.csv",
        _jets("accuracy", U="U", group="inputs"),
        "Trained by `isoplan train data/grids/jets_inputs.toml`: features x particles of the jet paper, the same jets "
        "in each epoch until the validation loss increases; the best epoch is kept. Filter to one input. The compute "
        "rule has n_p = 42, the value of 21x128; it is 34 for 40 particles and 10 for 10 particles.",
        FitSpec(law="repetition", axis="U"),
    ),
    Demo(
        "Jets, rejection of QCD against loss (trained)",
        "grids/jets_rejection.csv",
        _jets(*REJECTIONS, D="D", hyper=tuple(f"{name}_error" for name in REJECTIONS)),
        "Trained by `isoplan train data/grids/jets_rejection.toml`, each jet seen once, and evaluated on 500,000 "
        "jets of QCD. Describe a rejection R by metric-map over the loss, with its column R_..._error as relative "
        "error.",
        FitSpec(law="power", axis="D"),
    ),
    *(scan for scan in AMPLITUDES if is_there(scan.file)),
    Demo(
        "Teacher and student, 6 widths x 8 sample sizes (trained)",
        "grids/teacher_student.csv",
        _roles(smaller=["clean"], **AXES, loss="loss", seed="seed", run="run", hyper=("width",)),
        "Trained by the bundled example (`isoplan train data/grids/teacher_student.toml`): an MLP learns a known "
        "function from noisy labels. The floor of the loss is the variance of the noise, 0.01.",
        FitSpec(law="chinchilla"),
    ),
)

PUBLISHED = (
    Demo(
        "Recommender, allocation by validation loss (behavioural, Table 4)",
        "papers/behavior/table04_allocation.csv",
        _roles("recall@10", "NDCG@10", N="N", D="D", C="budget_flops", loss="val_loss", group="estimate"),
        "Published: the best run of each budget and the minimum of each iso-FLOP parabola.",
        FitSpec(law="power", axis="C"),
    ),
    Demo(
        "Recommender, allocation by training loss (behavioural, Table 13)",
        "papers/behavior/table13_train_surrogate.csv",
        Roles(N="N", D="D", C="budget_flops", loss="L_star"),
        "Published: the run of each budget with the least training loss.",
        FitSpec(law="power", axis="C"),
    ),
)

BUNDLED = (*TRAINED, *DEMOS, *PUBLISHED)
"""All bundled tables in the order of the lists on pages. A page opens with the first table."""

CARDS = tuple(Card(**entry) for entry in json.loads(path("cards/index.json").read_text(encoding="utf-8")))
