"""Adapted points: the cross section equals that of uniform points, for any order of the particles in the mapping."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.phase_space import sampler as sampling
from isoplan.trainers.amplitudes.phase_space.mapping import Mapping, passes
from isoplan.trainers.amplitudes.phase_space.sampler import Points, Sampler
from isoplan.trainers.amplitudes.processes import PROCESSES, check_momenta, squared_amplitude
from tests.trainers.amplitudes.kinematics import flat_points

COUNTS = {"Zggg": 2000, "Zgggg": 500}
"""Number of points for each slow process. All other processes have 5000 points."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "POINTS", 1500)
    monkeypatch.setattr(sampling, "FEW", 200)
    monkeypatch.setattr(sampling, "ROUNDS", 3)


def sigma(points: Points) -> tuple[float, float]:
    mean = points.weight.sum() / points.tried
    return float(mean), float(np.sqrt((points.weight**2).sum() / points.tried - mean**2) / np.sqrt(points.tried))


@pytest.mark.parametrize("name", PROCESSES)
@pytest.mark.parametrize("sqrt_s", [None, 600.0])
def test_the_cross_section_is_that_of_flat_phase_space(name: str, sqrt_s: float | None) -> None:
    mapping, rng = Mapping(PROCESSES[name], sqrt_s), np.random.default_rng(4)
    count = COUNTS.get(name, 5000)
    adapted, error = sigma(Sampler(mapping).adapted().draw(count, rng))
    flat, more = sigma(flat_points(mapping, count, rng))
    assert abs(adapted - flat) < 4 * np.hypot(error, more)
    assert error < (0.5 if name == "Zgggg" else 0.15) * adapted


def test_adapting_makes_weights_alike() -> None:
    mapping = Mapping(PROCESSES["Zgg"])
    before, after = (
        s.draw(8000, np.random.default_rng(1)).weight for s in (Sampler(mapping), Sampler(mapping).adapted())
    )
    assert after.std() / after.mean() < 0.7 * before.std() / before.mean()


def test_points_are_events_that_pass_the_cuts() -> None:
    mapping = Mapping(PROCESSES["WZgg"], 600.0)
    points = Sampler(mapping).draw(400, np.random.default_rng(1))
    check_momenta(points.momenta, mapping.process.particles)
    assert passes(mapping.process, points.momenta[:, 2:]).all()
    np.testing.assert_array_equal(points.amplitude, squared_amplitude(mapping.process, points.momenta))
    assert points.tried == 400
    assert np.all(points.momenta[:, :2, 0] == 300.0)


def test_gluons_stand_in_no_order_and_nothing_has_a_preferred_azimuth() -> None:
    points = Sampler(Mapping(PROCESSES["Zggg"], 600.0)).draw(1500, np.random.default_rng(2))
    rapidity = np.arctanh(points.momenta[:, 3:, 3] / points.momenta[:, 3:, 0])
    first = np.bincount(rapidity.argmax(axis=1), minlength=3)
    assert np.all(np.abs(first - len(rapidity) / 3) < 4 * np.sqrt(len(rapidity) * 2 / 9))
    phi = np.arctan2(points.momenta[:, 2, 2], points.momenta[:, 2, 1])
    assert np.hypot(np.cos(phi).mean(), np.sin(phi).mean()) < 4 / np.sqrt(len(phi))


def test_no_point_within_the_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlannerError, match=r"None of 1,500 points of Zgg passes the cuts: give a larger sqrt\(s\)"):
        Sampler(Mapping(PROCESSES["Zgg"], 131.19)).adapted()
    monkeypatch.setattr(sampling, "find_spec", lambda name: None)
    with pytest.raises(PlannerError, match=r"package vegas: install it with pip install 'isoplan"):
        sampling.need_vegas()
