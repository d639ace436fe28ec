"""Uniform phase space of RAMBO, compared with closed forms or numerical integrals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.phase_space.flat import rambo
from tests.trainers.amplitudes.kinematics import massless_volume, square, weighted


def two_body(energy: float, a: float, b: float) -> float:
    """Return the volume |p| / (4 pi E) of two particles."""
    kallen = (energy**2 - (a + b) ** 2) * (energy**2 - (a - b) ** 2)
    return float(np.sqrt(max(kallen, 0.0)) / (2 * energy**2) / (4 * np.pi))


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    masses=st.lists(st.floats(0, 200), min_size=2, max_size=6),
    above=st.floats(1e-3, 5000),
)
def test_momenta_are_conserved_and_on_shell(seed: int, masses: list[float], above: float) -> None:
    energy = sum(masses) + above
    p, weight = weighted(np.full(4, energy), tuple(masses), np.random.default_rng(seed))
    assert p.shape == (4, len(masses), 4)
    np.testing.assert_allclose(p.sum(axis=1), np.tile([energy, 0, 0, 0], (4, 1)), atol=1e-11 * energy)
    np.testing.assert_allclose(square(p), np.tile(np.square(masses), (4, 1)), atol=1e-12 * energy**2)
    assert np.all(weight > 0)


def test_massless_volumes() -> None:
    assert massless_volume(2, 70.0) == pytest.approx(1 / (8 * np.pi))
    assert massless_volume(3, 70.0) == pytest.approx(70.0**2 / (256 * np.pi**3))

    # The volume with an additional particle is an integral over the invariant mass of the other particles.
    def of_three(s: float) -> float:
        return float(massless_volume(3, np.sqrt(s))) * two_body(70.0, np.sqrt(s), 0) / (2 * np.pi)

    inner, _ = quad(of_three, 0, 70.0**2)
    assert massless_volume(4, 70.0) == pytest.approx(inner, rel=1e-9)


def test_massless_events_are_flat() -> None:
    """The mean of s_12 / s is 2 / (n (n - 1)) for n particles.

    All n (n - 1) / 2 pairs are equivalent, and the sum of their s_ij is s.
    """
    for n in (3, 4, 5):
        p, weight = weighted(np.full(20000, 10.0), (0.0,) * n, np.random.default_rng(3))
        x = square(p[:, 0] + p[:, 1]) / 100
        assert np.ptp(weight) == 0
        assert x.mean() == pytest.approx(2 / (n * (n - 1)), abs=4 * x.std() / np.sqrt(len(x)))
    # For n = 3, the points are uniform in s_12 and s_13, so the density of x is 2 (1 - x).
    p = rambo(np.full(20000, 10.0), (0.0,) * 3, np.random.default_rng(4))
    x = square(p[:, 0] + p[:, 1]) / 100
    assert (x**2).mean() == pytest.approx(1 / 6, abs=4 * (x**2).std() / np.sqrt(len(x)))


def test_volumes_with_masses() -> None:
    _, weight = weighted(np.full(5, 300.0), (80.0, 91.0), np.random.default_rng(1))
    np.testing.assert_allclose(weight, two_body(300.0, 80.0, 91.0), rtol=1e-12)
    _, weight = weighted(np.full(40000, 600.0), (172.5, 172.5, 125.0), np.random.default_rng(1))

    def of_pair(s: float) -> float:
        return two_body(600.0, np.sqrt(s), 125.0) * two_body(np.sqrt(s), 172.5, 172.5) / (2 * np.pi)

    volume, _ = quad(of_pair, 345.0**2, 475.0**2)
    assert weight.mean() == pytest.approx(volume, abs=4 * weight.std() / np.sqrt(len(weight)))
    assert weight.std() / np.sqrt(len(weight)) < 0.01 * volume


def test_what_cannot_be_sampled_is_said() -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(PlannerError, match="energy of row 1, 170 GeV, is not above the sum of the masses, 171 GeV"):
        rambo(np.array([300.0, 170.0]), (80.0, 91.0), rng)
    with pytest.raises(PlannerError, match="at least two particles, not 1"):
        rambo(np.array([300.0]), (80.0,), rng)
