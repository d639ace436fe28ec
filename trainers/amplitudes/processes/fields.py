"""Fields, vertices, masses and couplings as data. Tests can thus remove a vertex.

Conventions: L_int gives the Feynman rule i V with real V. The covariant derivative is D = d - i g T^a A^a (Peskin and
Schroeder, sec. 16.1). Every leg of a vertex is a field that enters the vertex. ``W+`` adds the charge +1: an incoming
W+ or an outgoing W-. ``u`` is a quark line along its arrow: an incoming u or an outgoing ubar. ``u~`` is a quark line
against its arrow: an incoming ubar or an outgoing u.

Measured values: S. Navas et al. (Particle Data Group), Phys. Rev. D 110, 030001 (2024), table 1.1 (physical constants)
and the summary tables of gauge and Higgs bosons and quarks. The input scheme is G_F, M_W, M_Z. The weak angle is then
cos(theta_w) = M_W / M_Z. With any other value, the diagrams would not cancel at high energy.

All widths are zero. This is possible because no unstable intermediate particle can reach its pole: the W, Z, H and top
in the final states are on their mass shells (s_WZ >= (M_W + M_Z)^2 > M_W^2, s_WW >= 4 M_W^2 > M_H^2, s_tH >= (m_t +
M_H)^2 > m_t^2). All quarks except the top are massless and do not mix (CKM = 1). alpha_s does not run.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt
from typing import Literal

W_MASS = 80.369
"""Mass of the W in GeV."""
Z_MASS = 91.188
"""Mass of the Z in GeV."""
HIGGS_MASS = 125.20
"""Mass of the Higgs boson in GeV."""
TOP_MASS = 172.57
"""Mass of the top quark in GeV, from direct measurements."""
FERMI = 1.1663788e-5
"""Fermi constant G_F in GeV^-2, from the lifetime of the muon."""
ALPHA_S = 0.118
"""Strong coupling alpha_s at the scale M_Z. It is used at every scale."""

COLOURS = 3
VACUUM = 1 / sqrt(sqrt(2) * FERMI)
"""Vacuum expectation value v of the Higgs field, 246.22 GeV."""
COS_W = W_MASS / Z_MASS
SIN_W = sqrt(1 - COS_W**2)
G_STRONG = sqrt(4 * pi * ALPHA_S)
G_WEAK = 2 * W_MASS / VACUUM
E_CHARGE = G_WEAK * SIN_W
YUKAWA_TOP = TOP_MASS / VACUUM
"""Yukawa coupling y = m_t / v of the top quark in L = - y H tbar t."""


INCOMING = 2
"""Number of incoming particles. They come before the outgoing particles in every array."""
Spin = Literal["fermion", "antifermion", "vector", "scalar"]


@dataclass(frozen=True)
class Field:
    """A kind of line in a diagram, with its mass in GeV.

    ``anti`` is the name of the field for the line in the opposite direction.
    """

    name: str
    anti: str
    spin: Spin
    mass: float = 0.0


@dataclass(frozen=True)
class Vertex:
    """Legs (all incoming) and couplings of a vertex; the spins of the legs determine the Lorentz structure.

    - (psibar, V, psi): gamma^mu (g_L P_L + g_R P_R), couplings (g_L, g_R)
    - (psibar, S, psi): 1, couplings (y,)
    - (V1, V2, V3): g^{12} (k1 - k2)^3 + cyclic, couplings (g,)
    - (V1, V2, V3, V4): 2 g^{13} g^{24} - g^{12} g^{34} - g^{14} g^{23}, couplings (g,)
    - (S, V, V): g^{mu nu}, couplings (g,) in GeV

    Gluons are in the order of their colour matrices (colour-ordered Feynman rules, with tr(T^a T^b) = delta^ab / 2).
    """

    legs: tuple[str, ...]
    couplings: tuple[float, ...]


def _quark(name: str, mass: float = 0.0) -> tuple[Field, Field]:
    return Field(name, f"{name}~", "fermion", mass), Field(f"{name}~", name, "antifermion", mass)


FIELDS: dict[str, Field] = {
    field.name: field
    for field in (
        *_quark("u"),
        *_quark("d"),
        *_quark("t", TOP_MASS),
        Field("g", "g", "vector"),
        Field("A", "A", "vector"),
        Field("Z", "Z", "vector", Z_MASS),
        Field("W+", "W-", "vector", W_MASS),
        Field("W-", "W+", "vector", W_MASS),
        Field("H", "H", "scalar", HIGGS_MASS),
    )
}
CHARGE = {"u": 2 / 3, "d": -1 / 3}
ISOSPIN = {"u": 1 / 2, "d": -1 / 2}


def z_couplings(quark: str) -> tuple[float, float]:
    """Return the couplings (g_L, g_R) of the Z to a quark.

    g_L = g / cos(theta_w) (T3 - Q sin^2(theta_w)), and g_R is this expression with T3 = 0.
    """
    right = -CHARGE[quark] * SIN_W**2
    return G_WEAK / COS_W * (ISOSPIN[quark] + right), G_WEAK / COS_W * right


def _strong(quark: str) -> Vertex:
    return Vertex((f"{quark}~", "g", quark), (G_STRONG, G_STRONG))


def _photon(quark: str) -> Vertex:
    charge = E_CHARGE * CHARGE[quark]
    return Vertex((f"{quark}~", "A", quark), (charge, charge))


def _neutral(quark: str) -> Vertex:
    return Vertex((f"{quark}~", "Z", quark), z_couplings(quark))


QCD: tuple[Vertex, ...] = (
    _strong("u"),
    _strong("d"),
    _strong("t"),
    Vertex(("g", "g", "g"), (-G_STRONG,)),
    Vertex(("g", "g", "g", "g"), (G_STRONG**2,)),
)
YUKAWA: tuple[Vertex, ...] = (Vertex(("t~", "H", "t"), (-YUKAWA_TOP,)),)
NEUTRAL: tuple[Vertex, ...] = (_neutral("u"), _neutral("d"))
PHOTON: tuple[Vertex, ...] = (_photon("u"),)
CHARGED: tuple[Vertex, ...] = (
    Vertex(("u~", "W+", "d"), (G_WEAK / 2**0.5, 0.0)),
    Vertex(("d~", "W-", "u"), (G_WEAK / 2**0.5, 0.0)),
)
TRIPLE: tuple[Vertex, ...] = (
    Vertex(("W+", "W-", "Z"), (-G_WEAK * COS_W,)),
    Vertex(("W+", "W-", "A"), (-E_CHARGE,)),
)
QUARTIC: tuple[Vertex, ...] = (
    Vertex(("W+", "Z", "W-", "Z"), (-((G_WEAK * COS_W) ** 2),)),
    Vertex(("W+", "Z", "W-", "A"), (-G_WEAK * COS_W * E_CHARGE,)),
)
HIGGS: tuple[Vertex, ...] = (
    Vertex(("H", "W+", "W-"), (2 * W_MASS**2 / VACUUM,)),
    Vertex(("H", "Z", "Z"), (2 * Z_MASS**2 / VACUUM,)),
)
ELECTROWEAK: tuple[Vertex, ...] = NEUTRAL + PHOTON + CHARGED + TRIPLE + QUARTIC + HIGGS
