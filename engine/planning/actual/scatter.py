"""Scatter of single runs around a law, computed from the objective of its fit.

An objective is a sum over runs of rho(residual), so its mean over the runs measures the size of the residuals. The
scatter is the standard deviation of normal residuals whose expected rho is that mean. For least squares it is the root
mean square. For absolute deviations, and for Huber's loss far beyond its threshold, it is 1.25 times the mean absolute
residual, which a few outliers hardly change.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from isoplan.engine.fitting.solver.objectives import Loss
from isoplan.engine.fitting.solver.problem import objective
from isoplan.engine.fitting.types.result import Fit

ESTIMATORS = ("surface", "formula", "parabola")
"""Estimators whose residuals are those of single runs (to the law, or to the parabola of their budget)."""


def freedom(fit: Fit) -> int:
    """Return the degrees of freedom: runs minus free parameters."""
    return fit.n - sum(not p.fixed for p in fit.parameters)


def scatter(fit: Fit) -> float | None:
    """Return the standard deviation of a run of weight one around the law: of log y if ``log_residuals``, else of y.

    It is corrected for the number of fitted parameters. For iso-FLOP curves only the parameters of the law are counted,
    so it is somewhat too small if budgets have few sizes. It is None if it is not known: for a published law, for no
    more runs than parameters, for a law of the best points of curves, for the objective ``asymmetric`` (which follows
    the lower edge of the runs), and for errors that are given for each run.
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


def times(fit: Fit, level: float) -> float:
    """Return the distance from the law within which a run lies with probability ``level``, in scatters (Student's
    t).
    """
    return float(stdtrit(freedom(fit), (1 + level) / 2)) if freedom(fit) > 0 else float(ndtri((1 + level) / 2))


def _normal(loss: Loss, mean: float) -> float:
    """Return the standard deviation of normal residuals whose expected rho is ``mean``."""
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

    # rho is at most scale r^2 / 2 and at most scale delta |r|, so sd is at least each of these bounds.
    least = max(np.sqrt(2 * mean / loss.scale), mean / (loss.scale * loss.delta))
    return float(np.exp(brentq(excess, np.log(least) - 1, np.log(least) + 3)))
