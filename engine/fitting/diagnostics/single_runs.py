"""Scatter of single runs around a law, and the interval of the result of one more run.

The scatter is computed from the objective of the fit, which is a sum over runs of rho(residual). Here rho is the loss
function of the fit. The scatter is the standard deviation of a normal distribution of residuals for which the expected
value of rho equals the mean of rho over the runs. For least squares, the scatter is the root mean square of the
residuals. For absolute deviations, and for Huber's loss far beyond its threshold, the scatter is 1.25 times the mean
absolute residual, and a few outliers hardly change it.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from isoplan.engine.fitting.resampling.bootstrap import expected_scatter
from isoplan.engine.fitting.solver.objectives import Loss
from isoplan.engine.fitting.solver.problem import objective
from isoplan.engine.fitting.types.parameters import Interval
from isoplan.engine.fitting.types.result import Fit

ESTIMATORS = ("surface", "formula", "parabola")
"""Estimators that give each run a residual. The residual is the distance of the run from the law. For "parabola", the
residual is the distance of the run from the parabola of the run's budget.
"""


def freedom(fit: Fit) -> float:
    """Return the degrees of freedom of a fit: number of runs minus number of free parameters.

    If groups share parameters, the runs of all groups determine a shared parameter. In each group, a shared parameter
    counts as the fraction (runs of this group) / (runs of all groups).
    """
    free, shared = (sum(not p.fixed for p in fit.parameters), sum(p.name in fit.spec.share for p in fit.parameters))
    return fit.n - free + shared * (1 - fit.n / max(fit.resampling.runs, fit.n))


def scatter(fit: Fit) -> float | None:
    """Return the standard deviation with which runs of weight 1 scatter around the law; None if it is not known.

    It is the standard deviation of log y if the fit has ``log_residuals``, otherwise the standard deviation of y. It is
    corrected for the number of fitted parameters. For iso-FLOP curves only the parameters of the law are counted. The
    result is therefore somewhat too small if each budget has few sizes.

    The scatter is not known for a published law, for a law fitted to the best points of curves, and for the objective
    ``asymmetric``, which follows the lower edge of the runs. It is also not known if the number of runs does not
    exceed the number of parameters, or if each run has its own error.
    """
    error = fit.spec.relative_error
    known = fit.objective is not None and fit.law.estimator in ESTIMATORS and freedom(fit) > 0
    if (
        not known
        or fit.spec.objective == "asymmetric"
        or isinstance(error, str)
        or (error and not fit.spec.log_residuals)
    ):
        return None
    assert fit.objective is not None
    found = _normal(objective(fit.spec, np.ones(1)).loss, fit.objective / freedom(fit))
    return found * (error or 1.0)


def mean_scatter(fit: Fit) -> float | None:
    """Return the standard deviation with which a run of mean weight scatters around the law, in units of the residuals.

    The result is None if the scatter or the runs are not known.
    """
    single, error = scatter(fit), fit.spec.relative_error
    if single is None or fit.runs is None:
        return None
    unit = single / error if isinstance(error, float) else single  # the weights of the runs contain the error
    return unit * float(expected_scatter(fit.spec, np.array([np.mean(fit.runs.weight)]))[0])


def times(fit: Fit, level: float) -> float:
    """Return t such that a run lies within t standard deviations of the law with probability ``level``.

    The number t is a quantile of Student's t distribution, or of the normal distribution if there are no degrees of
    freedom.
    """
    return float(stdtrit(freedom(fit), (1 + level) / 2)) if freedom(fit) > 0 else float(ndtri((1 + level) / 2))


def _normal(loss: Loss, mean: float) -> float:
    """Return the standard deviation of normal residuals for which the expected value of rho (``loss``) is ``mean``."""
    from scipy.optimize import brentq

    if mean <= 0:
        return 0.0
    if not np.isfinite(loss.delta):
        return float(np.sqrt(2 * mean / loss.scale))

    def excess(log_sd: float) -> float:
        sd = np.exp(log_sd)
        a = loss.delta / sd
        height = np.exp(-(a**2) / 2) / np.sqrt(2 * np.pi)
        core = sd**2 * (ndtr(a) - 0.5 - a * height)
        tails = 2 * loss.delta * sd * height - loss.delta**2 * ndtr(-a)
        return float(np.log(loss.scale * (core + tails) / mean))

    # ``rho(r) <= loss.scale * r**2 / 2``, and ``rho(r) <= loss.scale * loss.delta * abs(r)``. Each of these two bounds
    # gives a lower limit of the standard deviation.
    least = max(np.sqrt(2 * mean / loss.scale), mean / (loss.scale * loss.delta))
    return float(np.exp(brentq(excess, np.log(least) - 1, np.log(least) + 3)))


def widen(value: float | None, ends: Interval | None, by: float, log: bool) -> Interval | None:
    """Return the interval ``ends`` around ``value``, widened at each end by ``by`` in quadrature.

    If ``log``, distances from ``value`` are differences of logarithms.
    """
    if ends is None or value is None:
        return ends
    if not log or not (value > 0 and ends[0] > 0):
        by = by * abs(value) if log else by
        return value - math.hypot(max(value - ends[0], 0.0), by), value + math.hypot(max(ends[1] - value, 0.0), by)
    low, high = (max(math.log(value / ends[0]), 0.0), max(math.log(ends[1] / value), 0.0))
    return value * math.exp(-math.hypot(low, by)), value * math.exp(math.hypot(high, by))
