"""kappa: compute of repeated training divided by the compute of the optimal single pass with the same loss.

By jets, Sec. 3.2 and Fig. 2b, kappa is about 10 along the overfitting threshold, at every loss. It can also be measured
with training curves: for each dataset, the smallest model that overfits is evaluated at its early stop. The compute of
this model up to the early stop is divided by the compute that the one-pass law needs for the same loss. Compute along a
curve comes from a column C, or without such a column from the compute rule of the one-pass law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.resampling.bootstrap import counts
from isoplan.engine.fitting.samples.curve_tables import down, end_of, measured, smoothed
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.optimum.frontier import least_compute
from isoplan.engine.schema import OVERFITS, Curves

FEWEST_SETS = 2
SMOOTHING = 0.6
"""Weight of the past in the running mean that smooths a curve before its minimum is computed, as in ``FitSpec``."""


@dataclass(frozen=True, eq=False)
class Factor:
    """kappa as ``value``. For a fitted kappa, ``draws`` (r,) are its resamples and ``n`` is the number of datasets.

    A draw is NaN if kappa does not exist in this resample.
    """

    value: float
    draws: Floats = field(default_factory=lambda: np.empty(0))
    n: int = 0


def stated(kappa: float) -> Factor:
    """Return kappa as given by the user, without uncertainty.

    Raises PlannerError if kappa is below one, because no training needs less compute than the optimal single pass.
    """
    if not (math.isfinite(kappa) and kappa >= 1):
        raise PlannerError(
            f"With kappa = {kappa:g}, repeated training would need less compute than the best single pass: give a "
            "factor of at least 1, such as 10."
        )
    return Factor(float(kappa))


def fit_factor(
    one_pass: Fit, curves: Curves, rule: ComputeRule | None = None, *, smoothing: float = SMOOTHING, seed: int = 0
) -> Factor:
    """Fit kappa to training curves of the loss with repeated samples.

    kappa is a geometric mean over datasets. The compute rule is ``rule``, by default that of ``one_pass``. Resample i
    uses resample i of ``one_pass``, and draws datasets with replacement, with the random seed (``seed``, i). Raises
    PlannerError if the curves lack N, U or C, or if fewer than two datasets have a model that overfits.
    """
    rule = rule or one_pass.compute
    kept = _counted(measured(curves, "loss"), rule)
    for role in ("N", "U", "C"):
        if role not in kept or not np.isfinite(kept[role]).all():
            raise PlannerError(f"kappa needs {role} in the training curves: map a column to {role}.")
    stops = _early_stops(kept, smoothing)
    if len(stops) < FEWEST_SETS:
        raise PlannerError(
            f"Models overfit on only {len(stops)} of {len(np.unique(kept['U']))} datasets, but kappa needs at "
            f"least {FEWEST_SETS}: add a column {OVERFITS} (1 where a run overfits) to the run table, train longer, or "
            "give kappa."
        )
    spent, loss = (np.array(x) for x in zip(*stops, strict=True))

    def log_ratio(values: dict[str, Floats]) -> Floats:
        """Return ln(compute of repeated training / one-pass compute) for each dataset, shape (..., k).

        The result is -inf if the one-pass law cannot reach the loss.
        """
        each = {name: np.asarray(x)[..., None] for name, x in values.items()}
        with np.errstate(divide="ignore"):
            return np.log(spent / least_compute(one_pass.law, each, loss, rule).C)

    best = log_ratio(one_pass.values)
    if not np.isfinite(best).all():
        raise PlannerError(
            f"The one-pass law cannot reach the loss {loss[~np.isfinite(best)][0]:.4g} that repeated training reached: "
            "check that both tables contain the same loss."
        )
    ratios, weight = log_ratio(one_pass.draws), counts(len(spent), seed, 0, len(one_pass.resamples))
    draws = np.exp(np.sum(weight * ratios, axis=1) / np.sum(weight, axis=1)) if len(ratios) else np.empty(0)
    return Factor(float(np.exp(best.mean())), np.where(draws > 0, draws, np.nan), len(spent))


def _counted(curves: Curves, rule: ComputeRule) -> Curves:
    """Return the curves with a column C. A missing column C is computed from N and D by ``rule``."""
    if curves.roles.C is not None or not {"N", "D"} <= curves.values.keys():
        return curves
    return replace(curves, values={**curves.values, "C": rule.flops_anywhere(curves["N"], curves["D"])})


def _early_stops(curves: Curves, smoothing: float) -> list[tuple[float, float]]:
    """Return (C, loss) at the early stop of the smallest model that overfits, for each number of unique samples.

    The pairs are sorted by the number of unique samples. The run table can state whether a run overfits. If the table
    does not state this, overfitting is determined from the end of the training curve.
    """
    known = curves[OVERFITS] if OVERFITS in curves else np.full(len(curves.of), np.nan)
    raw = down(curves, "loss")
    loss = smoothed(raw, curves.starts, smoothing)
    smallest: dict[float, tuple[float, float, float]] = {}
    for a, b in pairwise(curves.starts.tolist()):
        if not (known[a] > 0 if np.isfinite(known[a]) else end_of(raw[a:b]).overfits):
            continue
        U, N, stop = float(curves["U"][a]), float(curves["N"][a]), a + int(np.argmin(loss[a:b]))
        smallest[U] = min(smallest.get(U, (math.inf, 0.0, 0.0)), (N, float(curves["C"][stop]), float(loss[stop])))
    return [smallest[U][1:] for U in sorted(smallest)]
