"""The phase-space mapping: its events, and its volumes compared with closed forms or numerical integrals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.phase_space.mapping import COLLIDER, PT, Mapping, least_energy, luminosity, passes
from isoplan.trainers.amplitudes.processes import PROCESSES
from tests.trainers.amplitudes.kinematics import square


def two_body(energy: float, a: float, b: float, pt: float = 0.0) -> float:
    """Return the volume of two particles: |p| / (4 pi E), times the fraction of angles with p_T above ``pt``."""
    p = np.sqrt(max((energy**2 - (a + b) ** 2) * (energy**2 - (a - b) ** 2), 0.0)) / (2 * energy)
    return float(p / (4 * np.pi * energy) * np.sqrt(1 - (pt / p) ** 2)) if p > pt else 0.0


def three_body(energy: float, a: float, b: float, c: float) -> float:
    """Return the volume of three particles: an integral over the invariant mass of the first two."""

    def of(s: float) -> float:
        return two_body(energy, np.sqrt(s), c) * two_body(np.sqrt(s), a, b) / (2 * np.pi)

    return float(quad(of, (a + b) ** 2, (energy - c) ** 2)[0])


def mean(mapping: Mapping, count: int = 40_000) -> tuple[float, float]:
    """Return the mean weight of all points and its error. Points that fail the cuts have weight 0."""
    u = np.random.default_rng(1).random((count, mapping.dimension))
    outgoing, weight = mapping(u)
    weight = np.where(passes(mapping.process, outgoing), weight, 0.0)
    return float(weight.mean()), float(weight.std() / np.sqrt(count))


@pytest.mark.parametrize("name", PROCESSES)
@pytest.mark.parametrize("sqrt_s", [None, 700.0])
def test_momenta_are_conserved_and_on_shell_at_rest(name: str, sqrt_s: float | None) -> None:
    mapping = Mapping(PROCESSES[name], sqrt_s)
    u = np.random.default_rng(2).random((300, mapping.dimension))
    p, weight = mapping(u)
    good = weight > 0
    assert good.mean() > 0.3
    energy = p[good, :, 0].sum(axis=1)
    rest = np.stack([energy, 0 * energy, 0 * energy, 0 * energy], axis=-1)
    np.testing.assert_allclose(p[good].sum(axis=1) / energy[:, None], rest / energy[:, None], atol=1e-11)
    off = square(p[good]) - np.square(PROCESSES[name].masses[2:])
    assert np.abs(off / p[good, :, 0] ** 2).max() < 1e-12
    if sqrt_s:
        np.testing.assert_allclose(energy, sqrt_s, rtol=1e-12)
    else:
        assert np.all((energy > sum(PROCESSES[name].masses)) & (energy < COLLIDER))


def test_as_many_dimensions_as_an_event_has() -> None:
    """The dimension is 3 n_f - 4 at variable sqrt(s) and 3 n_f - 5 at fixed sqrt(s).

    For n_f > 2, one more dimension selects the particle with the largest p_T.
    """
    for name, outgoing in (("Zg", 2), ("WZ", 2), ("ttH", 3), ("Zgggg", 5)):
        choice = outgoing > 2
        assert Mapping(PROCESSES[name]).dimension == 3 * outgoing - 4 + choice
        assert Mapping(PROCESSES[name], 700.0).dimension == 3 * outgoing - 5 + choice


def test_the_volume_of_two_particles() -> None:
    """WZ has no cuts. Zg has a cut on p_T. At a fixed energy, this is a cut on the angle."""
    for name, pt in (("WZ", 0.0), ("Zg", PT)):
        a, b = PROCESSES[name].masses[2:]
        found, error = mean(Mapping(PROCESSES[name], 400.0))
        assert found * 2 * 400.0**2 == pytest.approx(two_body(400.0, a, b, pt), abs=8 * 400.0**2 * error)

        def of(log_tau: float, a: float = a, b: float = b, pt: float = pt) -> float:
            tau = np.exp(log_tau)
            s = tau * COLLIDER**2
            return float(tau * luminosity(np.array([tau]))[0]) * two_body(np.sqrt(s), a, b, pt) / (2 * s)

        with_partons, _ = quad(of, 2 * np.log((a + b) / COLLIDER), 0, epsrel=1e-5)
        found, error = mean(Mapping(PROCESSES[name]))
        assert found == pytest.approx(with_partons, abs=4 * error)
        assert error < 0.01 * found


@pytest.mark.parametrize("name", ["ttH", "WWZ"])
def test_the_volume_of_three_massive_particles(name: str) -> None:
    found, error = mean(Mapping(PROCESSES[name], 800.0))
    volume = three_body(800.0, *PROCESSES[name].masses[2:])
    assert found * 2 * 800.0**2 == pytest.approx(volume, abs=8 * 800.0**2 * error)
    assert error < 0.01 * found


def test_energies_that_no_event_has() -> None:
    least = least_energy(PROCESSES["Zgg"])
    assert least == pytest.approx(91.188 + 2 * PT)
    for energy in (least, 13_001.0, np.nan):
        with pytest.raises(
            PlannerError, match=r"Zgg .*sqrt\(s\) = .* GeV: give more than 131\.188 and at most 13000\."
        ):
            Mapping(PROCESSES["Zgg"], energy)
