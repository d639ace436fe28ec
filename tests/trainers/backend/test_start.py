"""Start of a runner by a process that needs a runner. The runner outlives this process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.queue import sweep as sweeps
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import launch
from isoplan.trainers.backend.runner import runner_process as starting
from isoplan.trainers.backend.runner.runner_process import LOG, RunnerStatus, ensure_runner, last_words, runner_status
from isoplan.trainers.backend.store.heartbeat import LOCK, hold_lock, is_held
from isoplan.trainers.backend.store.record import CELLS
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import make_grid
from tests import progress
from tests.trainers.conftest import ROOT, add, start, wait_for


@pytest.fixture(autouse=True)
def _ended(root: Path) -> Iterator[None]:
    """Terminate the runner that a test has started."""
    yield
    status = runner_status(root)
    if status.alive and status.pid:
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(status.pid)
            process.send_signal(signal.SIGTERM)
            progress.wait(lambda: not progress.lives(process), root)


def test_a_runner_is_started_where_cells_wait_and_only_once(root: Path) -> None:
    assert not ensure_runner(root)
    assert runner_status(root) == RunnerStatus(False)
    (name,) = add(root, {"steps": 100, "wait": 0.05})
    assert ensure_runner(root)
    assert not ensure_runner(root)
    wait_for(lambda cells: runner_status(root).given == 1, root)
    status = runner_status(root)
    assert (status.alive, status.message) == (True, "at work")
    assert os.getsid(status.pid) == status.pid
    assert os.path.realpath(f"/proc/{status.pid}/cwd") == str(root.resolve())
    wait_for(lambda cells: cells[name].state == "done", root)


def test_it_outlives_the_process_that_started_it(root: Path) -> None:
    (name,) = add(root, {"steps": 40, "wait": 0.05})
    code = f"import pathlib; root = pathlib.Path({str(root)!r}); "
    code += "from isoplan.trainers.backend.runner import runner_process; runner_process.ensure_runner(root)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, start_new_session=True)
    wait_for(lambda cells: cells[name].state == "done", root)


def test_no_runner_is_started_for_cells_that_wait_for_people(root: Path) -> None:
    counter = find_family("counter", root)
    sweep = launch(root, make_grid(counter, {"size": [1, 2]}), counter)
    sweeps.hold(root, sweep.key)
    assert not ensure_runner(root)
    sweeps.cancel(root, sweep.key)
    assert not ensure_runner(root)


def test_a_module_of_the_users_shadows_nothing(root: Path) -> None:
    (root / "dask.py").write_text("raise SystemExit('shadowed')")
    for name in ("isoplan", "trainers"):
        (root / name).mkdir()
        (root / name / "__init__.py").write_text("raise SystemExit('shadowed')")
    (name,) = add(root, {"steps": 2})
    assert ensure_runner(root)
    wait_for(lambda cells: cells[name].state == "done", root)


def test_those_who_look_whether_a_runner_lives_keep_none_from_starting(root: Path) -> None:
    add(root, {"steps": 2})
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            is_held(root / CELLS / LOCK)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        process = start(root)
        assert progress.end(process, root) == 0
    finally:
        over.set()
        looking.join()
    assert [record.state for record in Queue(root).scan().values()] == ["done"]


def test_a_lock_is_waited_for_as_long_as_asked(tmp_path: Path) -> None:
    place = tmp_path / "lock"
    with hold_lock(place) as first:
        began = time.monotonic()
        with hold_lock(place, 0.3) as second:
            assert (first, second) == (True, False)
        assert time.monotonic() - began >= 0.3
    with hold_lock(place, 0.3) as third:
        assert third


def test_a_runner_that_ends_at_once_says_why(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(root, {"steps": 2})
    (root / "logs").mkdir()
    (root / LOG).write_bytes(b"x" * 6_000_000)
    monkeypatch.setattr(starting, "PATIENCE", 20.0)
    monkeypatch.setattr(sys, "executable", "/bin/sh")
    with pytest.raises(PlannerError, match=r"The runner ended at once \(.+\): .*logs/runner.log"):
        ensure_runner(root)
    assert (root / "logs" / "runner.log.1").stat().st_size == 6_000_000
    assert (root / LOG).stat().st_size < 1000
    assert last_words(root)


def test_without_what_runs_cells_it_says_how_to_install_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(root, {"steps": 2})
    monkeypatch.setattr(starting, "find_spec", lambda name: None)
    with pytest.raises(PlannerError, match=r"install them with pip install 'isoplan\[cluster\]'"):
        ensure_runner(root)


def test_a_log_without_words(tmp_path: Path) -> None:
    assert last_words(tmp_path) == "its log is empty"
