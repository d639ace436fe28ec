"""Impossible momenta raise an error of one sentence that contains the row and the size of the violation."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.phase_space.flat import rambo
from isoplan.trainers.amplitudes.processes import PROCESSES, check_momenta, find_process, squared_amplitude
from isoplan.trainers.amplitudes.processes.check import check_own_momenta
from tests.trainers.amplitudes.kinematics import boost_matrix, events

ZGG = PROCESSES["Zgg"]


def refused(momenta: np.ndarray, words: str) -> None:
    with pytest.raises(PlannerError, match=words) as caught:
        squared_amplitude(ZGG, momenta)
    assert str(caught.value).count(". ") == 0


def test_an_unknown_process_is_named_with_those_that_there_are() -> None:
    with pytest.raises(PlannerError, match=r"no built-in process 'Zq': use Zg, Zgg, .*, ttH, WZ, .*WWZ\."):
        find_process("Zq")


def test_a_wrong_shape() -> None:
    words = r"the shape \(6, 4, 4\): give \(points, 5, 4\) as \(E, px, py, pz\) in GeV for u u~ -> Z g g"
    refused(events(ZGG, 6, 500.0)[:, 1:], words)
    refused(events(ZGG, 6, 500.0)[0], r"the shape \(5, 4\)")


def test_momenta_off_shell() -> None:
    p = events(ZGG, 6, 500.0)
    p[4, 2, 0] = np.sqrt((p[4, 2, 1:] ** 2).sum() + 90.0**2)
    refused(
        p,
        r"Row 4 \(counted from 0\): particle 2 \(Z\) is off shell, its E\^2 - p\^2 is 8100 GeV\^2 and should be 8315",
    )


def test_momenta_that_do_not_add_up() -> None:
    p = events(ZGG, 6, 500.0)
    p[3, 3] *= 1 + 3 / p[3, 3, 0]
    refused(
        p,
        r"Row 3 \(counted from 0\) does not conserve momentum: incoming minus outgoing is \(-3, .*\) GeV at ",
    )


def test_energies_are_finite_and_positive() -> None:
    p = events(ZGG, 6, 500.0)
    p[2, 1] *= -1
    refused(p, r"Row 2 \(counted from 0\): particle 1 has the momentum \[-250.0, .*\], which is impossible")
    p[1, 0, 2] = np.nan
    refused(p, r"Row 1 \(counted from 0\): particle 0 .* finite numbers")


def test_seven_digits_are_enough() -> None:
    for process in PROCESSES.values():
        p = events(process, 50, 1000.0)
        check_momenta(p.astype(np.float32).astype(np.float64), process.particles)


def test_no_events_have_no_amplitudes() -> None:
    assert squared_amplitude(ZGG, np.zeros((0, 5, 4))).shape == (0,)


def test_both_beams_the_same_way_are_caught_row_by_row() -> None:
    """Every row is refused if both beams have the same direction.

    E^2 - p^2 of the two beams together is then zero or slightly negative. Its square root is not computed.
    """
    p = events(ZGG, 200, 500.0)
    sides = np.random.default_rng(1).normal(size=(200, 3))
    beam = 250 * sides / np.linalg.norm(sides, axis=1)[:, None]
    p[:, 0, 0], p[:, 0, 1:] = 250, beam
    p[:, 1, 0], p[:, 1, 1:] = 750, 3 * beam
    incoming = p[:, :2].sum(axis=1)
    assert 20 < (incoming[:, 0] ** 2 < (incoming[:, 1:] ** 2).sum(axis=1)).sum() < 180
    for row in range(200):
        refused(
            p[row : row + 1],
            r"Row 0 \(counted from 0\) does not conserve momentum: incoming minus outgoing is .* at sqrt\(s\) = \d",
        )


def test_a_mass_of_ones_own_particle_is_the_same_in_all_rows() -> None:
    """A Z boson of 150 GeV in one row raises an error, although the row conserves momentum."""
    p = events(ZGG, 900, 500.0)
    check_own_momenta(p)
    p[417, 2:] = rambo(np.array([500.0]), (150.0, 0.0, 0.0), np.random.default_rng(2))[0]
    with pytest.raises(PlannerError) as caught:
        check_own_momenta(p)
    assert str(caught.value) == (
        "Row 417 (counted from 0): particle 2 is off shell, its E^2 - p^2 is 22500 GeV^2, but 8315.25 in most rows: "
        "leave such rows out, "
        "and use the same order of the particles in all rows."
    )


def test_masses_are_as_exact_as_seven_digits_of_large_momenta_are() -> None:
    """Events of all processes at 0.6 to 20 TeV are valid in single precision after a boost along the beams."""
    rng = np.random.default_rng(3)
    for process in PROCESSES.values():
        sets = [events(process, 40, energy) for energy in np.geomspace(600, 20_000, 10)]
        boosted = np.concatenate(sets) @ boost_matrix(np.array([0, 0, rng.uniform(-0.9, 0.9)])).T
        check_own_momenta(boosted.astype(np.float32).astype(np.float64))
