"""Single polls of a runner without workers: stop requests, ends of attempts, and the wait for a failed cluster."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from isoplan.trainers.backend.cluster.machine import Place
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import hold, launch
from isoplan.trainers.backend.runner import loop
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.record import STOP, beat_of, result_of
from isoplan.trainers.cell import Resources
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import make_grid
from tests.trainers.conftest import add


@dataclass
class Future:
    """A Dask task that has ended with ``error``, or without an error; it records whether it was cancelled."""

    error: Exception | None = None
    cancelled: bool = False

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
    """A full disk is no fault of the cell."""
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
