"""Unweighted events, compared with weighted points.

Both have the same distribution. Few weights exceed the cap. The number of worker processes has no effect.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from types import ModuleType

import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes import files
from isoplan.trainers.amplitudes import simulate as simulating
from isoplan.trainers.amplitudes.events import check_events
from isoplan.trainers.amplitudes.phase_space import sampler as sampling
from isoplan.trainers.amplitudes.phase_space.mapping import passes
from isoplan.trainers.amplitudes.phase_space.sampler import ABOVE, Part, Ready, Sample, cap_of
from isoplan.trainers.amplitudes.processes import PROCESSES
from isoplan.trainers.amplitudes.simulate import Request, adapt, simulate
from isoplan.trainers.amplitudes.source import fixed_energy
from isoplan.trainers.cell import Stopped
from tests.trainers.amplitudes.kinematics import flat_points, square

ENERGY = 500.0


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "POINTS", 3000)
    monkeypatch.setattr(sampling, "ROUNDS", 4)


@pytest.fixture(autouse=True)
def _main(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the main module by an empty module.

    Spawned processes first run the main module. Tests of pages can set the app as the main module.
    """
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))


@cache
def ready_of(process: str, sqrt_s: float | None = None) -> Ready:
    return adapt(Request(process, 1, sqrt_s=sqrt_s))


def made(process: str, n: int, seed: int = 1, sqrt_s: float | None = None, cores: int = 1) -> Sample:
    return simulate(Request(process, n, seed, sqrt_s), ready_of(process, sqrt_s), cores)


def test_they_are_distributed_as_weighted_flat_points() -> None:
    """Unweighted events and weighted uniform points have equal histograms, by a chi^2 test.

    The histograms show p_T of the Z, p_T of a gluon, and the invariant mass of the two gluons.
    """
    events = made("Zgg", 2500, sqrt_s=ENERGY).events
    flat = flat_points(ready_of("Zgg", ENERGY).sampler.mapping, 15_000, np.random.default_rng(5))
    for mine, theirs in zip(measures(events.momenta), measures(flat.momenta), strict=True):
        edges = np.quantile(mine, np.linspace(0, 1, 13))
        edges[[0, -1]] = -np.inf, np.inf
        chi2 = compare(mine, events.weight, theirs, flat.weight, edges)
        assert chi2 < 11 + 4 * np.sqrt(22)  # mean + 4 standard deviations for 11 degrees of freedom


def measures(p: np.ndarray) -> list[np.ndarray]:
    """Return p_T of the Z, p_T of a gluon, and the invariant mass of the two gluons."""
    return [np.hypot(p[:, 2, 1], p[:, 2, 2]), np.hypot(p[:, 3, 1], p[:, 3, 2]), np.sqrt(square(p[:, 3] + p[:, 4]))]


def compare(x: np.ndarray, w: np.ndarray, y: np.ndarray, v: np.ndarray, edges: np.ndarray) -> float:
    (a, da), (b, db) = (
        (np.histogram(z, edges, weights=u / u.sum())[0], errors(z, u, edges)) for z, u in ((x, w), (y, v))
    )
    return float(((a - b) ** 2 / (da + db)).sum())


def errors(x: np.ndarray, w: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the variance of the bin contents. A bin contains a fraction of the total weight."""
    return np.histogram(x, edges, weights=(w / w.sum()) ** 2)[0]


def test_at_most_a_thousandth_lies_above_the_cap() -> None:
    for name, n in (("Zgg", 3000), ("ttH", 3000), ("WZ", 200)):
        sample = made(name, n)
        assert len(sample.events) == n
        assert 0 <= sample.above <= ABOVE
        assert sample.events.weight.min() == 1
        heavy = sample.events.weight[sample.events.weight > 1]
        assert heavy.sum() <= 3 * ABOVE * n + 2
        assert (sample.overweights, sample.largest) == (len(heavy), sample.events.weight.max())
        check_events(sample.events)
        assert passes(PROCESSES[name], sample.events.momenta[:, 2:]).all()
        assert not fixed_energy(sample.events.momenta)


def test_the_cap_is_the_least_one() -> None:
    weight = np.array([1.0, 4.0, 2.0, 3.0])
    assert [cap_of(weight, 10.0, share) for share in (0.0, 0.39, 0.4, 0.7, 1.0)] == [4, 4, 3, 2, 1]


def test_the_cross_section_and_its_efficiency_are_said() -> None:
    one, other = made("ttH", 2000), made("ttH", 2000, seed=2)
    assert abs(one.sigma - other.sigma) < 4 * np.hypot(one.error, other.error)
    assert 0.01 < one.efficiency < 1
    assert 2000 <= one.efficiency * one.passed < 6000


def test_the_same_seed_gives_the_same_events_by_any_number_of_processes() -> None:
    one, two, other = made("ttH", 2500), made("ttH", 2500, cores=2), made("ttH", 2500, seed=2)
    np.testing.assert_array_equal(one.events.momenta, two.events.momenta)
    np.testing.assert_array_equal(one.events.weight, two.events.weight)
    assert (one.sigma, one.passed) == (two.sigma, two.passed)
    assert not np.isin(other.events.amplitude, one.events.amplitude).any()


def test_it_says_how_far_it_is_and_stops() -> None:
    said: list[int] = []
    simulate(Request("ttH", 2500), ready_of("ttH"), said=said.append)
    assert said[-1] == 2500
    with pytest.raises(Stopped):
        simulate(Request("ttH", 10**6), ready_of("ttH"), stop=lambda: True)


def test_a_process_that_dies_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def parts() -> None:
        list(zip(simulating._parts(die, 2), range(3), strict=False))

    with pytest.raises(
        PlannerError, match=r"ended, perhaps because memory was too small: run the same command with fewer --cores"
    ):
        parts()


def die(index: int) -> Part:
    os._exit(3)


def test_what_cannot_be_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(words: str, *what: object) -> None:
        with pytest.raises(PlannerError, match=words) as caught:
            Request(*what)  # type: ignore[arg-type]
        assert str(caught.value).count(". ") == 0

    refused(r"no built-in process 'Zq': use Zg", "Zq", 10)
    refused(r"0 events cannot be simulated: request at least one", "Zg", 0)
    refused(r"seed -1 is negative", "Zg", 10, -1)
    refused(r"No event of ttH .* sqrt\(s\) = 400 GeV: give more than 470.34", "ttH", 10, 1, 400.0)
    monkeypatch.setattr(files, "usable_memory", lambda: 1e9)
    refused(
        r"10,000,000 events of Zg take 4.3 GB of memory, but only 0.8 GB may be used: 1,851,851 events", "Zg", 10**7
    )
