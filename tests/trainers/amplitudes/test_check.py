"""Momenta that no event has are refused in one sentence that names the row and by how much."""

from __future__ import annotations

import numpy as np
import pytest

from engine.errors import PlannerError
from tests.trainers.amplitudes.kinematics import events
from trainers.amplitudes.processes import PROCESSES, check_momenta, find_process, squared_amplitude

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
    refused(p, r"Row 4: particle 2 \(Z\) is off shell, its E\^2 - p\^2 is 8100 GeV\^2 and should be 8315.25")


def test_momenta_that_do_not_add_up() -> None:
    p = events(ZGG, 6, 500.0)
    p[3, 3] *= 1 + 3 / p[3, 3, 0]
    refused(p, r"Row 3 does not conserve momentum: incoming less outgoing is \(-3, .*\) GeV at sqrt\(s\) = 500 GeV")


def test_energies_are_finite_and_positive() -> None:
    p = events(ZGG, 6, 500.0)
    p[2, 1] *= -1
    refused(p, r"Row 2: particle 1 has the momentum \[-250.0, .*\], which no particle has")
    p[1, 0, 2] = np.nan
    refused(p, r"Row 1: particle 0 .* finite numbers")


def test_seven_digits_are_enough() -> None:
    for process in PROCESSES.values():
        p = events(process, 50, 1000.0)
        check_momenta(p.astype(np.float32).astype(np.float64), process.particles)


def test_no_events_have_no_amplitudes() -> None:
    assert squared_amplitude(ZGG, np.zeros((0, 5, 4))).shape == (0,)
