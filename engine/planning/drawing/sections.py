"""Curves with bands along one axis.

The curves are laws of one axis, training steps against batch size, and sections of laws of several axes. A law of
several axes has one section per axis. In a section, only this axis varies. All other axes are fixed at the middle of
the range of the runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.samples.sample import placed
from isoplan.engine.fitting.types.optimum_location import OptimumLocation
from isoplan.engine.fitting.types.result import Fit, Interval, Parameter
from isoplan.engine.laws.terms import Const
from isoplan.engine.planning.answer.quantity import Quantity, measure
from isoplan.engine.planning.drawing.curves import POINTS, Band, grid, loss_band, with_points, within
from isoplan.engine.planning.plan.feasibility import bound_symbol, floor_of
from isoplan.engine.schema import Runs

UNKNOWN = (1e6, 1e12)
"""Range of an axis if the range of the runs is not known."""
ROOM = 1.5
"""Factor by which the curve extends beyond each end of the range that contains B_crit and all batch sizes of runs."""
STEPS = 80
"""Number of batch sizes at which the curve is computed."""


@dataclass(frozen=True)
class Best:
    """Optimum of a law on its axis. ``verdict`` states where the position ``x`` lies relative to the sweep."""

    x: Quantity
    loss: float
    verdict: OptimumLocation


@dataclass(frozen=True, eq=False)
class AxisCurve:
    """Curve of a law of one axis: the ``loss`` (s,) at the values ``x`` (s,) of the axis.

    ``floor`` is the floor of the law and ``best`` its optimum; each is None if the law has no such number. ``log`` is
    True for a logarithmic axis. Runs at zero on the axis are fitted at the value ``realised``, which is None if such
    runs are excluded. ``limit`` is the symbol of the floor.
    """

    axis: str
    x: Floats
    loss: Floats
    band: Band
    inside: Bools
    floor: Quantity | None
    best: Best | None = None
    log: bool = True
    realised: float | None = None
    limit: str = ""


def around(fit: Fit) -> Interval:
    """Return the axis range to draw for a law of one axis without runs.

    The range extends three decades on each side of X_c, the scale of the law.
    """
    scale = float(fit.values["X_c"]) if "X_c" in fit.values else 1e18
    return (scale * 1e-3, scale * 1e3)


def one_axis_curve(fit: Fit, x: Floats | None = None, *, n: int = POINTS) -> AxisCurve:
    """Compute the loss of a law of one axis at the values ``x`` of the axis.

    By default, ``x`` covers the range of the runs and extends beyond it. For a size, it extends one decade beyond the
    runs on each side. For a swept setting or a linear axis, it extends less. Raises PlannerError for a law of several
    axes.
    """
    axis = _axis(fit)
    known, log = fit.data.ranges.get(axis), axis in fit.law.positive
    if x is None:
        x = grid(known or around(fit), n, 0.3 if fit.law.optimum else 1.0) if log else _linear(known or (0.0, 1.0), n)
    loss = fit.predict({axis: x})
    limited = fit.law.optimum is None and any(isinstance(term, Const) for term in fit.law.terms)
    return AxisCurve(
        axis,
        x,
        loss,
        loss_band(fit, {axis: x}, loss),
        within(x, known),
        floor_of(fit) if limited else None,
        _best(fit, axis),
        log,
        fit.spec.realised,
        bound_symbol(fit),
    )


def _best(fit: Fit, axis: str) -> Best | None:
    where = fit.optimum_location
    if fit.law.optimum is None or where is None:
        return None
    at = measure(fit, float(fit.law.optimum(fit.values)), fit.law.optimum(fit.draws), axis, (where.low, where.high))
    return Best(at, float(fit.predict({axis: at.value})) if at.value else float("nan"), where)


def _linear(span: Interval, n: int) -> Floats:
    """Return ``n`` points over ``span`` and one sixth of its width on each side.

    All points are positive if ``span`` is positive.
    """
    room = (span[1] - span[0]) / 6
    low = max(span[0] - room, span[0] / 2) if span[0] > 0 else span[0] - room
    return with_points(np.linspace(low, span[1] + room, n), *span)


def _axis(fit: Fit) -> str:
    (axis, *others) = fit.law.axes
    if others:
        raise PlannerError(f"The law {fit.law.name} has the axes {', '.join(fit.law.axes)}: draw its surface instead.")
    return axis


@dataclass(frozen=True, eq=False)
class Updates:
    """Figure of the law S(B) of training steps S against batch size B.

    ``least`` is S_min and ``critical`` is B_crit. ``slope`` (s,) is E_min / B, which S approaches at small B. If the
    law has no plateau, S equals E_min / B, S_min is not positive and B_crit is infinite.
    """

    curve: AxisCurve
    slope: Floats
    least: Parameter
    critical: Parameter

    @property
    def levels_off(self) -> bool:
        """Whether the steps of the best fit level off at large batch sizes: S_min is positive and B_crit is finite."""
        return bool(self.least.value > 0 and np.isfinite(self.critical.value))


def updates(fit: Fit) -> Updates:
    """Compute the figure of a fit of the law critical-batch. Its range contains the runs and B_crit."""
    least = next(p for p in fit.parameters if p.name == "S_min")
    critical = next(p for p in fit.derived if p.name == "B_crit")
    low, high = fit.data.ranges[str(fit.law.axis)]
    if least.value > 0 and np.isfinite(critical.value):
        low, high = min(low, critical.value), max(high, critical.value)
    x = np.unique(np.r_[np.geomspace(low / ROOM, high * ROOM, STEPS), fit.data.ranges[str(fit.law.axis)]])
    return Updates(one_axis_curve(fit, x), np.asarray(float(fit.values["E_min"]) / x), least, critical)


@dataclass(frozen=True, eq=False)
class Slice:
    """Section of a law: y along ``axis``, as arrays (s,), with all other axes fixed at the values ``others``.

    ``x_runs`` and ``y_runs`` (n,) are the runs, moved along the law to the values ``others``. The distance of a run
    from the law is unchanged: it is a ratio for a fit of log residuals, otherwise a difference. The arrays are
    empty if ``runs`` is None.
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
    """Compute the sections of the law of ``fit`` along each of its axes, over the range of the runs and beyond."""
    ranges = {axis: fit.data.ranges.get(axis, UNKNOWN) for axis in fit.law.axes}
    middle = {a: float(np.sqrt(low * high) if low > 0 else (low + high) / 2) for a, (low, high) in ranges.items()}
    return tuple(_along(fit, axis, ranges[axis], middle, runs) for axis in fit.law.axes)


