"""S = S_min (1 + B_crit / B): training steps to a target against batch size (McCandlish et al. 2018,
arXiv:1812.06162).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.laws.law import Derived, Law, Param, Values
from isoplan.engine.laws.terms import Const, Reciprocal


def critical(v: Values) -> Floats:
    """Return B_crit = E_min / S_min; inf if S_min is not above zero, since the steps then decrease without a
    plateau.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(v["S_min"] > 0, v["E_min"] / v["S_min"], np.inf)


def _batch(v: Values, updates: Floats) -> Floats:
    """Return B that needs ``updates`` training steps to the target: E_min / (S - S_min), inf at or below S_min."""
    excess = np.asarray(updates, float) - v["S_min"]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(excess > 0, v["E_min"] / excess, np.inf)


@lru_cache
def critical_batch(axis: str) -> Law:
    """Return the law over the column ``axis`` of the batch size; y is the number of training steps to a target.

    In the form S = S_min + E_min / B it is linear in both parameters; E_min = S_min B_crit is the least number of
    samples that reaches the target.
    """
    return Law(
        name="critical-batch",
        title=f"Critical batch size, {axis}",
        summary=f"Training steps to a target fall as 1/{axis} to a plateau: below B_crit a larger batch saves steps, "
        "above it it only costs samples. Least squares (ols) is the published fit.",
        terms=(Const("S_min"), Reciprocal("E_min", axis)),
        params=(
            Param(
                "S_min", -np.inf, np.inf, "training steps", "steps to the target with the largest batches", r"S_{\min}"
            ),
            Param("E_min", 0.0, np.inf, "samples", "samples to the target with the smallest batches", r"E_{\min}"),
        ),
        reference="McCandlish et al. 2018, arXiv:1812.06162, eq. 2.11; behavioural, eq. 3 and Table 3",
        needs=f"{axis} and the training steps to one target: at least three runs at two batch sizes.",
        axis=axis,
        symbol="S",
        axis_roles=("hyperparameter",),
        with_axis=critical_batch,
        inverse=_batch,
        counts_updates=True,
        derived=(
            Derived(
                "B_crit",
                f"critical {axis}: there the target takes twice the least training steps and twice the least samples",
                r"B_{\mathrm{crit}} = \frac{E_{\min}}{S_{\min}}",
                critical,
                "no plateau",
            ),
        ),
    )
