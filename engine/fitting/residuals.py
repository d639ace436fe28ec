"""Residuals of a fit and how well it describes its runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import PlannerError
from engine.fitting.checks import placed
from engine.fitting.result import Fit
from engine.laws.law import Floats
from engine.schema import Runs

FAR = 5.0
"""Robust standard deviations beyond which a run is shown as an outlier (it is never dropped)."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """Arrays of length n in the order of the runs.

    ``residual`` is log(y / predicted) for objectives of logs (``log``), else y - predicted in the unit of y; a positive
    one lies above the law. ``z`` is the residual over 1.4826 times the median absolute one. ``rms`` has the unit of
    ``residual``; ``r2`` is the share of the variance of y (of log y) that the law explains.
    """

    predicted: Floats
    residual: Floats
    z: Floats
    outlier: NDArray[np.bool_]
    log: bool
    rms: float
    r2: float


def residuals(fit: Fit, runs: Runs) -> Residuals:
    """Residuals of ``runs`` under ``fit``; raises PlannerError where the runs lack a column that the law reads.

    A law of iso-FLOP minima says nothing of single runs: its residuals are those at the fitted minima and stand in
    ``parabolas``.
    """
    if not fit.law.every_run:
        raise PlannerError(f"Law {fit.law.name} describes minima, not single runs: look at its parabolas.")
    missing = [name for name in (*fit.law.axes, fit.spec.y) if name not in runs]
    if missing:
        raise PlannerError(f"These runs have no {' and '.join(missing)}: map the columns that the fit used.")
    return compare(fit.predict(placed(fit.spec, runs)), runs[fit.spec.y], fit.spec.logs)


def compare(predicted: Floats, y: Floats, log: bool) -> Residuals:
    """Residuals of ``y`` (n,) against ``predicted`` (n,), NaN for runs that have no place on the law's axis."""
    there = ~np.isnan(predicted)
    with np.errstate(divide="ignore", invalid="ignore"):
        residual = np.log(y / predicted) if log else y - predicted
        target = np.log(y) if log else y
    left, seen = residual[there], target[there]
    scale = 1.4826 * float(np.median(np.abs(left))) if left.size else 0.0
    noise = 1e-12 * float(np.max(np.abs(seen), initial=0.0))
    z = residual / scale if scale > noise else np.zeros_like(residual)
    spread = float(np.sum((seen - np.mean(seen)) ** 2)) if seen.size else 0.0
    squares = float(np.sum(left**2))
    return Residuals(
        predicted,
        residual,
        z,
        np.abs(z) > FAR,
        log,
        rms=float(np.sqrt(squares / left.size)) if left.size else float("nan"),
        r2=1 - squares / spread if spread > 0 else float("nan"),
    )
