"""Invariants of events: the pairs of particles, equal values in all frames, and invariants without a logarithm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.processes import PROCESSES
from isoplan.trainers.amplitudes.source import fixed_energy, make_toy_events
from isoplan.trainers.amplitudes.surrogate import preprocessing
from isoplan.trainers.amplitudes.surrogate.preprocessing import freedoms, inputs, log_invariants, pairs, unfit_momenta
from tests.trainers.amplitudes.kinematics import boost_matrix, product

MOMENTA = make_toy_events("ttH", 50, 1).momenta


@pytest.mark.parametrize("name", ["Zg", "WZ", "Zgg", "ttH", "WWZ", "WZgg"])
@pytest.mark.parametrize("sqrt_s", [0.0, 1000.0])
def test_all_pairs_but_those_that_do_not_change(name: str, sqrt_s: float) -> None:
    momenta = make_toy_events(name, 400, 2, sqrt_s).momenta
    count, every = momenta.shape[1], pairs(momenta.shape[1], True)
    assert len(every) == count * (count - 1) / 2 == inputs(count, True)
    z = log_invariants(momenta, every)
    change = [pair for pair, spread in zip(every, np.ptp(z, axis=0), strict=True) if spread > 1e-9]
    assert tuple(change) == pairs(count, not sqrt_s)
    assert len(change) == inputs(count, not sqrt_s)
    assert fixed_energy(momenta) == bool(sqrt_s)


def test_degrees_of_freedom_of_the_paper() -> None:
    for varying, least in ((True, 2), (False, 1)):
        counts = {name: freedoms(len(process.particles), varying) for name, process in PROCESSES.items()}
        found = [counts[name] for name in ("Zg", "ttH", "WZgg", "Zgggg")]
        assert found == [least, least + 3, least + 6, least + 9]


@settings(max_examples=25, deadline=None)
@given(
    velocity=st.tuples(*[st.floats(-0.55, 0.55)] * 3),
    axes=st.permutations((1, 2, 3)),
    signs=st.tuples(*[st.sampled_from((-1.0, 1.0))] * 3),
)
def test_no_frame_changes_them(velocity: tuple[float, ...], axes: list[int], signs: tuple[float, ...]) -> None:
    seen = MOMENTA[..., [0, *axes]] * np.array([1.0, *signs]) @ boost_matrix(np.array(velocity)).T
    chosen = pairs(5, True)
    np.testing.assert_allclose(log_invariants(seen, chosen), log_invariants(MOMENTA, chosen), atol=1e-8)


def test_they_are_logarithms_of_products() -> None:
    found = log_invariants(MOMENTA, ((0, 3), (2, 4)))
    np.testing.assert_allclose(np.exp(found[:, 0]), product(MOMENTA[:, 0], MOMENTA[:, 3]))
    np.testing.assert_allclose(np.exp(found[:, 1]), product(MOMENTA[:, 2], MOMENTA[:, 4]))


def test_collinear_particles_have_no_logarithm() -> None:
    momenta = np.tile([[[5.0, 0, 0, 5], [5, 0, 0, -5], [5, 3, 0, 4], [5, -3, 0, -4]]], (3, 1, 1))
    momenta[2, 2] = [5, 0, 0, 5]
    with pytest.raises(
        PlannerError,
        match=r"Row 2 \(counted from 0\): p_i \. p_j of particles 0 and 2 is 0 GeV\^2 and has no logarithm",
    ):
        log_invariants(momenta, pairs(4, True))


def test_the_row_is_that_of_all_events_however_they_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    momenta, chosen = MOMENTA.copy(), pairs(5, True)
    momenta[37, 2] = momenta[41, 2] = [5, 0, 0, 5]
    said = "Row 37 (counted from 0): p_i . p_j of particles 0 and 2 is 0 GeV^2 and has no logarithm: "
    for at_once in (1, 35, 10**6):
        monkeypatch.setattr(preprocessing, "AT_ONCE", at_once)
        assert unfit_momenta(momenta, chosen) == f"{said}leave out events with collinear or soft particles."
        assert unfit_momenta(MOMENTA, chosen) == ""
