"""Counting noise of held-out users: what other users of the same kind would move in a swept optimum.

A metric that is a mean over n scored events of values between 0 and 1 has at most the variance m (1 - m) / n, which is
that of a hit rate. Residuals around a curve through few cells may be smaller by chance. Where they are, the resamples
are moved by as much as is missing, along the parameters (least squares, linear around the best fit).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.fitting.parameters import parameters
from engine.fitting.result import Fit
from engine.laws.law import Floats
from engine.planning.recommender.metric_names import mean_of_events
from engine.schema import Runs

STEP = 1e-6
"""Relative step of the derivatives."""


def with_counting(fit: Fit, runs: Runs, scored: Floats | None) -> Fit:
    """``fit`` of a metric to ``runs``, with resamples as wide as counts of ``scored`` (n,) events make them at least.

    Unchanged without ``scored``, without resamples, and for what is no mean of values between 0 and 1 over events, such
    as a loss or coverage.
    """
    x, y = runs[str(fit.law.axis)], runs[fit.spec.y]
    there = (x > 0) & np.isfinite(y)
    if scored is None or not len(fit.resamples) or not mean_of_events(fit.spec.y) or not there.any():
        return fit
    x, y, n = x[there], y[there], scored[there]
    if np.any((y < 0) | (y > 1)) or np.any(~(n > 0)):
        return fit
    counting = float(np.mean(y * (1 - y) / n))
    left = fit.law.predict(fit.theta, {str(fit.law.axis): x}) - fit.sign * y
    freedom = len(y) - len(fit.theta)
    missing = counting - (float(left @ left) / freedom if freedom > 0 else 0.0)
    if missing <= 0:
        return fit
    noise = np.sqrt(missing) * np.random.default_rng(fit.spec.seed).standard_normal((len(fit.resamples), len(y)))
    moved = fit.resamples + noise @ np.linalg.pinv(_slopes(fit, x)).T
    made = parameters(fit.spec, fit.theta, moved, tuple(fit.spec.fixed), fit.resampling, fit.confidence)
    return replace(fit, resamples=moved, parameters=made)


def _slopes(fit: Fit, x: Floats) -> Floats:
    """The derivatives (n, p) of the law at ``x`` by its parameters."""
    steps = STEP * np.maximum(np.abs(fit.theta), STEP)
    axis = str(fit.law.axis)
    columns = [
        (fit.law.predict(fit.theta + h * e, {axis: x}) - fit.law.predict(fit.theta - h * e, {axis: x})) / (2 * h)
        for h, e in zip(steps, np.eye(len(fit.theta)), strict=True)
    ]
    return np.stack(columns, axis=1)
