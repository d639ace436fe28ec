"""The optimisation problem of a law: y ~ sum_j c_j exp(-e_j z_j) + sum_j c_j s_j, with bounds on c and e.

c_j is the amplitude and e_j the exponent of term j. z_j is the coordinate of a term with an exponent (ln X, -ln X or
-X), after subtraction of its mean and division by its spread. s_j is the function of X in a term without an exponent.
Subtraction of the mean removes most of the correlation of amplitude and exponent. Without this subtraction, the Hessian
of the five-parameter law has a condition number near 1e11.

If the user fixes the amplitude of a term, the mean is not subtracted. The origin of z_j is then chosen such that c_j is
a known constant, and the lower and upper bounds of c_j are equal to this constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting.solver.objectives import SHARP, SQUARE, Loss, Objective
from isoplan.engine.fitting.solver.penalty import AMPLITUDE, DIRECT, INVERSE, SCALE, Form, Forms, Penalty
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.laws import Law
from isoplan.engine.laws.terms import Const, Curve, Ratio, Smooth

Bounds = tuple[float, float]

LOG_LIMIT = 0.01
"""Smallest exponent ``e`` of a term ``A * X^-e`` in a law with a floor that may be negative.

For smaller ``e``, the sum of the term and the floor ``-A`` is nearly ``-A * e * ln X``. The runs then determine only
the product ``A * e``.
"""

RATE_LIMIT = 30.0
"""Largest rate of an exponential term, in units of 1 / (half the range of its axis).

At this rate, the term changes by a factor of e^60 over the range.
"""
FLOAT = 340.0
"""Largest absolute value of (rate of a term) * (mean coordinate of the runs).