def _along(fit: Fit, axis: str, span: tuple[float, float], middle: Mapping[str, float], runs: Runs | None) -> Slice:
    x = np.unique(np.r_[_window(span, axis in fit.law.positive), span])
    others = {name: value for name, value in middle.items() if name != axis}
    columns = {name: x if name == axis else np.full_like(x, others[name]) for name in fit.law.axes}
    y = fit.predict(columns)
    at = _moved(fit, axis, others, runs)
    return Slice(axis, x, y, loss_band(fit, columns, y), (x >= span[0]) & (x <= span[1]), others, *at, runs)


def _moved(fit: Fit, axis: str, others: Mapping[str, float], runs: Runs | None) -> tuple[Floats, Floats]:
    """Return x and y of the runs, moved along the law to the values ``others`` of the other axes."""
    if runs is None or any(name not in runs for name in (*fit.law.axes, fit.spec.y)):
        return np.empty(0), np.empty(0)
    at = placed(fit.spec, runs)
    x, y = at[axis], runs[fit.spec.y]
    there = fit.predict({name: x if name == axis else np.full_like(x, others[name]) for name in fit.law.axes})
    here = fit.predict(at)
    return x, there * y / here if fit.spec.log_residuals else there + y - here


def _window(span: tuple[float, float], log: bool) -> Floats:
    """Return points over the range ``span`` of the runs and beyond.

    On a log axis, they extend half a decade below and one decade above ``span``. On a linear axis, they extend a fifth
    of the width of ``span`` on each side.
    """
    low, high = span
    if low > 0 and log:
        return np.geomspace(low / 3, high * 10, POINTS)
    room = 0.2 * (high - low or 1.0)
    return np.linspace(low - room, high + room, POINTS)
