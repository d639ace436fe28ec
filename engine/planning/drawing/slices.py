"""Sections of a law along each axis, with bands, at the middle of the runs in the other axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.fitting.samples.sample import placed
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer.quantity import thin
from isoplan.engine.planning.drawing.curves import Band
from isoplan.engine.schema import Runs

POINTS = 60
UNKNOWN = (1e6, 1e12)
"""Range of an axis if that of the runs is not known."""


@dataclass(frozen=True, eq=False)
class Slice:
    """y along ``axis``, all arrays (s,), at the values ``others`` of the other axes.

    ``x_runs`` and ``y_runs`` (n,) are the runs moved to the section along the law: each keeps its distance from the
    law, as a ratio if losses are compared by ratios. They are empty if the ``runs`` are not known.
    """

    axis: str
    x: Floats
    y: Floats
    band: Band
    inside: Bools
    others: Mapping[str, float]
    x_runs: Floats
    y_runs: Floats
    runs: Runs | None = None


def slices(fit: Fit, runs: Runs | None = None) -> tuple[Slice, ...]:
    """Compute the law of ``fit`` along each axis, slightly beyond the runs on either side."""
    ranges = {axis: fit.data.ranges.get(axis, UNKNOWN) for axis in fit.law.axes}
    middle = {a: float(np.sqrt(low * high) if low > 0 else (low + high) / 2) for a, (low, high) in ranges.items()}
    return tuple(_along(fit, axis, ranges[axis], middle, runs) for axis in fit.law.axes)


def _along(fit: Fit, axis: str, span: tuple[float, float], middle: Mapping[str, float], runs: Runs | None) -> Slice:
    x = np.unique(np.r_[_window(span, axis in fit.law.positive), span])
    others = {name: value for name, value in middle.items() if name != axis}
    columns = {name: x if name == axis else np.full_like(x, others[name]) for name in fit.law.axes}
    few, y = thin(fit), fit.predict(columns)
    draws = few.predict_draws(columns)
    ends68, ends95 = (few.resampling.band(y, draws, level) for level in (0.68, 0.95))
    at = _brought(fit, axis, others, runs)
    return Slice(axis, x, y, Band(*ends68, *ends95), (x >= span[0]) & (x <= span[1]), others, *at, runs)


def _brought(fit: Fit, axis: str, others: Mapping[str, float], runs: Runs | None) -> tuple[Floats, Floats]:
    if runs is None or any(name not in runs for name in (*fit.law.axes, fit.spec.y)):
        return np.empty(0), np.empty(0)
    at = placed(fit.spec, runs)
    x, y = at[axis], runs[fit.spec.y]
    there = fit.predict({name: x if name == axis else np.full_like(x, others[name]) for name in fit.law.axes})
    here = fit.predict(at)
    return x, there * y / here if fit.spec.log_residuals else there + y - here


def _window(span: tuple[float, float], log: bool) -> Floats:
    """Return points from half a decade below to one decade above the runs; a fifth of their width on a linear axis."""
    low, high = span
    if low > 0 and log:
        return np.geomspace(low / 3, high * 10, POINTS)
    room = 0.2 * (high - low or 1.0)
    return np.linspace(low - room, high + room, POINTS)
