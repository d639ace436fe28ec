"""Map from a hypercube to phase space in transverse momenta, rapidities and azimuths; it flattens the poles of QCD.

There are n_f outgoing particles. The last massive particle takes the recoil: its p_T follows from sum p_T = 0. The
other k = n_f - 1 outgoing particles are free. The momentum fractions of the partons satisfy x_1 x_2 S = s-hat = (sum
m_T e^y)(sum m_T e^-y). Then

    int dx_1 dx_2 f f' dPhi = (2 / S) (2 pi)^(4 - 3 n_f) 2^-n_f  int dL/dtau  prod_free p_T dp_T dphi  prod dy_relative

(R. K. Ellis, W. J. Stirling, B. R. Webber, "QCD and Collider Physics" (1996), ch. 7). Soft and collinear gluons have
the density 1 / p_T^2, which is uniform in ln p_T and the rapidity y. Rapidities are relative to the rapidity of the
recoil. The luminosity dL/dtau contains the integral over the boost of the whole event. A point is therefore invalid
only if its energy exceeds the energy of the collider.

The largest p_T has a power-law distribution. All other p_T are smaller. Gluons are ordered in rapidity, and the azimuth
of each particle is relative to the previous particle. The reason is that gluons with neighbouring rapidities are
neighbours in the leading colour orders. The n! orders of n gluons give n! regions of phase space with equal |M|^2.

The parton densities have the form x q(x) = A x^-a (1 - x)^b, which has been used since R. P. Feynman, R. D. Field and
G. C. Fox (Phys. Rev. D 18 (1978) 3320). The constants A, a and b are rounded. They approximate the densities of u and
ubar at scales of about 100 GeV, and they do not depend on the scale. The densities determine the distribution of
sqrt(s), not the amplitudes. All quarks and antiquarks of the built-in processes use these two densities.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb, pi

import numpy as np
from numpy.polynomial.polynomial import polyval
from numpy.typing import NDArray
from scipy.special import beta, hyp2f1

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.processes import Process
from isoplan.trainers.amplitudes.processes.fields import INCOMING

COLLIDER = 13_000.0
"""Centre-of-mass energy sqrt(S) of the protons in GeV."""


@dataclass(frozen=True)
class Density:
    """A parton density x f(x) = ``size`` x^-``low`` (1 - x)^``high``, with an integer ``high``."""

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
    """Return the coefficients of the polynomials P and Q in the formula of ``luminosity``, the constant term first."""
    j, k = np.arange(QUARK.high + 1)[:, None], np.arange(ANTIQUARK.high + 1)
    one = np.array([(-1) ** i * comb(QUARK.high, i) for i in range(QUARK.high + 1)])
    other = np.array([(-1) ** i * comb(ANTIQUARK.high, i) for i in range(ANTIQUARK.high + 1)])
    inverse = 1 / (j - k + ANTIQUARK.low - QUARK.low)
    return other * (one @ inverse), one * (inverse @ other)


P, Q = _powers()
CLOSE = 0.2
"""Largest tau at which ``luminosity`` computes P(tau) - tau^(a'-a) Q(tau).

Up to this tau, at least ten digits of the difference are correct.
"""


def luminosity(tau: Floats) -> Floats:
    """Return the luminosity dL / dtau (points,) of a quark and an antiquark, which is zero for tau >= 1.

    ``tau`` (points,) is s-hat / S. Either proton can contain the quark, so dL / dtau is 2 int_tau^1 dx/x q(x) qbar(tau
    / x) (R. K. Ellis, W. J. Stirling, B. R. Webber, "QCD and Collider Physics" (1996), ch. 7).

    A, a and b are the constants ``size``, ``low`` and ``high`` of the quark, and A', a' and b' those of the antiquark.
    The binomial theorem gives 2 A A' tau^(-1-a') (P(tau) - tau^(a'-a) Q(tau)) with two polynomials P and Q. If tau is
    close to 1, the two terms cancel. For tau > ``CLOSE``, the substitution 1 - x = (1 - tau) v gives Euler's integral
    of the hypergeometric function, (1 - tau)^(b+b'+1) B(b+1, b'+1) 2F1(b' + 1 + a - a', b + 1; b + b' + 2; 1 - tau).
    """
    q, anti = QUARK, ANTIQUARK
    shape = polyval(tau, P) - tau ** (anti.low - q.low) * polyval(tau, Q)
    close = tau > CLOSE
    left = np.clip(1 - tau[close], 0, None)
    euler = hyp2f1(anti.high + 1 + q.low - anti.low, q.high + 1, q.high + anti.high + 2, left)
    shape[close] = left ** (q.high + anti.high + 1) * beta(q.high + 1, anti.high + 1) * euler
    return 2 * q.size * anti.size * tau ** (-1 - anti.low) * shape


PT = 20.0
"""Minimum transverse momentum of a gluon in GeV."""
DELTA_R = 0.4
"""Minimum distance of two gluons in rapidity and azimuth, (Delta y^2 + Delta phi^2)^(1/2)."""


def least_energy(process: Process) -> float:
    """Return the sqrt(s) in GeV below which no event passes the cuts.

    The result is the energy of gluons with the minimum p_T and all other particles at rest. The exact minimum of a
    process with a single gluon is slightly higher, because another particle takes the recoil of the gluon.
    """
    return sum(process.masses) + PT * len(process.gluons)


def passes(process: Process, outgoing: Floats) -> NDArray[np.bool_]:
    """Return, for each point, whether its gluons pass the cuts ``PT`` and ``DELTA_R``, (points,).

    ``outgoing`` (points, particles, 4) in GeV does not contain the incoming particles. Both cuts are invariant under
    boosts along the beams, so the rest frame of the partons can be used.
    """
    gluons = outgoing[:, [leg - INCOMING for leg in process.gluons]]
    pt = np.hypot(gluons[..., 1], gluons[..., 2])
    y = np.arcsinh(gluons[..., 3] / pt)
    phi = np.arctan2(gluons[..., 2], gluons[..., 1])
    good = pt.min(axis=1, initial=np.inf) > PT
    for i, j in combinations(range(gluons.shape[1]), 2):
        turn = np.abs(phi[:, i] - phi[:, j])
        good &= np.hypot(y[:, i] - y[:, j], np.minimum(turn, 2 * np.pi - turn)) > DELTA_R
    return good


STEPS = 100
"""Maximum number of Newton steps to compute the common factor by which ``_scale`` multiplies transverse momenta.

Newton's method converges quadratically in general, but only linearly if sqrt(s) is close to its minimum.
"""


@dataclass(frozen=True)
class Mapping:
    """A map from a hypercube to events of a process.

    ``sqrt_s`` is the fixed energy in GeV. If ``sqrt_s`` is None, the energy varies with the parton luminosity. Raises
    PlannerError if no event passes the cuts at this energy.
    """

    process: Process
    sqrt_s: float | None = None

    def __post_init__(self) -> None:
        least = least_energy(self.process)
        if self.sqrt_s is not None and not least < self.sqrt_s <= COLLIDER:
            raise PlannerError(
                f"No event of {self.process.name} that passes the cuts has sqrt(s) = {self.sqrt_s:g} GeV: give more "
                f"than {least:g} and at most {COLLIDER:g}."
            )

    @property
    def dimension(self) -> int:
        """Dimension of the hypercube, for n_f outgoing particles.

        The dimension is 3 n_f - 4 at variable sqrt(s) and 3 n_f - 5 at fixed sqrt(s). For n_f > 2, one more coordinate
        selects the particle with the largest p_T.
        """
        n = len(self.process.outgoing)
        return 3 * n - 4 - (self.sqrt_s is not None) + (n > 2)

    def __call__(self, u: Floats) -> tuple[Floats, Floats]:
        """Map points (points, dimension) in (0, 1) to outgoing momenta and weights.

        Returns momenta (points, n_f, 4) in GeV in the rest frame of the event, and weights (points,). The mean of
        weight times |M|^2 is the cross section sigma in GeV^-2, where |M|^2 is in GeV^(4 - 2 n_f). The weight contains
        the factor 1/n! for n identical gluons. Points outside the physical region have the weight zero and undefined
        momenta. The first free particle has the azimuth phi = 0.
        """
        masses = np.array(self.process.masses[INCOMING:])
        order = _recoil_last(masses)
        m, k = masses[order], len(masses) - 1
        hard, turn, rapidity = np.split(u, [u.shape[1] - 2 * k + 1, u.shape[1] - k], axis=1)
        phi = np.cumsum(np.pad(2 * pi * turn - pi, ((0, 0), (1, 0))), axis=1)
        y, weight = _rapidities(rapidity, m[:-1] == 0)
        weight *= (2 * pi) ** (4 - 3 * len(m) + k) / 2 ** len(m)
        if self.sqrt_s is None:
            across, factor = _with_partons(hard, phi, y, m)
        else:
            across, factor = _at_energy(self.sqrt_s, hard, phi, y, m)
        mt = _transverse(across, m)
        plus, minus = _light_cone(mt, y)
        y = y - np.log(plus / minus)[:, None] / 2
        momenta = np.stack([mt * np.cosh(y), across[..., 0], across[..., 1], mt * np.sinh(y)], axis=-1)
        return momenta[:, np.argsort(order)], weight * factor


def _recoil_last(masses: Floats) -> list[int]:
    """Return the indices of the particles, with the last massive particle moved to the end.

    The last massive particle takes the recoil. The other particles are drawn in this order.
    """
    recoil = int(np.flatnonzero(masses)[-1])
    return [i for i in range(len(masses)) if i != recoil] + [recoil]


def _rapidities(u: Floats, gluon: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return rapidities (points, k + 1) relative to the last particle, and the volume element (points,) of each point.

    Massive particles are drawn around the rapidity of the last particle. The first gluon is drawn around the mean
    rapidity of all massive particles. Massive particles and the first gluon have the volume element dy = du / (u (1 -
    u)). Each further gluon has a smaller rapidity than the previous gluon, and the volume element dy = du / u.
    """
    behind = gluon & (np.cumsum(gluon) > 1)
    steps = np.where(behind, np.log(u), np.log(u / (1 - u)))
    y = np.pad(steps, ((0, 0), (0, 1)))
    massive = np.append(~gluon, True)
    steps[:, gluon] = np.cumsum(steps[:, gluon], axis=1)
    y[:, :-1][:, gluon] = steps[:, gluon] + y[:, massive].mean(axis=1, keepdims=True)
    return y, (1 / np.where(behind, u, u * (1 - u))).prod(axis=1)


def _with_partons(u: Floats, phi: Floats, y: Floats, m: Floats) -> tuple[Floats, Floats]:
    """Return transverse momenta (points, k + 1, 2) at variable sqrt(s), and the weight factor (points,) of each point.

    The factor is (2 / S) dL/dtau / (2 s) times the volume element prod p_T dp_T. The largest p_T of the free particles
    has a power-law distribution. The other p_T are smaller.
    """
    floor, rest = (PT, 0.0) if np.any(m == 0) else (m[0], m[0])
    top = np.sqrt(floor**2 / u[:, 0] ** 2 - rest**2)
    pt, jacobian = _below(u[:, 1:], top, m)
    across = _balanced(pt, phi)
    plus, minus = _light_cone(_transverse(across, m), y)
    s = plus * minus
    return across, jacobian * floor**2 / u[:, 0] ** 3 * luminosity(s / COLLIDER**2) / (COLLIDER**2 * s)


def _at_energy(sqrt_s: float, u: Floats, phi: Floats, y: Floats, m: Floats) -> tuple[Floats, Floats]:
    """Return transverse momenta (points, k + 1, 2) at a fixed energy, and the weight factor (points,) of each point.

    The ratios of the p_T are drawn. One common scale then gives the energy ``sqrt_s``. The factor contains 2 delta(s -
    sqrt_s^2) in place of the (2 / S) dL/dtau of ``_with_partons``.
    """
    top = np.full(len(u), sqrt_s / 2)
    pt, jacobian = _below(u, top, m)
    shape = _balanced(pt, phi)
    scale, slope = _scale(shape, y, m, sqrt_s**2)
    return shape * scale[:, None, None], jacobian * top**2 * scale ** (2 * len(m) - 3) / slope / sqrt_s**2


def _below(u: Floats, top: Floats, m: Floats) -> tuple[Floats, Floats]:
    """Return transverse momenta (points, k) with the maximum ``top``, and the volume element prod p_T dp_T (points,).

    If k > 1, the first column of ``u`` selects the particle with the p_T ``top``. All other gluons are distributed
    uniformly in ln p_T above the cut. All other massive particles are distributed uniformly in ln m_T, where m_T is the
    transverse mass.
    """
    k = len(m) - 1
    if k == 1:
        return top[:, None], np.ones(len(top))
    first = np.minimum((u[:, 0] * k).astype(np.int64), k - 1)
    rest = np.tile(m[:-1], (len(u), 1))
    low = np.where(rest > 0, rest, PT) ** 2
    high = rest**2 + top[:, None] ** 2
    others = np.arange(k) != first[:, None]
    steps = np.zeros_like(rest)
    steps[others] = u[:, 1:].ravel()
    mt2 = low * (high / low) ** steps
    pt = np.sqrt(np.maximum(mt2 - rest**2, 0))
    volume = np.where(others, mt2 * np.log(high / low) / 2, 1.0).prod(axis=1)
    return np.where(others, pt, top[:, None]), k * volume


def _scale(shape: Floats, y: Floats, m: Floats, s: float) -> tuple[Floats, Floats]:
    """Return a factor (points,) for the transverse momenta, and the derivative of s-hat by this factor (points,).

    After the multiplication by the factor, s-hat is ``s``. The derivative is infinite if the masses alone give an s-hat
    above ``s``. s-hat is a convex function of the factor, so Newton's method converges to the root from above.
    """
    x2 = (shape**2).sum(axis=2)
    plus, minus = _light_cone(np.sqrt(x2), y)
    scale = np.sqrt(s / (plus * minus))
    for _ in range(STEPS):
        mt = np.sqrt(x2 * scale[:, None] ** 2 + m**2)
        plus, minus = _light_cone(mt, y)
        more_plus, more_minus = _light_cone(x2 * scale[:, None] / mt, y)
        slope = more_plus * minus + plus * more_minus
        step = (plus * minus - s) / slope
        scale = scale - np.minimum(step, scale / 2)
        if np.all(np.abs(step) <= 1e-15 * scale):
            break
    rest_plus, rest_minus = _light_cone(np.broadcast_to(m, y.shape), y)
    return scale, np.where(rest_plus * rest_minus < s, slope, np.inf)


def _balanced(pt: Floats, phi: Floats) -> Floats:
    """Return the transverse momentum vectors (points, k + 1, 2); the last vector balances the sum of the others.

    ``pt`` and ``phi`` (points, k) are the sizes and azimuths of the other vectors.
    """
    free = pt[..., None] * np.stack([np.cos(phi), np.sin(phi)], axis=-1)
    return np.concatenate([free, -free.sum(axis=1, keepdims=True)], axis=1)


def _transverse(across: Floats, m: Floats) -> Floats:
    return np.sqrt((across**2).sum(axis=2) + m**2)


def _light_cone(mt: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return two sums over all particles, (points,) each: the sum of E + p_z and the sum of E - p_z."""
    grow = np.exp(y)
    return (mt * grow).sum(axis=1), (mt / grow).sum(axis=1)
