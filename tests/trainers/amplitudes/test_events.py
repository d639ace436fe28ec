"""Checks of a set of events: consistent shapes, possible values, and one sentence per violation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.events import Events, check_events
from isoplan.trainers.amplitudes.processes import PROCESSES, squared_amplitude
from isoplan.trainers.amplitudes.source import fixed_energy
from tests.trainers.amplitudes.kinematics import boost_matrix, events, to_frame

ZGG = PROCESSES["Zgg"]


def some(count: int = 6) -> Events:
    momenta = events(ZGG, count, 500.0)
    return Events(momenta, squared_amplitude(ZGG, momenta), np.ones(count), "Zgg")


def refused(words: str, **changed: object) -> None:
    with pytest.raises(PlannerError, match=words) as caught:
        check_events(replace(some(), **changed))  # type: ignore[arg-type]
    assert str(caught.value).count(". ") == 0


def test_good_events_pass_with_a_name_and_without() -> None:
    check_events(some())
    check_events(replace(some(), process=""))
    assert len(some()[2:5]) == 3
    np.testing.assert_array_equal(some()[np.array([4, 1])].amplitude, some().amplitude[[4, 1]])


def test_shapes_that_do_not_fit() -> None:
    good = some().momenta
    refused(r"shape \(6, 5, 3\): give an array \(events, particles, 4\)", momenta=good[:, :, :3])
    refused(r"shape \(6, 3, 4\): .* at least two outgoing particles", momenta=good[:, :3], process="")
    refused(
        r"4 particles, but Zgg \(u ubar -> Z \+ 2 g\) has 5, including the two incoming particles", momenta=good[:, :4]
    )
    refused(r"amplitude has the shape \(5,\) and the momenta contain 6 events", amplitude=np.ones(5))
    refused(r"weight has the shape \(6, 1\) and", weight=np.ones((6, 1)))


def test_an_unknown_process() -> None:
    refused(r"no built-in process 'ggyy': use Zg, .*WWZ, or an empty name for a process of your own", process="ggyy")


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_weights_are_positive_and_amplitudes_finite(value: float) -> None:
    bad = np.ones(6)
    bad[4] = value
    refused(
        rf"Row 4 \(counted from 0\) has the weight {value:g}, which is not above zero: remove such events",
        weight=bad,
    )
    if np.isfinite(value):  # accepted here, although some targets refuse it later
        check_events(replace(some(), amplitude=bad))
        return
    refused(
        rf"Row 4 \(counted from 0\) has the amplitude {value:g}, which is not a finite number: remove such rows",
        amplitude=bad,
    )
    bad[2] = value
    refused(r"Row 2 \(counted from 0; 2 rows in all\) has the amplitude", amplitude=bad)


def test_momenta_of_ones_own_process() -> None:
    momenta = some().momenta.copy()
    momenta[3, 4, 0] *= 0.5
    refused(r"Row 3 \(counted from 0\): particle 4 \(g\) is off shell", momenta=momenta)
    refused(
        r"Row 3 \(counted from 0\): particle 4 is faster than light, its E\^2 - p\^2 is -\d",
        momenta=momenta,
        process="",
    )
    momenta = some().momenta.copy()
    momenta[3, 4] *= 2
    refused(r"Row 3 \(counted from 0\) does not conserve momentum", momenta=momenta, process="")


def test_momenta_say_whether_sqrt_s_varies() -> None:
    """A fixed sqrt(s) is recognised in events with different boosts and in single precision."""
    rng = np.random.default_rng(1)
    for process in (PROCESSES["Zg"], PROCESSES["Zggg"]):
        fixed = events(process, 50, 800.0)
        boosted = np.stack(
            [
                to_frame(p, boost_matrix(np.array([0, 0, v]))[0])
                for p, v in zip(fixed, rng.uniform(-0.9, 0.9, 50), strict=True)
            ]
        )
        for momenta in (fixed, boosted, boosted.astype(np.float32).astype(np.float64)):
            assert fixed_energy(momenta)
        varied = np.concatenate([events(process, 25, energy) for energy in (800.0, 801.0)])
        assert not fixed_energy(varied)
