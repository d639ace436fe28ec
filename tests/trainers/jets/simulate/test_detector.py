"""The simplified detector, tested with constructed particles."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.trainers.jets.simulate import detector
from isoplan.trainers.jets.simulate.detector import (
    BEND,
    CHARGED,
    ELECTROMAGNETIC,
    HADRONIC,
    MUON,
    NEUTRAL,
    PHOTON,
    detect,
)
from isoplan.trainers.jets.simulate.generate import Particles
from tests.trainers.jets.simulate.events import made, noise

MANY = 4000


@pytest.mark.parametrize("charge", [1.0, -1.0, 0.0])
@pytest.mark.parametrize(
    ("x", "y", "z", "pt", "eta", "phi"), [(3, -2, 5, 1.2, 0.7, 2.1), (40, 25, -60, 0.9, -1.4, 0.6)]
)
def test_impact_parameters_are_those_of_the_helix(
    charge: float, x: float, y: float, z: float, pt: float, eta: float, phi: float
) -> None:
    # Integrate the path backwards in small steps with the Lorentz force. For an observer who looks against the field, a
    # positive charge turns clockwise.
    path = np.linspace(-300, 300, 600_001)
    turned = phi - BEND * charge / pt * path
    step = path[1] - path[0]
    middle = len(path) // 2
    px, py = np.cumsum(np.cos(turned)) * step, np.cumsum(np.sin(turned)) * step
    px, py = x + px - px[middle], y + py - py[middle]
    at = np.argmin(np.hypot(px, py))
    d0 = px[at] * np.sin(turned[at]) - py[at] * np.cos(turned[at])
    dz = z + path[at] * np.sinh(eta)
    found = detector.impact(*(np.array([v]) for v in (x, y, z, pt, eta, phi, charge)))
    assert [v[0] for v in found] == pytest.approx([d0, dz], abs=2e-3)


def test_what_begins_at_the_collision_has_no_impact_parameter() -> None:
    zero = np.zeros(3)
    d0, dz = detector.impact(zero, zero, zero, np.array([1.0, 5, 500]), zero + 1, zero, np.array([1.0, -1, 1]))
    assert np.abs([d0, dz]).max() == 0


def test_a_hard_photon_is_measured_in_its_cell() -> None:
    got = detect(made(22, np.full(MANY, 50.0), 0.3, 1.0, n=MANY), noise())
    photons = got.kind == PHOTON
    assert photons.sum() == len(got.kind) == MANY
    energy = 50 * np.cosh(0.3)
    sigma = np.sqrt((0.008 * energy) ** 2 + 0.11**2 * energy + 0.4**2)
    assert got.energy.mean() == pytest.approx(energy, abs=4 * sigma / np.sqrt(MANY))
    assert got.energy.std() == pytest.approx(sigma, rel=0.05)
    size = ELECTROMAGNETIC.size
    eta, phi = np.arcsinh(got.pz / np.hypot(got.px, got.py)), np.arctan2(got.py, got.px)
    assert (np.floor(eta / size) == np.floor(0.3 / size)).all()
    assert (np.floor((phi + np.pi) / size) == np.floor((1 + np.pi) / size)).all()
    assert eta.std() == pytest.approx(size / np.sqrt(12), rel=0.05)


def test_photons_in_one_cell_are_one_and_in_two_cells_two() -> None:
    size = ELECTROMAGNETIC.size
    eta = np.array([0.2, 0.3, 1.2, 2.2]) * size  # the photons hit three calorimeter cells
    got = detect(made(22, [20.0, 20, 20, 20], eta, 0.5), noise())
    assert len(got.kind) == 3
    assert sorted(np.round(got.energy / 20)) == [1, 1, 2]


def test_tracks_are_found_as_often_as_stated_and_the_rest_is_neutral() -> None:
    for eta, share in ((0.4, 0.95), (2.0, 0.85), (2.7, 0.0)):
        got = detect(made(211, np.full(MANY, 30.0), eta, 1.0, 1, n=MANY), noise())
        tracks = got.kind == CHARGED
        assert tracks.sum() / MANY == pytest.approx(share, abs=4 * np.sqrt(0.05 / MANY))
        assert (got.charge == tracks).all()
        lost = np.setdiff1d(np.arange(MANY), got.event[tracks])
        assert np.isin(lost, got.event[got.kind == NEUTRAL]).mean() > 0.99
        assert np.allclose(np.hypot(got.px, got.py)[tracks], 30, rtol=0.2)


def test_what_a_track_took_counts_once() -> None:
    got = detect(made(211, np.full(MANY, 20.0), 0.3, 1.0, 1, n=MANY), noise())
    with_track = np.isin(got.event, got.event[got.kind == CHARGED])
    rest = with_track & (got.kind == NEUTRAL)
    # A calorimeter cell with an energy more than one sigma above the mean gives a neutral hadron. The probability of
    # such an energy is 16 %.
    assert rest.sum() / (got.kind == CHARGED).sum() == pytest.approx(0.159, abs=0.03)
    assert (got.energy[rest] > HADRONIC.sigma(np.array([20 * np.cosh(0.3)]))[0] * 0.99).all()


def test_muons_leave_a_track_and_no_energy() -> None:
    got = detect(made(13, np.full(MANY, 40.0), 0.3, 1.0, -1, n=MANY), noise())
    assert set(got.kind) == {MUON}
    assert len(got.kind) / MANY == pytest.approx(0.99, abs=0.01)
    assert (got.charge == -1).all()
    mass = np.sqrt(got.energy**2 - got.px**2 - got.py**2 - got.pz**2)
    assert mass == pytest.approx(0.10566, rel=1e-3)


@pytest.mark.parametrize(
    ("pt", "born", "tracks"), [(0.9, 0, False), (2.0, 0, True), (2.0, 240, True), (2.0, 260, False)]
)
def test_soft_and_far_tracks_are_lost(pt: float, born: float, tracks: bool) -> None:
    got = detect(made(211, np.full(300, pt), 0.3, 1.0, 1, born, n=300), noise())
    assert ((got.kind == CHARGED).mean() > 0.5) == tracks


def test_soft_energy_is_not_seen() -> None:
    soft = detect(made(22, np.full(300, 0.3), 0.0, 1.0, n=300), noise())
    assert len(soft.kind) < 0.1 * 300  # a photon is seen only if the noise adds 0.7 GeV (1.7 sigma)


def test_impact_parameters_scatter_by_their_errors() -> None:
    got = detect(made(211, np.full(MANY, 5.0), 1.0, 1.0, 1, n=MANY), noise())
    tracks = got.kind == CHARGED
    for value, error in ((got.d0, got.d0err), (got.dz, got.dzerr)):
        pull = value[tracks] / error[tracks]
        assert pull.mean() == pytest.approx(0, abs=0.07)
        assert pull.std() == pytest.approx(1, abs=0.05)
        assert (value[~tracks] == 0).all()
        assert (error[~tracks] == 0).all()
    assert got.d0err[tracks].mean() == pytest.approx(np.hypot(0.012, 0.075 * np.sqrt(np.cosh(1)) / 5), rel=0.01)


def test_batches_do_not_matter() -> None:
    rng = np.random.default_rng(2)
    n = 600
    pid, charge = np.array([211, -211, 22, 130, 11, 13]), np.array([1, -1, 0, 0, -1, -1])
    one = rng.integers(0, 6, n)
    event = np.arange(n) // 100
    particles = made(
        pid[one], rng.exponential(5, n) + 0.1, rng.normal(0, 1, n), rng.uniform(-3.1, 3.1, n), charge[one], n=6
    )
    assert (particles.event == event).all()
    whole = detect(particles, noise(3))
    source, found = noise(3), []
    for first, last in ((0, 1), (1, 4), (4, 6)):
        rows = (event >= first) & (event < last)
        columns = [getattr(particles, name)[rows] for name in list(Particles.__dataclass_fields__)[2:]]
        found.append(detect(Particles(last - first, event[rows] - first, *columns), source))
    for name in ("px", "energy", "d0", "dz", "kind", "charge"):
        assert np.array_equal(np.concatenate([getattr(one, name) for one in found]), getattr(whole, name))
