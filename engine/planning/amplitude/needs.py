"""Range of D, N or C that a target needs, from an optimistic end to a conservative end.

The optimistic exponent of the loss, which is fitted or published, gives the smaller end of the range. The conservative
exponent gives the larger end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.laws.catalogue.dimension import least_exponent, phase_space_dimension
from isoplan.engine.planning.amplitude.evidence import ONSET, UNITS, Anchor, Axis, PublishedLaw, along, fit_line
from isoplan.engine.planning.amplitude.precision import number

POINTS = 41
ROUNDING = 1e-9
"""Largest relative difference of two losses that is attributed to rounding. Such losses count as equal."""


TWO_PARTICLES = 1.5
"""Conservative exponent for n_f = 2, because the bound 4/d fails for two particles. The number 1.5 is below all
published exponents of the processes WZ and Zg, of which 1.565 is the smallest.
"""


@dataclass(frozen=True, eq=False)
class Need:
    """Range of ``axis`` that a target needs, in the unit of this axis.

    ``most`` is the end that the conservative exponent ``slow`` gives. ``least`` is the end that the optimistic exponent
    ``fast`` gives; it is None if ``fast`` is None. If ``reached``, the run at ``start`` already reaches the target.
    ``least`` is then also None, because a smaller run may reach the target too.

    ``start`` is the point (value of the axis, loss) from which the range is extrapolated. ``floor`` is the loss at an
    infinite value of the axis. ``slow_loss`` and ``fast_loss`` (k,) are the losses at ``x`` (k,) for a figure;
    ``fast_loss`` is empty without ``fast``. ``law`` describes the runs of a fitted law ("12 cells of Zgg"). It is empty
    for a single anchor and for a published law.
    """

    axis: Axis
    most: float
    least: float | None
    slow: Exponent
    fast: Exponent | None
    start: tuple[float, float]
    floor: float
    x: Floats
    slow_loss: Floats
    fast_loss: Floats
    law: str = ""
    reached: bool = False

    @property
    def unit(self) -> str:
        return UNITS[self.axis]

    @property
    def decades(self) -> float:
        """Width of the range in decades; 0 if only one end is known."""
        return math.log10(self.most / self.least) if self.least else 0.0

    @property
    def origin(self) -> str:
        """Text that states from which anchor, or from which fitted law, the ends are computed."""
        if self.reached:
            return f"{self.axis} = {number(self.start[0], self.unit)} reaches the target"
        if self.law:
            return f"68 % interval of the law fitted to {self.law}"
        return f"extrapolated from the anchor at {self.axis} = {number(self.start[0], self.unit)}"

    @property
    def inside(self) -> bool:
        """Whether the target lies within the measured range, without extrapolation."""
        return math.isclose(self.most, self.start[0], rel_tol=1e-9)

    @property
    def farthest(self) -> float:
        """The conservative end, or the optimistic end if the conservative end is infinite.

        The result is infinite if both ends are infinite.
        """
        if math.isfinite(self.most):
            return self.most
        return self.least if self.least is not None else math.inf

    @property
    def beyond(self) -> float:
        """Distance in decades from the start to the farthest finite end; infinite if no end is finite."""
        return max(math.log10(self.farthest / self.start[0]), 0.0)


def from_anchors(
    anchors: Sequence[Anchor], axis: Axis, mse: float, slow: Exponent, others: Sequence[PublishedLaw], floor: float
) -> Need | None:
    """Return the range of ``axis`` that the target ``mse`` needs; None if ``axis`` limits none of the anchors.

    The range is extrapolated from the largest x, with the geometric mean of the losses at this x. If the anchors have
    two or more values of x, the optimistic exponent is fitted to them. Otherwise it is the median exponent of the
    published laws in ``others`` along ``axis``.
    """
    own = along(anchors, axis)
    if not own:
        return None
    for anchor in own:
        if anchor.loss <= floor:
            raise PlannerError(
                f"The anchor's loss {anchor.loss:g} is not above the floor {floor:g}: give a lower floor."
            )
    fast = _fitted(own, floor) or _median([p for p in others if p.axis == axis])
    if fast is not None and fast.value < slow.value:
        slow, fast = Exponent(fast.value, f"{fast.source}, smaller than {slow.source}"), slow
    last = [math.log(a.loss) for a in own if a.x == own[-1].x]
    return _need(axis, mse, slow, fast, (own[-1].x, math.exp(math.fsum(last) / len(last))), floor)


def from_law(law: PublishedLaw, mse: float, slow: Exponent) -> Need:
    """Return the range that the target ``mse`` needs along the axis of a published ``law``.

    If the law reaches the target between the first point of the power law and the last measured point, both ends of the
    range are equal. If the last measured point does not reach the target, the range is extrapolated from this point:
    one end with the conservative exponent, the other with the exponent of the law. If the first point of the power law
    already reaches the target, this point is the upper end and the lower end is None. Raises PlannerError for a target
    at or below the floor of the law.
    """
    own = Exponent(law.alpha, f"published for {law.process}, {law.held} ({law.fit.data.source.split(', ')[-1]})")
    if mse <= law.floor:
        raise PlannerError(
            f"A target MSE of {mse:g} is below the floor {law.floor:.3g} that {law.process} reaches at {law.held}: ask "
            "for a higher target, or choose a law with a larger fixed size."
        )
    first, end = max(law.measured[0], ONSET.get(law.axis, 0.0)), law.measured[1]
    slow, fast = (slow, own) if own.value >= slow.value else (own, own)
    inside = float(np.asarray(law.fit.values["X_c"])) * (mse - law.floor) ** (-1 / own.value)
    start = min(end, max(first, inside))
    return _need(law.axis, mse, slow, fast, (start, float(law.fit.predict({law.axis: start}))), law.floor)


def _need(
    axis: Axis, mse: float, slow: Exponent, fast: Exponent | None, start: tuple[float, float], floor: float
) -> Need:
    """Return the range that the target ``mse`` needs, extrapolated from ``start`` (value of the axis, loss).

    If the loss in ``start`` is at most ``mse``, the upper end is the value of the axis in ``start``.
    """
    ratio, reached = (start[1] - floor) / (mse - floor), start[1] < mse * (1 - ROUNDING)
    ratio = ratio if ratio > 1 + ROUNDING else 1.0
    with np.errstate(over="ignore"):
        most, least = (float(start[0] * np.exp(np.log(ratio) / e.value)) for e in (slow, fast or slow))
    x = np.geomspace(start[0], max(most, 10 * start[0]), POINTS) if math.isfinite(most) else np.empty(0)
    lines = [floor + (start[1] - floor) * (start[0] / x) ** e.value for e in (slow, fast or slow)]
    return Need(axis, most, least if fast and not reached else None, slow, fast, start, floor, x, lines[0],
                lines[1] if fast else np.empty(0), reached=reached)  # fmt: skip


def _fitted(own: Sequence[Anchor], floor: float) -> Exponent | None:
    if len({a.x for a in own}) < 2:
        return None
    line = fit_line(own, floor)
    error = f"+- {line.alpha_error:.2g} if each loss has an error of {100 * line.error:.0f} %"
    return Exponent(line.alpha, f"fitted to {len(own)} anchors ({error})")


def _median(published: Sequence[PublishedLaw]) -> Exponent | None:
    """Return the median of the exponents of published laws; None if ``published`` is empty."""
    if not published:
        return None
    values = [law.alpha for law in published]
    names = ", ".join(f"{law.process} {law.alpha:.3g}" for law in published)
    source = f"the median of the published exponents for the same number of particles ({names})"
    return Exponent(float(np.median(values)), source)


@dataclass(frozen=True)
class Exponent:
    """Exponent ``value`` of the loss against D, N or C. ``source`` describes its origin."""

    value: float
    source: str

    @property
    def halved(self) -> float:
        """Exponent of the typical relative error: half of the exponent of the loss."""
        return self.value / 2


def conservative(n_f: int, *, fixed_energy: bool = False) -> Exponent:
    """Return the conservative exponent for ``n_f`` final-state particles: 1.5 for n_f = 2, otherwise 4/d.

    The dimension d of the phase space is ``3 * n_f - 4``, or ``3 * n_f - 5`` at a fixed collision energy. Raises
    PlannerError for fewer than two particles.
    """
    d = phase_space_dimension(n_f, fixed_energy=fixed_energy)
    bound = least_exponent(d)
    if n_f == 2:
        return Exponent(
            TWO_PARTICLES,
            f"{TWO_PARTICLES:g}, below every published exponent for two particles. The bound 4/d = {bound:g} does not "
            "hold for two particles, because many points lie close to the forward and backward singularities. A "
            "network does not learn the local slope at these points. If only a few points are close to a singularity, "
            "the exponent can be even smaller. A second anchor measures the exponent",
        )
    return Exponent(bound, f"the bound 4/d with d = {d}")
