"""Quark-antiquark luminosity of two protons as a function of the partonic energy, in closed form.

x q(x) = A x^-a (1 - x)^b, the shape in which parton densities have been parametrised since R. P. Feynman, R. D. Field
and G. C. Fox (Phys. Rev. D 18 (1978) 3320). The constants are rounded and similar to the densities of u and ubar at
scales of about 100 GeV; they do not run. They determine the distribution of sqrt(s), not the amplitudes. All quarks and
antiquarks of the built-in processes use these two densities.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.polynomial.polynomial import polyval
from scipy.special import beta, hyp2f1

from isoplan.engine.arrays import Floats

COLLIDER = 13_000.0
"""Centre-of-mass energy sqrt(S) of the protons in GeV."""


@dataclass(frozen=True)
class Density:
    """The density x f(x) = ``size`` x^-``low`` (1 - x)^``high``, with an integer ``high``."""

    size: float
    low: float
    high: int

    def __call__(self, x: Floats | float) -> Floats:
        """Return x f(x) at x (...,)."""
        x = np.asarray(x, np.float64)
        return self.size * x**-self.low * (1 - x) ** self.high


QUARK = Density(0.55, 0.2, 3)
ANTIQUARK = Density(0.19, 0.3, 9)


def _powers() -> tuple[Floats, Floats]:
    """Return the coefficients of P and Q in ``luminosity``."""
    j, k = np.arange(QUARK.high + 1)[:, None], np.arange(ANTIQUARK.high + 1)
    one = np.array([(-1) ** i * comb(QUARK.high, i) for i in range(QUARK.high + 1)])
    other = np.array([(-1) ** i * comb(ANTIQUARK.high, i) for i in range(ANTIQUARK.high + 1)])
    inverse = 1 / (j - k + ANTIQUARK.low - QUARK.low)
    return other * (one @ inverse), one * (inverse @ other)


P, Q = _powers()
CLOSE = 0.2
"""Maximum tau at which at least ten digits remain after the cancellation of P and Q."""


def luminosity(tau: Floats) -> Floats:
    """Return dL / dtau of quark and antiquark, each from either proton; it is zero for tau >= 1.

    ``tau`` (points,) is s-hat / S. 2 int_tau^1 dx/x q(x) qbar(tau / x), R. K. Ellis, W. J. Stirling, B. R. Webber, "QCD
    and Collider Physics" (1996), ch. 7. The binomial theorem gives 2 A A' tau^(-1-a') (P(tau) - tau^(a'-a) Q(tau)) with
    two polynomials. Close to 1, where they cancel, the substitution 1 - x = (1 - tau) v gives Euler's integral of the
    hypergeometric function, (1 - tau)^(b+b'+1) B(b+1, b'+1) 2F1(b' + 1 + a - a', b + 1; b + b' + 2; 1 - tau).
    """
    q, anti = QUARK, ANTIQUARK
    shape = polyval(tau, P) - tau ** (anti.low - q.low) * polyval(tau, Q)
    close = tau > CLOSE
    left = np.clip(1 - tau[close], 0, None)
    euler = hyp2f1(anti.high + 1 + q.low - anti.low, q.high + 1, q.high + anti.high + 2, left)
    shape[close] = left ** (q.high + anti.high + 1) * beta(q.high + 1, anti.high + 1) * euler
    return 2 * q.size * anti.size * tau ** (-1 - anti.low) * shape
