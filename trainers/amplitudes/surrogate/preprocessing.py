"""Inputs, targets and weights of a surrogate: invariants, weighted statistics, and standardisation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.processes.check import row_of

Weight = Floats | None


def relative(weight: Floats) -> Weight:
    """Return the weights (points,) divided by their mean, or None if all weights are equal.

    None selects the unweighted formulas. The results with equal weights and without weights are then exactly equal.
    """
    if (weight == weight[0]).all():
        return None
    scaled = weight / weight.max()  # Avoid an overflow in the sum of very large weights.
    return scaled / scaled.mean()


def mean(values: Floats | NDArray[np.bool_], weight: Weight) -> Floats:
    """Return the mean over the first axis of ``values`` (points, ...), weighted with ``weight`` (points,)."""
    return np.asarray(np.average(values, axis=0, weights=weight))


def variance(values: Floats, weight: Weight) -> Floats:
    """Return the variance over the first axis of ``values`` (points, ...), weighted with ``weight`` (points,)."""
    return np.asarray(values.var(axis=0) if weight is None else mean((values - mean(values, weight)) ** 2, weight))


def unit(values: Floats) -> Floats:
    """Return a power of two for each column of ``values`` (points, ...).

    It is the largest power of two that is not above the largest absolute value of the column.

    Values are divided by this power before they are squared. This prevents overflow and underflow without rounding.
    """
    return np.ldexp(1.0, np.frexp(np.abs(values).max(axis=0))[1] - 1)


def deviation(values: Floats, weight: Weight) -> Floats:
    """Return the standard deviation over the first axis of ``values`` (points, ...), without overflow."""
    scale = unit(values)
    return np.asarray(np.sqrt(variance(values / scale, weight)) * scale)


def quantiles(values: Floats, shares: float | Floats, weight: Weight) -> Floats:
    """Return the quantiles of ``values`` (points,) at the fractions ``shares`` (0 to 1).

    Without weights, the quantiles are interpolated linearly. With weights, a quantile is one of the values, and a point
    of weight 2 counts as two points.
    """
    if weight is None:
        return np.asarray(np.quantile(values, shares))
    return np.asarray(np.quantile(values, shares, weights=weight, method="inverted_cdf"))


def effective(weight: Weight, points: int) -> float:
    """Return the effective number of points, (sum w)^2 / sum w^2 (Kish 1965), or ``points`` if ``weight`` is None."""
    return float(points) if weight is None else float(weight.sum() ** 2 / (weight**2).sum())


LOG, RAW = "log", "raw"
ROUNDING = 1e-9
"""A column counts as constant if its spread is at most this fraction of its largest absolute value."""


@dataclass(frozen=True, eq=False)
class Standard:
    """Standardisation (x - mean) / spread of each column. A constant column becomes 0."""

    mean: Floats
    spread: Floats

    @classmethod
    def of(cls, values: Floats, weight: Weight = None) -> Standard:
        """Return the standardisation of ``values`` (points, columns), with mean and spread weighted by ``weight``."""
        scale = unit(values)
        spread = deviation(values, weight)
        changes = spread > ROUNDING * np.abs(values).max(axis=0)
        return cls(mean(values / scale, weight) * scale, np.where(changes, spread, 1.0))

    def __call__(self, values: Floats) -> Floats:
        return (values - self.mean) / self.spread

    def back(self, values: Floats) -> Floats:
        """Return standardised ``values`` in their original scale: values x spread + mean."""
        return values * self.spread + self.mean


def target(amplitude: Floats, kind: str) -> Floats:
    """Return the target (points, 1) of a surrogate before standardisation.

    For the amplitude A (points,), the target is log A if ``kind`` is "log", and A if ``kind`` is "raw". Raises
    PlannerError if an amplitude is invalid as a target (see ``unfit``).
    """
    if why := unfit(amplitude, kind):
        raise PlannerError(why)
    return (np.log(amplitude) if kind == LOG else amplitude)[:, None]


def unfit(amplitude: Floats, kind: str) -> str:
    """Return the reason why amplitudes (points,) are invalid for a ``kind`` of target, or "" if they are valid.

    The reason is a sentence with the first invalid row. The target "log" needs positive amplitudes. The target "raw"
    allows negative amplitudes but not 0, because the relative errors are divided by the amplitudes.
    """
    bad = ~np.isfinite(amplitude) | (amplitude <= 0 if kind == LOG else amplitude == 0)
    if not bad.any():
        return ""
    row = int(np.argmax(bad))
    if not np.isfinite(amplitude[row]):
        what = "is not a number: leave such rows out"
    elif kind == RAW:
        what = "has no relative error: leave such rows out"
    else:
        what = "has no logarithm: leave such rows out" + (", or set target to raw" if amplitude[row] else "")
    return f"{row_of(row, bad.sum())} has the amplitude {amplitude[row]:g}, which {what}."


def check_varies(y: Floats, kind: str, weight: Weight, points: str) -> None:
    """Check that the targets ``y`` (points, 1) vary by more than rounding.

    The standard deviation is compared with the largest |y|. If ``kind`` is "log", 1 is added to the largest |y|,
    because the log of an amplitude depends on the unit of the amplitude and can be close to 0. Raises PlannerError if
    the deviation is too small. In the message, ``points`` describes the purpose of the points, for example "to train
    on".
    """
    largest = np.abs(y).max() + (kind == LOG)
    if deviation(y[:, 0], weight) <= ROUNDING * largest:
        one = np.exp(y[0, 0]) if kind == LOG else y[0, 0]
        raise PlannerError(
            f"The amplitude is {one:g} at all {len(y):,} points {points}, so there is nothing to learn: give "
            "events whose amplitudes differ."
        )


AT_ONCE = 1_000_000
"""Maximum number of products p_i . p_j in one block of the computation."""


def pairs(particles: int, varying: bool) -> tuple[tuple[int, int], ...]:
    """Return the pairs (i, j), i < j, of external particles whose p_i . p_j varies between events.

    Pairs with i = j are excluded, because p_i . p_i is the squared mass. If sqrt(s) is fixed, p_1 . p_2 is constant. If
    sqrt(s) is fixed and there are only two outgoing particles, p_3 . p_4 is constant too. ``particles`` includes the
    incoming particles.
    """
    constant = set() if varying else {(0, 1)} | ({(2, 3)} if particles == 4 else set())
    return tuple(pair for pair in combinations(range(particles), 2) if pair not in constant)


def inputs(particles: int, varying: bool) -> int:
    """Return the number of invariants: n (n - 1) / 2 for n ``particles``, minus the number of constant invariants."""
    return len(pairs(particles, varying))


def freedoms(particles: int, varying: bool) -> int:
    """Return the number of independent kinematic variables of the amplitude (amplitude paper, Sec. 2).

    For n_f outgoing particles, the result is 3 n_f - 4 at variable sqrt(s), and 3 n_f - 5 at fixed sqrt(s).
    ``particles`` is n_f plus the two incoming particles.
    """
    return 3 * (particles - 2) - 4 - (not varying)


def log_invariants(momenta: Floats, chosen: tuple[tuple[int, int], ...]) -> Floats:
    """Return z_ij = log(p_i . p_j), with p_i . p_j in GeV^2, for the ``chosen`` pairs (i, j); shape (events, pairs).

    ``momenta`` (events, particles, 4) are in GeV. Raises PlannerError if a product has no logarithm (see
    ``unfit_momenta``).
    """
    found = _products(momenta, chosen)
    if why := _without_logarithm(found, chosen, 0):
        raise PlannerError(why)
    return np.asarray(np.log(found))


def unfit_momenta(momenta: Floats, chosen: tuple[tuple[int, int], ...]) -> str:
    """Return the reason why an invariant p_i . p_j has no logarithm, or "" if all invariants have logarithms.

    The reason is a sentence with the first row of ``momenta`` in which p_i . p_j of a ``chosen`` pair (i, j) is not
    positive. For example, p_i . p_j is 0 if the particles i and j are massless and collinear. Momenta are processed in
    blocks to limit the memory.
    """
    rows = max(AT_ONCE // len(chosen), 1)
    for first in range(0, len(momenta), rows):
        if why := _without_logarithm(_products(momenta[first : first + rows], chosen), chosen, first):
            return why
    return ""


def _products(momenta: Floats, chosen: tuple[tuple[int, int], ...]) -> Floats:
    """Return p_i . p_j in GeV^2 for the ``chosen`` pairs (i, j); shape (events, pairs)."""
    i, j = (np.array([pair[end] for pair in chosen]) for end in (0, 1))
    lower = momenta * np.array([1.0, -1.0, -1.0, -1.0])
    return np.asarray(np.einsum("epk,epk->ep", momenta[:, i], lower[:, j]))


def _without_logarithm(found: Floats, chosen: tuple[tuple[int, int], ...], first: int) -> str:
    """Return the result of ``unfit_momenta`` for one block of events from the products (events, pairs) ``found``.

    ``first`` is the number of the first event of the block.
    """
    bad = ~(found > 0)
    if not bad.any():
        return ""
    row, pair = np.argwhere(bad)[0]
    a, b = chosen[pair]
    return (
        f"{row_of(first + row)}: p_i . p_j of particles {a} and {b} is {found[row, pair]:.3g} GeV^2 and has no "
        "logarithm: leave out events with collinear or soft particles."
    )
