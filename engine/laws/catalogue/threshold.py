"""N = c D^lambda: the model size above which training on D unique samples overfits (jets, Fig. 3)."""

from __future__ import annotations

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.laws.law import Law, Param, Values
from isoplan.engine.laws.terms import Rising


def _samples(v: Values, N: Floats) -> Floats:
    """Return D whose threshold is ``N``: (N / c)^(1/lambda)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.exp((np.log(np.asarray(N, float)) - np.log(v["c"])) / v["lambda"])


THRESHOLD = Law(
    name="threshold",
    title="Overfitting threshold",
    summary="The line between models that level off and models that overfit when they repeat D unique samples: "
    "the smallest model worth training to the end lies on it.",
    terms=(Rising("c", "D", "lambda"),),
    params=(
        Param("c", 0.0, np.inf, "parameters", "threshold at one sample", "c"),
        Param("lambda", -np.inf, np.inf, "", "exponent: the threshold grows as D^lambda", r"\lambda"),
    ),
    reference="Neural scaling laws for boosted jet tagging, sec. 3.2 and Fig. 3",
    needs="N, unique samples (U, else D), and training curves or a column that says 1 where a run overfits, else 0: "
    "at least one run on each side and two numbers of samples.",
    estimator="threshold",
    extra_columns=("N", "D"),
    symbol="N",
    minimised=False,
    inverse=_samples,
)
