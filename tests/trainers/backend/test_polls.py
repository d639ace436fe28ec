"""Single polls of a runner without workers: stop requests, ends of attempts, and the wait for a failed cluster."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.cluster.machine import Machine, Place
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import hold, launch, put_first
from isoplan.trainers.backend.runner import loop
from isoplan.trainers.backend.runner.runner_process import RunnerStatus, runner_status
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.heartbeat import LOCK, STATUS, hold_lock
from isoplan.trainers.backend.store.record import CELLS, LEASE, STOP, beat_of, result_of
from isoplan.trainers.cell import Resources
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import make_grid
from tests.trainers.conftest import add


@dataclass
class Future:
    """A Dask task that has ended with ``error``, or without an error; it records whether it was cancelled."""

    error: Exception | None = None
    cancelled: bool = False

    def done(self) -> bool:
        return False

    def add_done_callback(self, callback: object) -> None:
        """Accept a callback that is never called."""

    @property
    def status(self) -> str:
        return "error" if self.error else "finished"

    def exception(self) -> Exception | None:
        return self.error

    def cancel(self) -> None:
        self.cancelled = True


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the list of the tasks whose workers the runner restarts."""
    found: list[Any] = []
    monkeypatch.setattr(loop, "end_worker", lambda pool, future: found.append(future))
    return found


def given(root: Path, begun: bool = True, **cell: Any) -> tuple[loop.RunnerState, str, loop.ActiveAttempt]:
    """Return a runner with one attempt of one cell, the name of the cell, and the attempt."""
    (name,) = add(root, cell)
    shift = loop.RunnerState(Queue(root), "test")
    attempt = loop.ActiveAttempt(shift.queue.lease(name, "test"), Future(), Place(Resources(), "cpu"))
    shift.given[name] = attempt
    if begun:
        beat_of(shift.queue.folder(name), attempt.number).write_text("far 7 1\n")
    return shift, name, attempt


def poll(shift: loop.RunnerState, name: str) -> dict[str, Any] | None:
    """Let the runner handle the attempt once, and return the stop request that is then in the folder of the cell."""
    loop._stopping(shift, None, shift.queue.find(name))  # type: ignore[arg-type]
    return files.read_json(shift.queue.folder(name) / STOP)


def test_a_cell_of_a_held_sweep_is_asked_to_stop_once(root: Path, ended: list[Any]) -> None:
    shift, name, attempt = given(root)
    assert poll(shift, name) == {"number": 1, "why": "hold"}
    assert attempt.asked is not None
    (shift.queue.folder(name) / STOP).unlink()
    assert poll(shift, name) is None
    assert (ended, list(shift.given)) == ([], [name])


def test_a_cancelled_cell_keeps_the_reason_of_its_stop(root: Path, ended: list[Any]) -> None:
    shift, name, _ = given(root)
    shift.queue.cancel([name])
    assert poll(shift, name) == {"number": 1, "why": "cancel"}
    assert ended == []


def test_an_attempt_that_has_not_begun_is_withdrawn(root: Path, ended: list[Any]) -> None:
    shift, name, attempt = given(root, begun=False)
    poll(shift, name)
    assert (shift.given, attempt.future.cancelled, ended) == ({}, True, [])
    record = shift.queue.find(name)
    assert (record.state, record.deaths) == ("queued", 0)
    assert record.result == {"number": 1, "state": "stopped", "metrics": {}, "why": "not begun"}


def test_the_worker_of_an_attempt_that_does_not_stop_is_restarted(root: Path, ended: list[Any]) -> None:
    shift, name, attempt = given(root)
    attempt.asked = time.monotonic() - loop.ANSWER + 3
    poll(shift, name)
    assert ended == []
    attempt.asked -= 6
    poll(shift, name)
    poll(shift, name)
    assert ended == [attempt.future]


@pytest.mark.parametrize(
    ("error", "state", "deaths"),
    [(None, "queued", 1), (RuntimeError(), "queued", 1), (files.DiskFull("full"), "queued", 0)],
)
def test_an_attempt_that_ends_without_a_result_has_died(
    root: Path, monkeypatch: pytest.MonkeyPatch, error: Exception | None, state: str, deaths: int
) -> None:
    """A full disk is not caused by the cell, so an attempt that ends with a full disk does not count as a death."""
    monkeypatch.setattr(loop, "collect_result", lambda *_: None)
    shift, name, attempt = given(root)
    attempt.future.error = error
    loop._ended(shift, None, name, attempt)  # type: ignore[arg-type]
    record = shift.queue.find(name)
    assert (record.state, record.deaths, shift.given) == (state, deaths, {})
    assert record.result is not None
    assert (record.result["state"], record.result["why"]) == ("died", "its process died")


def test_the_result_of_an_attempt_is_kept_and_one_that_never_began_is_no_death(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "collect_result", lambda *_: None)
    shift, name, attempt = given(root)
    result = {"number": 1, "state": "done", "metrics": {"loss": 1.0}, "seconds": 2.0}
    files.write_json(result_of(shift.queue.folder(name), 1), result)
    loop._ended(shift, None, name, attempt)  # type: ignore[arg-type]
    assert shift.queue.find(name).result == result
    shift, name, attempt = given(root, begun=False, size=3)
    loop._ended(shift, None, name, attempt)  # type: ignore[arg-type]
    record = shift.queue.find(name)
    assert (record.state, record.deaths) == ("queued", 0)
    assert record.result == {"number": 1, "state": "stopped", "metrics": {}, "why": "not begun"}


