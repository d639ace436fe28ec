"""Residuals of a fit, and measures of how well the law describes the runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.samples.sample import placed, stated_error
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.schema import Runs

FAR = 5.0
"""Smallest outlier limit, in robust standard deviations. A run beyond the limit is marked, but not removed."""
CHANCE = 0.01
"""Probability that a table with normal noise and no wrong run has at least one outlier."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals of a fit. All arrays are (n,), in the order of the runs.

    ``residual`` is log(y / predicted) if ``log`` is True, and otherwise y - predicted in the unit of y. It is positive
    above the law. ``z`` is the residual in robust standard deviations: the residual divided by 1.4826 times the median
    of the absolute residuals. If errors are given, each residual is first divided by the error of its run. The median
    omits the p smallest absolute residuals, because a robust fit of p parameters passes through about p runs. A run
    with abs(z) above ``limit`` is an ``outlier``. ``rms`` is the root mean square of ``residual``. ``r2`` is the
    fraction of the variance of y (of log y if ``log``) that the law explains.
    """

    predicted: Floats
    residual: Floats
    z: Floats
    outlier: NDArray[np.bool_]
    limit: float
    log: bool
    rms: float
    r2: float


def residuals(fit: Fit, runs: Runs) -> Residuals:
    """Return the residuals of ``runs`` from ``fit``.

    Raises PlannerError if a column that the law needs is missing, or if the law describes iso-FLOP minima and
    therefore does not predict single runs. Use ``parabolas`` for such laws.
    """
    if not fit.law.is_pointwise:
        raise PlannerError(f"Law {fit.law.name} describes minima, not single runs: look at its parabolas.")
    error = fit.spec.relative_error
    needed = (*fit.law.axes, fit.spec.y, *([error] if isinstance(error, str) else []))
    missing = [name for name in needed if name not in runs]
    if missing:
        raise PlannerError(f"These runs have no {' and '.join(missing)}: map the columns that the fit used.")
    predicted = fit.predict(placed(fit.spec, runs))
    free = sum(not p.fixed for p in fit.parameters)
    return compare(predicted, runs[fit.spec.y], fit.spec.log_residuals, stated_error(fit.spec, runs), free)


def outlier_limit(n: int, parameters: int) -> float:
    """Return the number of robust standard deviations beyond which one of ``n`` runs is an outlier.

    If n minus the number of fitted ``parameters`` is small, the scatter of the runs is uncertain. The limit is
    therefore a quantile of Student's t distribution. A table without a wrong run has an outlier with probability
    ``CHANCE``. The limit is 5 for many runs, 8 for four degrees of freedom, 380 for one, and infinite for zero.
    """
    freedom = n - parameters
    return max(FAR, float(-stdtrit(freedom, CHANCE / 2 / n))) if freedom > 0 else float("inf")


def compare(predicted: Floats, y: Floats, log: bool, error: Floats | float = 1.0, parameters: int = 0) -> Residuals:
    """Return the residuals of ``y`` (n,) from ``predicted`` (n,); NaN where ``y`` or ``predicted`` is NaN.

    A prediction is NaN if the run has no value on the axis of the law. ``error`` (n,) contains the error of each run.
    Its unit is arbitrary but must be equal for all runs. ``parameters`` is the number of fitted parameters.
    """
    there = ~np.isnan(predicted) & ~np.isnan(y)
    with np.errstate(divide="ignore", invalid="ignore"):
        residual = np.log(y / predicted) if log else y - predicted
        target = np.log(y) if log else y
    left, seen = residual[there], target[there]
    noise = 1e-12 * float(np.max(np.abs(seen), initial=0.0))
    typical = float(np.median(np.abs(left))) if left.size else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        pull = residual / error
    upper = np.sort(np.abs(pull[there]))[min(parameters, max(left.size - 1, 0)) :]
    z = pull / (1.4826 * np.median(upper)) if 1.4826 * typical > noise else np.zeros_like(residual)
    limit = outlier_limit(left.size, parameters)
    spread = float(np.sum((seen - np.mean(seen)) ** 2)) if seen.size else 0.0
    squares = float(np.sum(left**2))
    return Residuals(
        predicted,
        residual,
        z,
        np.abs(z) > limit,
        limit,
        log,
        rms=float(np.sqrt(squares / left.size)) if left.size else float("nan"),
        r2=1 - squares / spread if spread > 0 else float("nan"),
    )
