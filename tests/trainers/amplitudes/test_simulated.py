"""Events that cells share: made once, the same whatever is asked for, and no event in two streams."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.trainers.jets.stream import Silent
from trainers.amplitudes import simulated as module
from trainers.amplitudes.events import check_events
from trainers.amplitudes.flat import make_events
from trainers.amplitudes.processes import find_process, squared_amplitude
from trainers.amplitudes.simulated import STREAMS, simulated
from trainers.cell import Stopped


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST", 50)
    monkeypatch.setattr(module, "CHUNK", 100)


def test_the_first_events_are_the_same_however_many_are_asked_for(tmp_path: Path) -> None:
    few, many = (simulated(tmp_path / str(n), "Zg", 0, "train", n, Silent(tmp_path)) for n in (30, 330))
    np.testing.assert_array_equal(few.momenta, many.momenta[:30])
    assert (len(few), len(many)) == (30, 330)
    assert sorted(path.name for path in (tmp_path / "330").rglob("*.npz")) == [f"{i:05d}.npz" for i in range(4)]
    check_events(many)
    np.testing.assert_allclose(many.amplitude, squared_amplitude(find_process("Zg"), many.momenta))


def test_streams_and_chunks_share_nothing(tmp_path: Path) -> None:
    found = [simulated(tmp_path, "Zg", 0, name, 200, Silent(tmp_path)).amplitude for name in STREAMS]
    assert len(np.unique(np.concatenate(found))) == 600


def test_events_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = simulated(tmp_path, "ttH", 1000, "test", 120, Silent(tmp_path))
    monkeypatch.setattr(module, "make_events", None)
    again = simulated(tmp_path, "ttH", 1000, "test", 120, Silent(tmp_path))
    np.testing.assert_array_equal(first.momenta, again.momenta)


def test_a_cell_that_must_end_makes_no_more(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        simulated(tmp_path, "Zg", 0, "train", 120, Silent(tmp_path, stopping=True))
    assert not list(tmp_path.rglob("*.npz"))


@pytest.mark.parametrize(("process", "sqrt_s"), [("Zgg", 0.0), ("WZg", 800.0)])
def test_flat_events_are_events_inside_the_cuts(process: str, sqrt_s: float) -> None:
    found = make_events(process, 300, (1, 2), sqrt_s)
    check_events(found)
    assert len(found) == 300
    gluons = found.momenta[:, list(find_process(process).gluons)]
    assert np.hypot(gluons[..., 1], gluons[..., 2]).min() > 30
    energy = 2 * found.momenta[:, 0, 0]
    assert np.ptp(energy) > 500 if not sqrt_s else np.allclose(energy, 800)
    assert not np.array_equal(make_events(process, 300, (1, 3), sqrt_s).amplitude, found.amplitude)
