"""The search for jets that contain the products of a decay, tested with constructed decays."""

from __future__ import annotations

import awkward as ak
import numpy as np
from numpy.typing import ArrayLike

from isoplan.trainers.jets.simulate.chain import Jets, match, turn
from isoplan.trainers.jets.simulate.generate import Partons


def jets(event: ArrayLike, eta: ArrayLike, phi: ArrayLike) -> Jets:
    """Return massless jets with pT of 600 GeV."""
    etas, phis = np.asarray(eta, float), np.asarray(phi, float)
    px, py, pz = 600 * np.cos(phis), 600 * np.sin(phis), 600 * np.sinh(etas)
    return Jets(np.asarray(event), px, py, pz, 600 * np.cosh(etas), ak.Array([[0]] * len(etas)))


def partons(event: ArrayLike, parent: ArrayLike, eta: ArrayLike, phi: ArrayLike) -> Partons:
    """Return the products of decays, with empty data for the decays themselves."""
    which = np.asarray(parent, np.int64)
    nothing = np.zeros(int(which.max(initial=-1)) + 1)
    return Partons(
        np.asarray(event, np.int64), which, which, np.asarray(eta, float), np.asarray(phi, float), {"pid": nothing}
    )


def test_all_products_within_the_radius() -> None:
    decays = partons([0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2], [0.0, 0.5, 0, 0.9, 0, 0.79], [0.0, 0.5, 0, 0, 0, 0])
    assert match(jets([0, 1, 2], [0.0, 0, 0], [0.0, 0, 0]), decays, 2).tolist() == [0, -1, 2]


def test_the_distance_goes_around() -> None:
    decays = partons([0, 0], [0, 0], [0.0, 0], [3.1, -3.1])
    assert match(jets([0, 0], [0.0, 0], [-3.1, 0]), decays, 2).tolist() == [0, -1]


def test_two_decays_in_an_event_have_their_own_jets() -> None:
    decays = partons([0] * 6, [0, 1, 0, 1, 0, 1], [0.0, 1, 0.1, 1, -0.1, 1.2], [0.0, 2, 0, 2, 0, 2])
    assert match(jets([0, 0, 0], [1.0, 0, -1], [2.0, 0, 0]), decays, 3).tolist() == [1, 0, -1]


def test_products_of_two_decays_do_not_make_one() -> None:
    decays = partons([0, 0, 0, 0], [0, 0, 1, 1], [0.0, 1.5, 0.1, 1.6], [0.0, 0, 0, 0])
    assert match(jets([0], [0.0], [0.0]), decays, 2).tolist() == [-1]


def test_a_decay_with_more_products_is_another_one() -> None:
    decays = partons([0, 0, 0], [0, 0, 0], [0.0, 0.1, 5], [0.0, 0, 0])
    assert match(jets([0], [0.0], [0.0]), decays, 2).tolist() == [-1]
    assert match(jets([0], [0.0], [0.0]), partons([0], [0], [0.1], [0.0]), 1).tolist() == [0]


def test_events_without_jets_or_decays() -> None:
    decays = partons([1, 1, 4, 4], [0, 0, 1, 1], [0.0, 0, 0, 0], [0.0, 0, 0, 0])
    assert match(jets([0, 1, 3, 4], [0.0] * 4, [0.0] * 4), decays, 2).tolist() == [-1, 0, -1, 1]
    assert match(jets([], [], []), decays, 2).tolist() == []
    assert match(jets([0], [0.0], [0.0]), partons([], [], [], []), 2).tolist() == [-1]


def test_angles_between_minus_pi_and_pi() -> None:
    assert np.allclose(turn(np.array([0.0, 3.2, -3.2, 6.3])), [0, 3.2 - 2 * np.pi, 2 * np.pi - 3.2, 6.3 - 2 * np.pi])
