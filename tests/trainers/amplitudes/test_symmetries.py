"""Invariance of amplitudes: gauge of a gluon, frame, order of identical gluons."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from isoplan.trainers.amplitudes.processes import PROCESSES, squared_amplitude
from isoplan.trainers.amplitudes.processes.algebra import light_cone
from isoplan.trainers.amplitudes.processes.evaluate import CHIRALITIES, amplitudes, waves
from tests.trainers.amplitudes.kinematics import apart, boost_matrix, events

WITH_GLUONS = [name for name in PROCESSES if "g" in name]


@pytest.mark.parametrize("name", WITH_GLUONS)
def test_a_gluon_polarised_along_its_momentum_gives_nothing(name: str) -> None:
    process, count = PROCESSES[name], 4
    p = apart(process, count, 1000.0, cut=0.005)
    for chirality in CHIRALITIES:
        external = waves(process, p, chirality)
        found = amplitudes(process, p, external)
        if found is None:
            assert (name[0], chirality) == ("W", "right")
            continue
        largest = np.abs(found).reshape(-1, count).max(axis=0)
        for gluon in process.gluons:
            along = light_cone(p[:, gluon] / p[:, gluon, :1]).reshape(4, *(1,) * len(process.fields), count)
            replaced = amplitudes(process, p, [*external[:gluon], along, *external[gluon + 1 :]])
            assert replaced is not None
            assert np.all(np.abs(replaced).reshape(-1, count).max(axis=0) < 1e-9 * largest)


@pytest.mark.parametrize("name", [name for name in PROCESSES if name != "Zgggg"])
@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    velocity=st.tuples(*[st.floats(-0.55, 0.55)] * 3),
    turn=st.tuples(*[st.floats(-3, 3)] * 3),
)
def test_every_frame_gives_the_same(
    name: str, seed: int, velocity: tuple[float, float, float], turn: tuple[float, float, float]
) -> None:
    p = apart(PROCESSES[name], 3, 1200.0, seed, cut=0.002)
    lorentz = boost_matrix(np.array(velocity))
    lorentz[:, 1:] = lorentz[:, 1:] @ Rotation.from_rotvec(turn).as_matrix()
    moved = p @ lorentz.T
    np.testing.assert_allclose(
        squared_amplitude(PROCESSES[name], moved), squared_amplitude(PROCESSES[name], p), rtol=1e-8
    )


@pytest.mark.parametrize("name", [name for name in WITH_GLUONS if name.count("g") > 1])
def test_gluons_may_be_exchanged(name: str) -> None:
    process = PROCESSES[name]
    p = events(process, 5, 1000.0)
    expected = squared_amplitude(process, p)
    for shift in range(1, len(process.gluons)):
        moved = p.copy()
        moved[:, process.gluons] = np.roll(p[:, process.gluons], shift, axis=1)
        np.testing.assert_allclose(squared_amplitude(process, moved), expected, rtol=1e-9)


@pytest.mark.parametrize("name", list(PROCESSES))
def test_the_quark_may_come_from_either_side(name: str) -> None:
    """A quark in the direction +z or -z gives equal amplitudes, although polar angles are not smooth there."""
    process = PROCESSES[name]
    p = events(process, 3, 1000.0)
    turned = p @ np.diag([1.0, 1.0, -1.0, -1.0])
    np.testing.assert_allclose(squared_amplitude(process, turned), squared_amplitude(process, p), rtol=1e-9)
