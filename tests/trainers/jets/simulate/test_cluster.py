"""Clustering and substructure, compared with an explicit algorithm and with constructed jets."""

from __future__ import annotations

import awkward as ak
import numpy as np
import pytest

from isoplan.engine.arrays import Floats
from isoplan.trainers.jets.simulate.chain import find_jets, substructure, turn
from tests.trainers.jets.simulate.events import seen


def anti_kt(p: Floats) -> list[set[int]]:
    """Return the anti-kt jets of momenta (particles, 4), by the definition of arXiv:0802.1189 with R = 0.8.

    The energy E is the first component of a momentum.
    """
    p, of, jets = p.copy(), [{i} for i in range(len(p))], []
    while len(p):
        pt, y, phi = np.hypot(p[:, 1], p[:, 2]), np.arctanh(p[:, 3] / p[:, 0]), np.arctan2(p[:, 2], p[:, 1])
        apart = (y[:, None] - y) ** 2 + turn(phi[:, None] - phi) ** 2
        d = np.minimum(pt[:, None] ** -2, pt**-2) * apart / 0.8**2
        np.fill_diagonal(d, pt**-2)
        i, j = sorted(np.unravel_index(d.argmin(), d.shape))
        if i == j:
            jets.append(of[i])
        else:
            p[i], of[i] = p[i] + p[j], of[i] | of[j]
        p, of = np.delete(p, j, axis=0), of[:j] + of[j + 1 :]
    return jets


def test_jets_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(5)
    events, n = 6, 40
    axis = rng.choice([-1.0, 1.3], (events, n))
    eta, phi = axis + rng.normal(0, 0.5, (events, n)), 2 * axis + rng.normal(0, 0.5, (events, n))
    pt = rng.exponential(48, (events, n))
    event = np.repeat(np.arange(events) + 1, n)  # event 0 has no particles
    whole = seen(event, pt.ravel(), eta.ravel(), phi.ravel(), events + 2)
    found = find_jets(whole)
    expected = []
    momenta = np.stack([whole.energy, whole.px, whole.py, whole.pz], axis=1)
    for i in range(events):
        for one in anti_kt(momenta[event == i + 1]):
            rows = np.array(sorted(one)) + i * n
            px, py, pz = momenta[rows, 1:].sum(axis=0)
            if 500 < np.hypot(px, py) < 1000 and abs(np.arcsinh(pz / np.hypot(px, py))) < 2:
                expected.append((i + 1, tuple(rows)))
    got = [(e, tuple(sorted(rows))) for e, rows in zip(found.event.tolist(), found.rows.to_list(), strict=True)]
    assert sorted(got) == sorted(expected)
    assert len(got) >= 6
    for i, rows in enumerate(found.rows.to_list()):
        sums = momenta[rows].sum(axis=0)
        assert [found.energy[i], found.px[i], found.py[i], found.pz[i]] == pytest.approx(sums, rel=1e-9)


def test_the_window() -> None:
    pt, eta = [499.0, 501, 999, 1001, 700, 700], [0, 0, 0, 0, 1.99, -2.01]
    found = find_jets(seen(np.arange(6), pt, eta, np.zeros(6), 6))
    assert found.event.tolist() == [1, 2, 4]
    assert found.pt == pytest.approx([501, 999, 700])
    assert found.eta == pytest.approx([0, 0, 1.99])


def test_no_jets_at_all() -> None:
    nothing = seen([0], [10.0], [0.0], [0.0], 3)
    jets = find_jets(nothing)
    mass, tau = substructure(nothing, jets)
    assert (len(jets.event), mass.shape, tau.shape) == (0, (0,), (0, 4))


def test_soft_drop_takes_away_what_is_soft_and_wide() -> None:
    # Two prongs of 420 and 180 GeV at a distance of 0.4 pass the condition (z = 0.3). A third prong of 30 GeV at 0.6
    # does not pass (z = 0.048).
    pt, eta, phi = np.array([420.0, 180, 30]), np.array([0.0, 0.4, -0.4]), np.array([0.0, 0, 0.45])
    both = seen([0, 0, 0, 1, 1], [*pt, 420.0, 30.0], [*eta, 0.0, 0.3], [*phi, 0.0, 0.0], 2)
    jets = find_jets(both)
    assert [len(rows) for rows in jets.rows.to_list()] == [3]
    one = jets[jets.event == 0]
    mass, tau = substructure(both, one)
    assert mass[0] == pytest.approx(np.sqrt(2 * 420 * 180 * (np.cosh(0.4) - 1)), rel=1e-6)
    assert tau[0, 2] == pytest.approx(0, abs=1e-6)
    assert tau[0, 0] > tau[0, 1] > 1e-3


def test_subjettiness_of_two_prongs_by_hand() -> None:
    # For beta = 1 and one axis, tau is ``sum(pT * dR) / (sum(pT) * R)``. The search for the best axis starts at
    # the sum of both prongs, which is the kt axis. For two axes, tau is 0.
    pt, eta = np.array([400.0, 200.0]), np.array([0.0, 0.3])
    whole = seen([0, 0], pt, eta, [0.0, 0.0])
    jets = find_jets(whole)
    mass, tau = substructure(whole, jets)
    assert tau[0, 0] == pytest.approx(200 * 0.3 / (600 * 0.8), rel=0.02)  # the optimal axis is the harder prong
    assert tau[0, 1:] == pytest.approx(0, abs=1e-9)
    assert mass[0] == pytest.approx(np.sqrt(2 * 400 * 200 * (np.cosh(0.3) - 1)), rel=1e-6)


def test_jets_are_chosen_by_a_mask() -> None:
    whole = seen([0, 1, 2], [600.0, 700, 800], [0.0, 1, -1], [0.0, 1, 2], 3)
    kept = find_jets(whole)[np.array([True, False, True])]
    assert kept.event.tolist() == [0, 2]
    assert kept.pt == pytest.approx([600, 800])
    assert ak.to_list(kept.rows) == [[0], [2]]
