"""Squared amplitudes of single events, computed with traces of explicit gamma matrices.

The computation does not use Isoplan's amplitude code.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isoplan.trainers.amplitudes.processes import fields

Matrix = NDArray[np.complex128]
METRIC = np.diag([1.0, -1.0, -1.0, -1.0])
_PAULI = np.array([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])
_ZERO, _ONE = np.zeros((2, 2)), np.eye(2)
# Gamma matrices in Dirac's basis. The tested code uses another basis.
GAMMA = np.array(
    [np.block([[_ONE, _ZERO], [_ZERO, -_ONE]]), *(np.block([[_ZERO, s], [-s, _ZERO]]) for s in _PAULI)], np.complex128
)
GAMMA5 = 1j * GAMMA[0] @ GAMMA[1] @ GAMMA[2] @ GAMMA[3]
LEFT = (np.eye(4) - GAMMA5) / 2


def slash(p: NDArray[np.float64]) -> Matrix:
    return np.einsum("m,mij->ij", METRIC @ p, GAMMA)


def bar(vertex: Matrix) -> Matrix:
    """Return gamma0 V^dagger gamma0 of matrices V (..., 4, 4)."""
    return GAMMA[0] @ np.conj(np.swapaxes(vertex, -1, -2)) @ GAMMA[0]


def tth(event: NDArray[np.float64]) -> float:
    """Return the squared amplitude of u ubar -> t tbar H, where the top quarks emit the Higgs boson H.

    The result contains the factors 2 / 9 for the colours (T^a T^a) and 1 / 4 for the spins.
    """
    q, qbar, t, tbar, h = event
    m, unit = fields.TOP_MASS, np.eye(4)
    s = (q + qbar) @ METRIC @ (q + qbar)
    from_t = (slash(t + h) + m * unit) / ((t + h) @ METRIC @ (t + h) - m**2)
    from_tbar = (-slash(tbar + h) + m * unit) / ((tbar + h) @ METRIC @ (tbar + h) - m**2)
    heavy = from_t @ GAMMA + GAMMA @ from_tbar
    light = np.einsum("ij,mjk,kl,nli->mn", slash(qbar), GAMMA, slash(q), bar(GAMMA))
    top = np.einsum("ij,mjk,kl,nli->mn", slash(t) + m * unit, heavy, slash(tbar) - m * unit, bar(heavy))
    lowered = METRIC @ top @ METRIC
    strength = fields.G_STRONG**4 * fields.YUKAWA_TOP**2 / s**2
    return float((light * lowered).sum().real * strength * 2 / 9 / 4)


def wz(event: NDArray[np.float64]) -> float:
    """Return the squared amplitude of u dbar -> W+ Z.

    The diagrams are u exchange, d exchange and W* -> W Z. The polarisation sums are -g + k k / M^2.
    """
    u, dbar, w, z = event
    x = fields.SIN_W**2
    g_u = fields.G_WEAK / fields.COS_W * (1 / 2 - 2 / 3 * x)
    g_d = fields.G_WEAK / fields.COS_W * (-1 / 2 + 1 / 3 * x)
    charged = fields.G_WEAK / np.sqrt(2)
    total = u + dbar
    # The indices [mu, nu] belong to the outgoing W and Z.
    via_d, via_u = u - w, u - z
    graphs = g_d * np.einsum("nij,jk,mkl->mnil", GAMMA, slash(via_d), GAMMA) / (via_d @ METRIC @ via_d)
    graphs = graphs + g_u * np.einsum("mij,jk,nkl->mnil", GAMMA, slash(via_u), GAMMA) / (via_u @ METRIC @ via_u)
    # The vertex of an incoming W+ (rho), an outgoing W+ (mu) and a Z (nu) is -i g cos(theta_w) times ``rule``. The W*
    # diagram has two vertices and the propagator i (-g + k k / M^2), so its factor is -i^3. The diagrams of u and d
    # exchange have the factor i^3. The W* diagram is therefore subtracted.
    rule = np.einsum("mn,r->mnr", METRIC, z - w)
    rule = rule + np.einsum("nr,m->mnr", METRIC, -z - total) + np.einsum("rm,n->mnr", METRIC, total + w)
    virtual = -METRIC + np.outer(total, total) / fields.W_MASS**2
    lower = np.einsum("mnr,rs,sab->mnab", rule, METRIC @ virtual @ METRIC, GAMMA)
    graphs = graphs - fields.G_WEAK * fields.COS_W * lower / (total @ METRIC @ total - fields.W_MASS**2)
    graphs = charged * graphs @ LEFT
    sums = [
        METRIC @ (-METRIC + np.outer(k, k) / m2) @ METRIC for k, m2 in ((w, fields.W_MASS**2), (z, fields.Z_MASS**2))
    ]
    squared = np.einsum("ij,mnjk,kl,rsli,mr,ns", slash(dbar), graphs, slash(u), bar(graphs), *sums, optimize=True)
    return float(squared.real * 3 / 9 / 4)
