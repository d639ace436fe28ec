"""Fields and vertices as data: a process may use any of the vertices, and a test may leave one out.

Conventions: L_int gives the Feynman rule i V with real V; covariant derivative D = d - i g T^a A^a (Peskin and
Schroeder, sec. 16.1). Every leg of a vertex is a field that goes *into* it: ``W+`` brings charge +1 (it is annihilated
as a W+ or created as a W-), ``u`` is a quark along its arrow (incoming u or outgoing ubar), ``u~`` the other end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from isoplan.trainers.amplitudes.processes import constants as c

INCOMING = 2
"""Incoming particles, which come first."""
Spin = Literal["fermion", "antifermion", "vector", "scalar"]


@dataclass(frozen=True)
class Field:
    """A kind of line. ``anti`` is the field whose line goes the other way, ``mass`` is in GeV."""

    name: str
    anti: str
    spin: Spin
    mass: float = 0.0


@dataclass(frozen=True)
class Vertex:
    """Legs, all going in, and couplings; the Lorentz structure follows from the spins of the legs.

    - (psibar, V, psi): gamma^mu (g_L P_L + g_R P_R), couplings (g_L, g_R)
    - (psibar, S, psi): 1, couplings (y,)
    - (V1, V2, V3): g^{12} (k1 - k2)^3 + cyclic, couplings (g,)
    - (V1, V2, V3, V4): 2 g^{13} g^{24} - g^{12} g^{34} - g^{14} g^{23}, couplings (g,)
    - (S, V, V): g^{mu nu}, couplings (g,) in GeV

    For gluons the order is that of the colour matrices (colour-ordered rules with T^a of trace 1/2).
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
        *_quark("t", c.TOP_MASS),
        Field("g", "g", "vector"),
        Field("A", "A", "vector"),
        Field("Z", "Z", "vector", c.Z_MASS),
        Field("W+", "W-", "vector", c.W_MASS),
        Field("W-", "W+", "vector", c.W_MASS),
        Field("H", "H", "scalar", c.HIGGS_MASS),
    )
}
CHARGE = {"u": 2 / 3, "d": -1 / 3}
ISOSPIN = {"u": 1 / 2, "d": -1 / 2}


def z_couplings(quark: str) -> tuple[float, float]:
    """(g_L, g_R) of the Z with a quark: g / cos(theta_w) (T3 - Q sin^2(theta_w)), with T3 = 0 on the right."""
    right = -CHARGE[quark] * c.SIN_W**2
    return c.G_WEAK / c.COS_W * (ISOSPIN[quark] + right), c.G_WEAK / c.COS_W * right


def _strong(quark: str) -> Vertex:
    return Vertex((f"{quark}~", "g", quark), (c.G_STRONG, c.G_STRONG))


def _photon(quark: str) -> Vertex:
    charge = c.E_CHARGE * CHARGE[quark]
    return Vertex((f"{quark}~", "A", quark), (charge, charge))


def _neutral(quark: str) -> Vertex:
    return Vertex((f"{quark}~", "Z", quark), z_couplings(quark))


QCD: tuple[Vertex, ...] = (
    _strong("u"),
    _strong("d"),
    _strong("t"),
    Vertex(("g", "g", "g"), (-c.G_STRONG,)),
    Vertex(("g", "g", "g", "g"), (c.G_STRONG**2,)),
)
YUKAWA: tuple[Vertex, ...] = (Vertex(("t~", "H", "t"), (-c.YUKAWA_TOP,)),)
NEUTRAL: tuple[Vertex, ...] = (_neutral("u"), _neutral("d"))
PHOTON: tuple[Vertex, ...] = (_photon("u"),)
CHARGED: tuple[Vertex, ...] = (
    Vertex(("u~", "W+", "d"), (c.G_WEAK / 2**0.5, 0.0)),
    Vertex(("d~", "W-", "u"), (c.G_WEAK / 2**0.5, 0.0)),
)
TRIPLE: tuple[Vertex, ...] = (
    Vertex(("W+", "W-", "Z"), (-c.G_WEAK * c.COS_W,)),
    Vertex(("W+", "W-", "A"), (-c.E_CHARGE,)),
)
QUARTIC: tuple[Vertex, ...] = (
    Vertex(("W+", "Z", "W-", "Z"), (-((c.G_WEAK * c.COS_W) ** 2),)),
    Vertex(("W+", "Z", "W-", "A"), (-c.G_WEAK * c.COS_W * c.E_CHARGE,)),
)
HIGGS: tuple[Vertex, ...] = (
    Vertex(("H", "W+", "W-"), (2 * c.W_MASS**2 / c.VACUUM,)),
    Vertex(("H", "Z", "Z"), (2 * c.Z_MASS**2 / c.VACUUM,)),
)
ELECTROWEAK: tuple[Vertex, ...] = NEUTRAL + PHOTON + CHARGED + TRIPLE + QUARTIC + HIGGS
