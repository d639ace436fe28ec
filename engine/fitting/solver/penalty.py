"""Gaussian priors as a quadratic term of an objective."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Floats, Ints

DIRECT, INVERSE, AMPLITUDE, SCALE = range(4)
"""Functions of an amplitude c and an exponent e of theta, with constants a and b, that give a parameter.

In this order: a e (e may be an amplitude here), a / e, c exp(b e), and exp(log c / (a e) + b), the scale of a ratio.
"""


Form = tuple[int, int, int, float, float]
"""One parameter: its function (see above), the places of c and e in theta, and the constants a and b."""


@dataclass(frozen=True, eq=False)
class Forms:
    """k parameters of a law as functions of the solver's theta (..., q)."""

    kind: Ints  # (k,)
    first: Ints  # (k,) place of c in theta
    second: Ints  # (k,) place of e in theta
    a: Floats  # (k,)
    b: Floats  # (k,)

    @staticmethod
    def of(each: Iterable[Form]) -> Forms:
        """Build from one form for each parameter."""
        rows = np.array(list(each), float).reshape(-1, 5)
        kind, first, second = rows[:, :3].astype(np.int64).T
        return Forms(kind, first, second, rows[:, 3], rows[:, 4])

    def values(self, theta: Floats) -> Floats:
        """Return the parameters (..., k)."""
        c, e = theta[..., self.first], theta[..., self.second]
        with np.errstate(all="ignore"):
            scale = np.exp(np.minimum(np.log(c) / (self.a * e) + self.b, 700.0))
            return np.asarray(np.choose(self.kind, (self.a * e, self.a / e, c * np.exp(self.b * e), scale)))

    def slopes(self, theta: Floats) -> Floats:
        """Return d parameter / d theta (b, k, q) at ``theta`` (b, q); zero if the slope is not finite."""
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
    """The sum over k priors of weight (parameter - mean)^2, in the unit of the objective.

    ``mean`` is (1, k), or (r, k) if resamples have different means.
    """

    forms: Forms
    mean: Floats  # (1, k) or (r, k)
    weight: Floats  # (k,)

    def of(self, resamples: Ints | slice) -> Penalty:
        """Return the penalty of some resamples."""
        return self if len(self.mean) == 1 else replace(self, mean=self.mean[resamples])

    def value(self, theta: Floats) -> float:
        """Return the penalty at one point (q,), with the first means."""
        return float(self.weight @ (self.forms.values(theta) - self.mean[0]) ** 2)

    def derivatives(self, theta: Floats, owner: Ints) -> tuple[Floats, Floats, Floats]:
        """Return the value (b,), gradient (b, q) and Hessian (b, q, q) at ``theta`` (b, q).

        ``owner`` (b) are the resamples. The Hessian is that of Gauss-Newton. It is exact for a parameter that is itself
        a component of theta.
        """
        gap = self.forms.values(theta) - (self.mean if len(self.mean) == 1 else self.mean[owner])
        slope = self.forms.slopes(theta)
        gauss = 2 * np.einsum("k,bki,bkj->bij", self.weight, slope, slope)
        return gap**2 @ self.weight, 2 * np.einsum("k,bk,bki->bi", self.weight, gap, slope), gauss
