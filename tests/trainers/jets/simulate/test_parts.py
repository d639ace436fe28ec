"""Tests of the parts of a simulation: jets are divided into parts, and each part is simulated exactly once."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from uproot.writing.writable import WritableTree

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.store.files import DiskFull
from isoplan.trainers.backend.store.heartbeat import hold_lock
from isoplan.trainers.cell import Stopped
from isoplan.trainers.jets.features import NAMES
from isoplan.trainers.jets.simulate import parts
from isoplan.trainers.jets.simulate.parts import (
    CHUNK,
    Chunk,
    Request,
    Shared,
    _work,
    make_part,
    make_parts,
    shuffled,
    simulate,
    write_jets,
)
from tests import progress

CHUNKS = [Chunk(kind, 1, i, 10) for i in range(3) for kind in ("QCD", "Hbb")]


@given(st.lists(st.sampled_from(NAMES), min_size=1, unique=True), st.integers(0, 30_000), st.integers(0, 5))
def test_every_class_has_its_share(kinds: list[str], more: int, seed: int) -> None:
    request = Request(tuple(kinds), len(kinds) + more, seed)
    chunks = request.chunks()
    of = {kind: [c for c in chunks if c.kind == kind] for kind in kinds}
    totals = [sum(c.jets for c in mine) for mine in of.values()]
    assert sum(totals) == request.n
    assert max(totals) - min(totals) <= 1
    assert len({c.name for c in chunks}) == len(chunks)
    for mine in of.values():
        assert [c.index for c in mine] == list(range(len(mine)))
        assert all(c.jets == CHUNK for c in mine[:-1])
        assert 1 <= mine[-1].jets <= CHUNK
    # The complete parts of a request are also parts of a larger request with the same seed.
    larger = {c.name for c in Request(tuple(kinds), request.n + 5 * CHUNK * len(kinds), seed).chunks()}
    assert {c.name for c in chunks if c.jets == CHUNK} <= larger


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace the simulation of parts by a fast function, and return the list of the parts that the function makes."""
    names: list[str] = []

    def make(folder: Path, chunk: Chunk, stop: Callable[[], bool], said: Callable[[int], None]) -> None:
        if stop():
            raise Stopped
        time.sleep(0.01)
        names.append(chunk.name)
        (folder / chunk.name).touch()

    monkeypatch.setattr(parts, "make_part", make)
    monkeypatch.setattr(parts, "LOOK", 0.01)
    return names


def test_many_make_each_part_once(made: list[str], tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: make_parts(tmp_path, CHUNKS), range(4)))
    assert sorted(made) == sorted(chunk.name for chunk in CHUNKS)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(made)  # no lock files remain


def test_a_part_that_another_makes_is_waited_for_and_taken_over(made: list[str], tmp_path: Path) -> None:
    lock = tmp_path / f".{CHUNKS[0].name}.lock"
    left = tmp_path / f".tmp-abc-{CHUNKS[0].name}"
    left.touch()  # a temporary file of a killed process
    with ThreadPoolExecutor(1) as pool:
        with hold_lock(lock) as mine:
            assert mine
            work = pool.submit(make_parts, tmp_path, CHUNKS)
            progress.wait(lambda: len(made) == len(CHUNKS) - 1, tmp_path, pause=0.01)
            time.sleep(0.05)
            assert not work.done()
            assert CHUNKS[0].name not in made
        work.result()
    assert made[-1] == CHUNKS[0].name
    assert not left.exists()


def test_stopped_while_waiting(made: list[str], tmp_path: Path) -> None:
    with hold_lock(tmp_path / f".{CHUNKS[0].name}.lock"), pytest.raises(Stopped):
        make_parts(tmp_path, CHUNKS[:1], stop=lambda: True)
    assert made == []


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(WritableTree, "extend", full)
    with pytest.raises(DiskFull, match=r"The disk of .* is full: free some space and try again\."):
        make_part(tmp_path, Chunk("Wqq", 1, 0, 0), lambda: False, lambda jets: None)
    assert list(tmp_path.iterdir()) == []


def _shared() -> Shared:
    context = multiprocessing.get_context("spawn")
    return Shared(context.Array("q", 1), context.Event(), context.SimpleQueue())


def test_a_process_says_what_went_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_jets(*_: object) -> None:
        raise PlannerError("The class Hbb gave no jet.")

    monkeypatch.setattr(parts, "make_parts", no_jets)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    shared = _shared()
    with pytest.raises(SystemExit):
        _work(0, tmp_path, CHUNKS, shared)
    assert shared.faults.get() == "The class Hbb gave no jet."


class Fake:
    """A process that reports ``fault`` to its parent and then ends with ``code``."""

    code, fault, pid = 0, "", 1

    def __init__(self, target: object, args: tuple[int, Path, list[Chunk], Shared]) -> None:
        self.shared = args[3]
        self.exitcode: int | None = None

    def start(self) -> None:
        if self.fault:
            self.shared.faults.put(self.fault)
        self.exitcode = self.code

    def is_alive(self) -> bool:
        return False

    def join(self) -> None:
        assert self.shared.stop.is_set()


@pytest.mark.parametrize(
    ("code", "fault", "said"),
    [
        (1, "The class Hbb gave no jet.", r"The class Hbb gave no jet\."),
        (
            -9,
            "",
            r"ended with code -9, perhaps because memory was too small: run the same command again, with fewer "
            r"--cores\.",
        ),
    ],
)
def test_the_first_process_says_it(
    code: int, fault: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        multiprocessing.get_context("spawn"), "Process", type("Mine", (Fake,), {"code": code, "fault": fault})
    )
    with pytest.raises(PlannerError, match=said):
        simulate(Request(("Hbb",), 10, 0), tmp_path / "jets.root", 2)
    assert os.listdir(tmp_path) == ["jets.root.parts"]


def test_files_are_mixed_and_no_jet_is_lost(tmp_path: Path) -> None:
    groups = []
    for group in range(2):
        paths = [tmp_path / f"{group}{kind}.root" for kind in "ab"]
        for i, path in enumerate(paths):
            number = np.arange(50, dtype=np.float32) + 100 * group + 50 * i
            write_jets(path, [ak.Array({"jet_pt": number, "part_px": ak.unflatten(np.repeat(number, 2), 2)})])
        groups.append(paths)
    mixed = ak.concatenate(list(shuffled(groups, 4)))
    assert sorted(mixed.jet_pt.to_list()) == list(range(200))
    assert (mixed.part_px.to_numpy() == mixed.jet_pt.to_numpy()[:, None]).all()
    assert sorted(mixed.jet_pt[:100].to_list()) == list(range(100))
    assert 15 < np.sum(mixed.jet_pt[:50] < 50) < 35
    again = ak.concatenate(list(shuffled(groups, 4)))
    assert again.jet_pt.to_list() == mixed.jet_pt.to_list()
    assert ak.concatenate(list(shuffled(groups, 5))).jet_pt.to_list() != mixed.jet_pt.to_list()
