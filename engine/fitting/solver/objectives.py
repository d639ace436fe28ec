"""Objectives of a fit. An objective is the sum over runs of weight * rho(residual).

The residual r is the prediction minus y, or log prediction minus log y. All objectives have the form rho(r) = scale *
side(r) * huber_delta(r), with different constants. side(r) is ``skew`` if the law predicts too much (r > 0), and
otherwise 1.

- ``huber-log``: sum of Huber_delta(log residual), with delta 1e-3 (Hoffmann et al. 2022, arXiv:2203.15556, sec. 3.3).
  It is a sum and not a mean: a mean is so small that optimisers stop early (Besiroglu et al. 2024, arXiv:2404.10102).
- ``ols``: sum of squared residuals, without a factor 1/2.
- ``ols-log``: sum of squared log residuals, without a factor 1/2.
- ``lad``: sum of absolute log residuals. It is the limit of ``huber-log`` divided by delta as delta goes to zero.
- ``asymmetric``: sum of |r| over the runs above the curve of the law, plus the sum of ``skew`` * |r| over the runs
  below the curve, in the unit of y. With ``skew`` = 10, the curve is a lower envelope of the runs. This suits runs that
  are under-tuned rather than noisy. The source, kyo-takano/chinchilla, uses the opposite sign of r, and the mean
  instead of the sum.

``lad`` and ``asymmetric`` are quadratic for residuals below ``SHARP``, so they have derivatives everywhere. This has no
noticeable effect on an optimum.

The minimum of the sum of w rho(r), where w is the weight of a run, has the maximum likelihood for residuals with a
density proportional to exp(-w rho(r) / s). The density is Gaussian for least squares and a Laplace density for absolute
deviations. For Huber's objective, the density is Gaussian in the middle and exponential in the tails. s is the scale of
the noise, in the unit of the objective. If a parameter differs from its optimum by one standard error, the objective is
higher by s/2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf

from isoplan.engine.arrays import Floats

SHARP = 1e-9
"""Size of a residual below which ``lad`` and ``asymmetric`` use a square instead of the absolute value.

It applies to log residuals. For other residuals, it is a fraction of the range of y.
"""


@dataclass(frozen=True)
class Loss:
    """The loss rho(r) = scale * (skew if r > 0 else 1) * huber_delta(r), for each element of an array.

    huber_delta(r) = r^2/2 if |r| <= delta, and otherwise delta (|r| - delta/2). If delta is infinite, huber_delta(r) is
    r^2/2 for every r.
    """

    delta: float
    scale: float = 1.0
    skew: float = 1.0

    @property
    def kinked(self) -> bool:
        """Whether rho is linear beyond a finite delta, so that its derivative has kinks."""
        return bool(np.isfinite(self.delta))

    def value(self, r: Floats) -> Floats:
        """Return rho(r)."""
        size = np.asarray(np.abs(r))
        inner = np.minimum(size, self.delta)
        size = size - 0.5 * inner
        size *= inner
        size *= self._side(r)
        return size

    def slopes(self, r: Floats) -> tuple[Floats, Floats, Floats]:
        """Return rho'(r), rho''(r), and rho'(r)/r, which is the weight in iteratively reweighted least squares."""
        side, size = self._side(r), np.abs(r)
        slope = side * np.clip(r, -self.delta, self.delta)
        with np.errstate(divide="ignore"):
            return slope, side * (size <= self.delta).astype(float), side * np.minimum(self.delta / size, 1.0)

    def _side(self, r: Floats) -> Floats | float:
        return self.scale if self.skew == 1 else np.where(r > 0, self.scale * self.skew, self.scale)

    def softer(self, spread: float) -> tuple[Loss, ...]:
        """Return smoother losses to minimise before this loss, the smoothest first.

        ``spread`` is the typical absolute residual. If delta is far below ``spread``, the objective has a kink at
        almost every run. The returned losses have larger deltas, a factor of ten apart; there are none if delta is at
        least 0.1 * ``spread``. The minimum of each loss is the start for the next loss (smoothing method of Madsen &
        Nielsen 1993, SIAM J. Optim. 3, 223).
        """
        steps = int(np.ceil(np.log10(max(0.1 * spread / self.delta, 1.0))))
        return tuple(replace(self, delta=self.delta * 10.0**k, scale=self.scale / 10.0**k) for k in range(steps, 0, -1))


SQUARE = Loss(np.inf, scale=2.0)
"""The loss rho(r) = r^2."""


@dataclass(frozen=True)
class Objective:
    """A loss and its kind of residual: log prediction - log y if ``log``, and otherwise prediction - y."""

    loss: Loss
    log: bool

    def slopes(self, loss: Loss, r: Floats, f: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
        """Return ``loss.slopes`` times ``weight``, with respect to the prediction ``f`` instead of the residual ``r``.

        ``loss`` is the loss of this objective or one of its softer losses.
        """
        slope, curve, irls = loss.slopes(r)
        if not self.log:
            return slope * weight, curve * weight, irls * weight
        per = weight / f
        return slope * per, (curve - slope) * (per / f), irls * (per / f)


def scale(loss: Loss, mean: float) -> float:
    """Return the maximum-likelihood estimate of the noise scale s from ``mean``, the mean of w rho(r) over the runs."""
    from scipy.optimize import minimize_scalar

    if mean <= 0:
        return 0.0
    # The normalisation Z(s) is proportional to s^(1/2) for squared residuals, and to s for absolute residuals. Other
    # losses are in between. Therefore s is between ``mean`` (absolute residuals) and 2 * ``mean`` (squared residuals).
    found = minimize_scalar(
        lambda t: float(log_norm(loss, mean * np.exp(t)) + np.exp(-t)), bounds=(-0.1, 0.8), options={"xatol": 1e-12}
    )
    return float(mean * np.exp(found.x))


def log_norm(loss: Loss, s: ArrayLike) -> Floats:
    """Return ln Z(s), elementwise; Z is the integral of exp(-rho(r) / s) over all r."""
    at = np.asarray(s, float)
    return np.log(_half(loss.delta, at / loss.scale) + _half(loss.delta, at / (loss.scale * loss.skew)))


def _half(delta: float, s: Floats) -> Floats:
    """Return the integral of exp(-huber_delta(r) / s) over r > 0."""
    core = np.sqrt(np.pi / 2 * s) * erf(delta / np.sqrt(2 * s))
    return np.asarray(core if np.isinf(delta) else core + s / delta * np.exp(-(delta**2) / (2 * s)))