def test_an_attempt_of_an_earlier_runner_is_lost_if_it_is_silent_or_cannot_report(root: Path) -> None:
    shift, name, _ = given(root)
    loop._orphan(shift, shift.queue.find(name))
    assert shift.queue.find(name).state == "running"
    shift.beats.seen[name, 1] = (beat_of(shift.queue.folder(name), 1).read_bytes(), -1e9)
    loop._orphan(shift, shift.queue.find(name))
    record = shift.queue.find(name)
    assert (record.state, record.deaths) == ("queued", 0)
    assert record.result is not None
    assert (record.result["state"], record.result["why"]) == ("died", "its runner was gone")
    shift.queue.lease(name, "test", away=True)
    beat_of(shift.queue.folder(name), 2).write_text("far 8 1\n")
    loop._orphan(shift, shift.queue.find(name))
    assert shift.queue.find(name).state == "queued"
    shift.queue.lease(name, "test")
    loop._orphan(shift, shift.queue.find(name))
    record = shift.queue.find(name)
    assert record.result is not None
    assert (record.result["state"], record.result["why"]) == ("stopped", "not begun")


def test_a_runner_without_a_cluster_waits_only_for_cells_that_can_run(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an idle time below 0, the runner ends at once if there is no cell to run."""
    monkeypatch.setattr(loop, "LOOK", 0.0)
    shift, ending, family = loop.RunnerState(Queue(root), "test"), threading.Event(), find_family("counter", root)
    assert loop._waited(shift, 100.0, -1.0, ending) is False
    sweep = launch(root, make_grid(family, {"size": [1, 2]}), family)
    assert loop._waited(shift, 0.05, -1.0, ending) is True
    hold(root, sweep.key)
    assert loop._waited(shift, 100.0, -1.0, ending) is False
    hold(root, sweep.key, held=False)
    shift.queue.cancel(sweep.cells[:1])
    shift.queue.hold(sweep.cells[1:])
    assert loop._waited(shift, 100.0, -1.0, ending) is False
    ending.set()
    assert loop._waited(shift, 100.0, 100.0, ending) is False


def pool_of(monkeypatch: pytest.MonkeyPatch, cores: int) -> Any:
    """Return a pool of ``cores`` workers that never report anything."""
    monkeypatch.setattr(loop, "collect_result", lambda *_: None)
    monkeypatch.setattr(loop, "poll_workers", lambda *_: [])
    monkeypatch.setattr(loop, "give", lambda *_: Future())
    return SimpleNamespace(refresh_workers=lambda pool: "a note", machine=Machine(cores, 0.0), shared=True)


def test_cells_start_by_priority_and_then_by_age_and_two_per_core(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    family, shift = find_family("counter", root), loop.RunnerState(Queue(root), "test")
    assert loop.poll_once(shift, pool_of(monkeypatch, 1)) is False
    held, first, urgent = (launch(root, make_grid(family, {"size": [n, n + 1]}), family) for n in (1, 3, 5))
    hold(root, held.key)
    put_first(root, urgent.key, 2)
    assert loop.poll_once(shift, pool_of(monkeypatch, 0)) is True
    assert (shift.given, shift.message) == ({}, "a note")
    assert loop.poll_once(shift, pool_of(monkeypatch, 1)) is True
    assert set(shift.given) == set(urgent.cells)
    lease = json.loads((shift.queue.folder(urgent.cells[0]) / LEASE).read_text())
    assert {"number": 1, "runner": "test", "device": "cpu", "away": False}.items() <= lease.items()
    assert loop.poll_once(shift, pool_of(monkeypatch, 2)) is True
    assert set(shift.given) == {*urgent.cells, *first.cells}
    assert {name for name, r in shift.queue.scan().items() if r.state == "queued"} == set(held.cells)


def test_a_cell_that_died_three_times_and_one_that_cannot_be_read_fail(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shift, name, _ = given(root)
    for _ in range(3):
        shift.queue.lose(name, shift.queue.find(name).number, "its process died", own=True)
        assert shift.queue.find(name).state == "queued"
        shift.queue.lease(name, "test")
    shift.queue.end(name, 4, "stopped", "not begun")
    shift.given.clear()
    (other,) = add(root, {"size": 7})
    monkeypatch.setattr(loop, "read_cell", lambda *_: (_ for _ in ()).throw(PlannerError("Bad field.")))
    assert loop.poll_once(shift, pool_of(monkeypatch, 1)) is True
    assert loop.poll_once(shift, pool_of(monkeypatch, 1)) is False
    found = {key: (r.state, (r.result or {})["why"]) for key, r in shift.queue.scan().items()}
    assert found[name] == ("failed", "The process of this cell died 3 times: read its log.")
    assert found[other] == ("failed", "Bad field.")


def test_nothing_starts_on_a_full_disk(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shift, names = loop.RunnerState(Queue(root), "test"), add(root, {})
    monkeypatch.setattr(files, "free", lambda _: files.LEAST_DISK - 1)
    assert loop.poll_once(shift, pool_of(monkeypatch, 1)) is True
    assert shift.message == f"The disk of {root} is full: free some space, and the cells continue."
    assert shift.given == {}
    monkeypatch.setattr(files, "free", lambda _: files.LEAST_DISK)
    loop.poll_once(shift, pool_of(monkeypatch, 1))
    assert list(shift.given) == names


def test_the_status_of_a_runner_is_that_of_its_file_while_it_holds_the_lock(root: Path) -> None:
    shift, _, _ = given(root)
    loop._say(root, "at work", shift)
    assert runner_status(root) == RunnerStatus(False)
    with hold_lock(root / CELLS / LOCK) as alone:
        assert alone
        assert runner_status(root) == RunnerStatus(True, "at work", "", 1, os.getpid(), socket.gethostname())
        (root / CELLS / STATUS).unlink()
        assert runner_status(root) == RunnerStatus(True, "starting")
