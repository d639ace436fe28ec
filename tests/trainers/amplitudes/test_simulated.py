"""Simulated events that training runs share: they are simulated once, and no event is in two streams.

The first events do not depend on the requested number of events.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoplan.trainers.amplitudes import simulate
from isoplan.trainers.amplitudes.events import check_events
from isoplan.trainers.amplitudes.phase_space import sampler as adapting
from isoplan.trainers.amplitudes.processes import find_process, squared_amplitude
from isoplan.trainers.amplitudes.simulate import STREAMS, load_or_simulate
from isoplan.trainers.amplitudes.source import fixed_energy
from isoplan.trainers.cell import Stopped
from tests.trainers.jets.stream import Silent


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vegas")
    monkeypatch.setattr(simulate, "FIRST", 50)
    monkeypatch.setattr(simulate, "CHUNK", 100)
    monkeypatch.setattr(adapting, "POINTS", 2000)


def test_the_first_events_are_the_same_however_many_are_asked_for(tmp_path: Path) -> None:
    few, many = (load_or_simulate(tmp_path / str(n), "Zg", 0, "train", n, Silent(tmp_path)) for n in (30, 330))
    np.testing.assert_array_equal(few.momenta, many.momenta[:30])
    assert (len(few), len(many)) == (30, 330)
    made = sorted(path.name for path in (tmp_path / "330").rglob("*.npz"))
    assert made == [*(f"{i:05d}.npz" for i in range(4)), "ready.npz"]
    check_events(many)
    np.testing.assert_allclose(many.amplitude, squared_amplitude(find_process("Zg"), many.momenta))
    assert not fixed_energy(many.momenta)


def test_streams_and_chunks_share_nothing(tmp_path: Path) -> None:
    found = [load_or_simulate(tmp_path, "Zg", 500, name, 200, Silent(tmp_path)) for name in STREAMS]
    assert len(np.unique(np.concatenate([events.amplitude for events in found]))) == 600
    assert fixed_energy(np.concatenate([events.momenta for events in found]))


def test_events_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_or_simulate(tmp_path, "Zg", 0, "test", 120, Silent(tmp_path))
    monkeypatch.setattr(simulate, "simulate", None)
    monkeypatch.setattr(simulate, "adapt", None)
    again = load_or_simulate(tmp_path, "Zg", 0, "test", 120, Silent(tmp_path))
    np.testing.assert_array_equal(first.momenta, again.momenta)


def test_a_cell_that_must_end_makes_no_more(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        load_or_simulate(tmp_path, "Zg", 0, "train", 120, Silent(tmp_path, stopping=True))
    assert not list(tmp_path.rglob("*.npz"))
