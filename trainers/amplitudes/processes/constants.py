"""Masses and couplings of the built-in processes: measured constants, and what follows from them at tree level.

Measured: S. Navas et al. (Particle Data Group), Phys. Rev. D 110, 030001 (2024), tables 1.1 (physical constants) and
the summary tables of gauge and Higgs bosons and quarks. Input scheme: G_F, M_W, M_Z. The weak angle is then
cos(theta_w) = M_W / M_Z, without which the cancellations between diagrams at high energy would not hold.

All widths are zero: the final states hold their W, Z, H and top on their mass shells, so that every unstable particle
in between is above its pole (s_WZ >= (M_W + M_Z)^2 > M_W^2, s_WW >= 4 M_W^2 > M_H^2, s_tH >= (m_t + M_H)^2 > m_t^2).
Quarks but the top are massless and do not mix (CKM = 1). alpha_s does not run.
"""

from __future__ import annotations

from math import pi, sqrt

W_MASS = 80.369
"""GeV."""
Z_MASS = 91.188
"""GeV."""
HIGGS_MASS = 125.20
"""GeV."""
TOP_MASS = 172.57
"""GeV, from direct measurements."""
FERMI = 1.1663788e-5
"""G_F in GeV^-2, from the lifetime of the muon."""
ALPHA_S = 0.118
"""The strong coupling at M_Z, at every scale."""

COLOURS = 3
VACUUM = 1 / sqrt(sqrt(2) * FERMI)
"""Vacuum expectation value of the Higgs field: 246.22 GeV."""
COS_W = W_MASS / Z_MASS
SIN_W = sqrt(1 - COS_W**2)
G_STRONG = sqrt(4 * pi * ALPHA_S)
G_WEAK = 2 * W_MASS / VACUUM
E_CHARGE = G_WEAK * SIN_W
YUKAWA_TOP = TOP_MASS / VACUUM
"""The top's coupling to H in L = - y H tbar t, m_t / v."""
