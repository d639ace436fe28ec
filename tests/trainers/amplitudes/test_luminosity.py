"""The parton luminosity compared with a numerical integral, and the momentum fraction of the partons."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from isoplan.trainers.amplitudes.phase_space.mapping import ANTIQUARK, QUARK, luminosity


def by_quadrature(tau: float) -> float:
    """Return 2 int dx/x q(x) qbar(tau/x), integrated over log x."""

    def of(log_x: float) -> float:
        x = np.exp(log_x)
        return float(QUARK(x) * ANTIQUARK(tau / x))

    found, _ = quad(of, np.log(tau), 0, epsabs=0, epsrel=1e-10, limit=400)
    return 2 * found / tau


@pytest.mark.parametrize("tau", [5e-5, 1e-4, 0.003, 0.02, 0.19, 0.21, 0.7, 0.99])
def test_the_closed_form_is_the_integral(tau: float) -> None:
    assert luminosity(np.array([tau]))[0] == pytest.approx(by_quadrature(tau), rel=1e-7)


def test_there_are_no_partons_beyond_the_protons() -> None:
    np.testing.assert_array_equal(luminosity(np.array([1.0, 1.5])), 0.0)


def test_partons_carry_no_more_than_the_proton() -> None:
    """Quarks and antiquarks have less than the total momentum of the proton, and the luminosity decreases with tau.

    The momentum fraction of a parton density is int dx x f(x).
    """
    carried = sum(quad(lambda x, f=f: float(f(x)), 0, 1)[0] for f in (QUARK, ANTIQUARK))
    assert 0.1 < carried < 0.5
    values = luminosity(np.geomspace(1e-5, 0.999, 400))
    assert np.all(np.diff(values) < 0)
