"""Counting noise of held-out users: what other users of the same kind would move in a swept optimum.

A metric that is a mean over n scored events of values between 0 and 1 has at most the variance m (1 - m) / n, which is
that of a hit rate. Residuals around a curve through few cells may be smaller by chance. Where they are, the resamples
are moved by as much as is missing, along the parameters (least squares, linear around the best fit).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.types.parameters import parameters
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.recommender.metric_names import mean_of_events
from isoplan.engine.schema import Runs

STEP = 1e-6
"""Relative step of the derivatives."""
NOT_COUNTED = "the counting noise of held-out users is not in this interval"
"""What is said of an interval that holds the scatter of the runs alone."""


@dataclass(frozen=True)
class Counting:
    """How much counting adds to a ``metric``: the column with the number of ``scored`` events, empty for none.

    ``most`` is the best value of the metric: 1, or 100 where it is in percent.
    """

    metric: str
    scored: str = ""
    most: float = 1.0


def counting_of(metric: str, values: Floats, scored: str) -> Counting:
    """The counting of a metric by its printed name with ``values`` (n,) of a whole table."""
    top = float(np.nanmax(values, initial=0.0))
    return Counting(metric, scored, 100.0 if 1 < top <= 100 else 1.0)


def with_counting(fit: Fit, runs: Runs, how: Counting | None) -> tuple[Fit, str]:
    """``fit`` of a metric to ``runs``, with resamples as wide as counts of events make them at least, and a remark.

    Unchanged without resamples and for what is no mean of values between 0 and 1 over events, such as a loss or
    coverage. Unchanged with the remark where the number of events is not known or the values are no rates.
    """
    x, y = runs[str(fit.law.axis)], runs[fit.spec.y]
    there = (x > 0) & np.isfinite(y)
    if how is None or not len(fit.resamples) or not mean_of_events(how.metric) or not there.any():
        return fit, ""
    if how.scored not in runs:
        return fit, NOT_COUNTED
    x, y, n = x[there], y[there] / how.most, runs[how.scored][there]
    if np.any((y < 0) | (y > 1)) or np.any(~(n > 0)):
        return fit, NOT_COUNTED
    counting = how.most**2 * float(np.mean(y * (1 - y) / n))
    y = y * how.most
    left = fit.law.predict(fit.theta, {str(fit.law.axis): x}) - fit.sign * y
    freedom = len(y) - len(fit.theta)
    missing = counting - (float(left @ left) / freedom if freedom > 0 else 0.0)
    if missing <= 0:
        return fit, ""
    noise = np.sqrt(missing) * np.random.default_rng(fit.spec.seed).standard_normal((len(fit.resamples), len(y)))
    moved = fit.resamples + noise @ np.linalg.pinv(_slopes(fit, x)).T
    made = parameters(fit.spec, fit.theta, moved, tuple(fit.spec.fixed), fit.resampling, fit.confidence)
    return replace(fit, resamples=moved, parameters=made), ""


def _slopes(fit: Fit, x: Floats) -> Floats:
    """The derivatives (n, p) of the law at ``x`` by its parameters."""
    steps = STEP * np.maximum(np.abs(fit.theta), STEP)
    axis = str(fit.law.axis)
    columns = [
        (fit.law.predict(fit.theta + h * e, {axis: x}) - fit.law.predict(fit.theta - h * e, {axis: x})) / (2 * h)
        for h, e in zip(steps, np.eye(len(fit.theta)), strict=True)
    ]
    return np.stack(columns, axis=1)
