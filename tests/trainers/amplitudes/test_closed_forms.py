"""Squared amplitudes compared with textbook formulas and with traces of explicit gamma matrices."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.trainers.amplitudes.processes import PROCESSES, fields, squared_amplitude
from isoplan.trainers.amplitudes.processes.fields import z_couplings
from tests.trainers.amplitudes import dirac
from tests.trainers.amplitudes.kinematics import events, square


def test_z_and_a_gluon() -> None:
    """The formula of Ellis, Stirling, Webber, "QCD and Collider Physics", ch. 9, for q qbar -> gamma* g.

    The couplings of the photon are replaced by those of the Z.
    """
    p = events(PROCESSES["Zg"], 20, 700.0)
    s, t, u = (square(p[:, 0] + p[:, 1]), square(p[:, 0] - p[:, 2]), square(p[:, 0] - p[:, 3]))
    left, right = z_couplings("u")
    formula = 4 / 9 * fields.G_STRONG**2 * (left**2 + right**2) * (t**2 + u**2 + 2 * s * fields.Z_MASS**2) / (t * u)
    np.testing.assert_allclose(squared_amplitude(PROCESSES["Zg"], p), formula, rtol=1e-11)


@pytest.mark.parametrize("energy", [200.0, 700.0, 5000.0])
def test_w_and_z(energy: float) -> None:
    """The formula for dsigma / dt of R. W. Brown, D. Sahdev, K. O. Mikaelian, Phys. Rev. D 20 (1979) 1164.

    Here g = 2 (T3 - Q x). The comparison with traces of gamma matrices confirms the factor 1/4 in the second line of
    the formula.
    """
    p = events(PROCESSES["WZ"], 20, energy)
    s, t, u = (square(p[:, 0] + p[:, 1]), square(p[:, 0] - p[:, 2]), square(p[:, 0] - p[:, 3]))
    w, z, x = fields.W_MASS**2, fields.Z_MASS**2, fields.SIN_W**2
    g_u, g_d = 1 - 4 / 3 * x, -1 + 2 / 3 * x
    transverse, both = u * t - w * z, s * (w + z)
    formula = (
        ((9 - 8 * x) * transverse + (8 * x - 6) * both) / 4 / (s - w) ** 2
        + (transverse - both) / (s - w) * (g_u / u - g_d / t)
        + transverse / (4 * (1 - x)) * (g_d**2 / t**2 + g_u**2 / u**2)
        + both / (2 * (1 - x)) * g_u * g_d / (t * u)
    )
    alpha = fields.E_CHARGE**2 / (4 * np.pi)
    cross_section = np.pi * alpha**2 / (6 * s**2 * x**2) * formula
    np.testing.assert_allclose(squared_amplitude(PROCESSES["WZ"], p) / (16 * np.pi * s**2), cross_section, rtol=1e-8)


@pytest.mark.parametrize(("name", "trace"), [("ttH", dirac.tth), ("WZ", dirac.wz)])
@pytest.mark.parametrize("energy", [500.0, 3000.0])
def test_traces_of_gamma_matrices(name: str, trace: object, energy: float) -> None:
    p = events(PROCESSES[name], 10, energy)
    assert callable(trace)
    np.testing.assert_allclose(squared_amplitude(PROCESSES[name], p), [trace(event) for event in p], rtol=1e-9)
