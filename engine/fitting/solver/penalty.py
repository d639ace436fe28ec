"""Gaussian priors as a quadratic term of an objective."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Floats, Ints

DIRECT, INVERSE, AMPLITUDE, SCALE = range(4)
"""Kinds of functions that compute a parameter of a law from the internal parameters theta.

theta contains an amplitude ``c`` and an exponent ``e``; ``a`` and ``b`` are constants.

- DIRECT: ``a * e``. For a parameter of a term without exponent, ``e`` is an amplitude.
- INVERSE: ``a / e``.
- AMPLITUDE: ``c * exp(b * e)``.
- SCALE: ``exp(log(c) / (a * e) + b)``. This is the scale X_s of a term (X_s / X)^alpha.
"""


Form = tuple[int, int, int, float, float]
"""Function that computes a parameter: its kind (such as ``DIRECT``), the indices of ``c`` and ``e`` in theta, and ``a``
and ``b``.
"""


@dataclass(frozen=True, eq=False)
class Forms:
    """k parameters of a law as functions of the solver's parameters theta (..., q)."""

    kind: Ints  # (k,)
    first: Ints  # (k,) index of c in theta
    second: Ints  # (k,) index of e in theta
    a: Floats  # (k,)
    b: Floats  # (k,)

    @staticmethod
    def of(each: Iterable[Form]) -> Forms:
        """Return the functions of several parameters. ``each`` contains one ``Form`` per parameter."""
        rows = np.array(list(each), float).reshape(-1, 5)
        kind, first, second = rows[:, :3].astype(np.int64).T
        return Forms(kind, first, second, rows[:, 3], rows[:, 4])

    def values(self, theta: Floats) -> Floats:
        """Return the values (..., k) of the parameters."""
        c, e = theta[..., self.first], theta[..., self.second]
        with np.errstate(all="ignore"):
            scale = np.exp(np.minimum(np.log(c) / (self.a * e) + self.b, 700.0))
            return np.asarray(np.choose(self.kind, (self.a * e, self.a / e, c * np.exp(self.b * e), scale)))

    def slopes(self, theta: Floats) -> Floats:
        """Return the derivatives (b, k, q) of the parameters at ``theta`` (b, q). Non-finite values become zero."""
        c, e = theta[..., self.first], theta[..., self.second]
        x, zero = self.values(theta), np.zeros_like(c)
        with np.errstate(all="ignore"):
            by_c = np.choose(self.kind, (zero, zero, np.exp(self.b * e), x / (c * self.a * e)))
            by_e = np.choose(self.kind, (zero + self.a, -self.a / e**2, self.b * x, -x * np.log(c) / (self.a * e**2)))
        out, every = np.zeros((*c.shape, theta.shape[-1])), np.arange(len(self.kind))
        out[:, every, self.first] += np.where(np.isfinite(by_c), by_c, 0.0)
        out[:, every, self.second] += np.where(np.isfinite(by_e), by_e, 0.0)
        return out


@dataclass(frozen=True, eq=False)
class Penalty:
    """The sum over k Gaussian priors of weight * (parameter - mean)^2, in the unit of the objective.

    ``mean`` has the shape (1, k), or (r, k) if each resample has its own means.
    """

    forms: Forms
    mean: Floats  # (1, k) or (r, k)
    weight: Floats  # (k,)

    def of(self, resamples: Ints | slice) -> Penalty:
        """Return the penalty with the means of the given resamples."""
        return self if len(self.mean) == 1 else replace(self, mean=self.mean[resamples])

    def value(self, theta: Floats) -> float:
        """Return the penalty at one point ``theta`` (q,), with the first row of ``mean``."""
        return float(self.weight @ (self.forms.values(theta) - self.mean[0]) ** 2)

    def derivatives(self, theta: Floats, owner: Ints) -> tuple[Floats, Floats, Floats]:
        """Return the value (b,), gradient (b, q) and Gauss-Newton Hessian (b, q, q) of the penalty at ``theta`` (b, q).

        ``owner`` (b,) is the resample of each point. The Hessian is exact for a parameter that is linear in theta.
        """
        gap = self.forms.values(theta) - (self.mean if len(self.mean) == 1 else self.mean[owner])
        slope = self.forms.slopes(theta)
        gauss = 2 * np.einsum("k,bki,bkj->bij", self.weight, slope, slope)
        return gap**2 @ self.weight, 2 * np.einsum("k,bk,bki->bi", self.weight, gap, slope), gauss