The amplitude at coordinate zero and its square are then finite floating-point numbers.
"""

BLOCK = 32_768
"""Maximum number of elements (starts x runs) in a block. A block of this size fits the processor's cache."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A problem with k terms, of which m have an exponent, and n runs.

    The internal parameters theta are the amplitudes and exponents (c_1 .. c_k, e_1 .. e_m).
    """

    law: Law
    powers: tuple[int, ...]  # indices of the terms with an exponent, in order
    centre: Floats  # (m,)
    spread: Floats  # (m,)
    z: Floats  # (m, n)
    shapes: Floats  # (k - m, n): functions s_j of the terms without exponent, in order
    y: Floats  # (1, n), or (r, n) if each resample has its own y
    weight: Floats  # (n,)
    low: Floats  # (k + m,)
    high: Floats  # (k + m,)
    objective: Objective
    penalty: Penalty | None = None

    @property
    def k(self) -> int:
        return len(self.low) - len(self.powers)

    @property
    def plain(self) -> tuple[int, ...]:
        """The indices of the terms without an exponent, in order."""
        return tuple(j for j in range(self.k) if j not in self.powers)

    @property
    def n(self) -> int:
        return self.y.shape[1]

    @property
    def n_free(self) -> int:
        """Number of parameters that are not fixed."""
        return int(np.sum(self.low < self.high))

    def of(self, resamples: Ints | slice) -> Problem:
        """Return the problem with the y and the prior means of the given resamples.

        If all resamples have the same y or the same prior means, these are unchanged.
        """
        y = self.y if len(self.y) == 1 else self.y[resamples]
        return replace(self, y=y, penalty=self.penalty and self.penalty.of(resamples))

    def rows(self, index: Ints) -> Problem:
        """Return the problem with the runs ``index`` only."""
        z, shapes, y = self.z[:, index], self.shapes[:, index], self.y[:, index]
        return replace(self, z=z, shapes=shapes, y=y, weight=self.weight[index])

    def holding(self, term: int, value: float) -> Problem:
        """Return the problem with the amplitude of the term number ``term`` fixed at ``value``."""
        low, high = self.low.copy(), self.high.copy()
        low[term] = high[term] = value
        return replace(self, low=low, high=high)

    def target(self, owner: Ints | slice, rows: slice) -> Floats:
        """Return y of the resamples ``owner`` at the runs ``rows``: shape (1 or len(owner), rows)."""
        return self.y[:, rows] if len(self.y) == 1 else self.y[owner, rows]

    def residual(self, predicted: Floats, y: Floats) -> Floats:
        """Return the residuals: predicted - y, or log(predicted / y) if the objective uses logarithms.

        On a log scale, the residual of a prediction of zero or less is infinite or NaN.
        """
        return np.log(predicted / y) if self.objective.log else predicted - y

    def external(self, theta: Floats) -> Floats:
        """Return the parameters of the law (..., p) from the internal parameters theta (..., k + m)."""
        out: dict[str, Floats] = {}
        for j, term in enumerate(self.law.terms):
            c = theta[..., j]
            if j not in self.powers:
                out |= term.from_linear(c, np.zeros_like(c))
                continue
            i = self.powers.index(j)
            e = theta[..., self.k + i] / self.spread[i]
            with np.errstate(over="ignore"):
                out |= term.from_linear(c * np.exp(e * self.centre[i]), e)
        return np.stack([out[name] for name in self.law.names if name in out], axis=-1)

    def forms(self, names: Iterable[str]) -> Forms:
        """Return the parameters ``names`` of the law as functions of theta, as in ``external``."""
        return Forms.of(self._form(name) for name in names)

    def _form(self, name: str) -> Form:
        j, term = next((j, term) for j, term in enumerate(self.law.terms) if name in term.params())
        if term.exponent is None:
            return DIRECT, j, j, 1.0, 0.0
        i = self.powers.index(j)
        e, unit, middle = self.k + i, float(1 / self.spread[i]), float(self.centre[i])
        if name == term.amplitude:
            return (SCALE, j, e, unit, middle) if isinstance(term, Ratio) else (AMPLITUDE, j, e, 0.0, middle * unit)
        kind, a = (INVERSE, float(term.rate(1.0)) / unit) if isinstance(term, Smooth) else (DIRECT, unit)
        return kind, e, e, a, 0.0


def problem(law: Law, spec: FitSpec, columns: dict[str, Floats], y: Floats, weight: Floats) -> Problem:
    """Return the problem of fitting the terms of ``law`` to ``y``, which is (n,) or (r, n).

    ``columns`` contains an array (n,) for each axis. The floor may be negative if a y is zero or negative and the
    objective uses no logarithms.
    """
    signed = not spec.log_residuals and bool(np.any(y <= 0))
    n = y.shape[-1]
    bounds, ends, powers, centre, spread, z, shapes = [], [], [], [], [], [], []
    for j, term in enumerate(law.terms):
        x = columns[term.axis] if term.axis else np.ones(n)
        if term.exponent is None:
            given = spec.fixed.get(term.amplitude)
            low = -np.inf if signed and isinstance(term, Const) else law.param(term.amplitude).low
            bounds.append((low, np.inf) if given is None else (given, given))
            shapes.append(term.shape(x))
            continue
        along, unit = term.coordinate(x), term.spread(x)
        middle, amplitude = _amplitude(law, term, spec.fixed, float(np.mean(along)))
        bounds.append(amplitude)
        most = rate_limit(unit, float(np.mean(along)))
        ends.append(_exponent(law, term, spec.fixed, unit, most, y, signed))
        powers.append(j)
        centre.append(middle)
        spread.append(unit)
        z.append((along - middle) / unit)
    low, high = np.array(bounds + ends, float).T
    return Problem(
        law=law,
        powers=tuple(powers),
        centre=np.array(centre),
        spread=np.array(spread),
        z=np.array(z).reshape(len(powers), n),
        shapes=np.array(shapes).reshape(len(shapes), n),
        y=np.atleast_2d(y),
        weight=weight,
        low=low.copy(),
        high=high.copy(),
        objective=objective(spec, y),
    )


def objective(spec: FitSpec, y: Floats) -> Objective:
    """Return the objective that ``spec`` names, for targets ``y`` of any shape."""
    if spec.objective == "huber-log":
        return Objective(Loss(spec.delta), log=True)
    if spec.objective in ("lad", "asymmetric"):
        delta = SHARP if spec.log_residuals else SHARP * float(np.ptp(y)) or SHARP
        return Objective(
            Loss(delta, scale=1 / delta, skew=1.0 if spec.log_residuals else spec.skew), log=spec.log_residuals
        )
    return Objective(SQUARE, log=spec.log_residuals)


def _amplitude(law: Law, term: Curve, fixed: Mapping[str, float], middle: float) -> tuple[float, Bounds]:
    """Return the coordinate that is the origin of z for a term, and the bounds of the amplitude at this origin."""
    given = fixed.get(term.amplitude)
    if given is None:
        return middle, (law.param(term.amplitude).low, np.inf)
    return (float(np.log(given)), (1.0, 1.0)) if isinstance(term, Ratio) else (0.0, (given, given))


def rate_limit(spread: float, middle: float) -> float:
    """Return the largest rate, in units of the spread, for runs with mean coordinate ``middle``."""
    return min(RATE_LIMIT, FLOAT * spread / abs(middle)) if middle else RATE_LIMIT


def _exponent(
    law: Law, term: Curve, fixed: Mapping[str, float], spread: float, most: float, y: Floats, signed: bool
) -> Bounds:
    """Return the bounds of an exponent, in units of the spread. The absolute value of a bound is at most ``most``.

    For a term (X_s / X)^e, the lower bound of e keeps the scale X_s within the range of floating-point numbers. The
    bound assumes that the term is about as large as y.
    """
    own, given = law.param(term.exponent), fixed.get(term.exponent)
    low, high = sorted(float(term.rate(end)) for end in ((own.low, own.high) if given is None else (given, given)))
    if given is not None:
        return low * spread, high * spread
    low = max(low, LOG_LIMIT) if signed and low >= 0 else low
    if isinstance(term, Ratio):
        low = max(low, float(np.max(np.abs(np.log(np.abs(y[y != 0]))), initial=0.0)) / 600)
    return max(low * spread, -most), min(high * spread, most)


def blocks(total: int, size: int, first: int = 0) -> Iterator[slice]:
    """Yield slices that cover ``first`` to ``total``, each with at most ``size`` elements."""
    for start in range(first, total, max(size, 1)):
        yield slice(start, min(start + max(size, 1), total))
