"""Workspaces with test programs, and a runner in a separate process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.runner.runner_process import runner_status
from isoplan.trainers.backend.store.record import Record
from isoplan.trainers.families import find_family, read_cell
from tests import progress

ROOT = Path(__file__).parents[2]
PROGRAMS = """
[counter]
command = ["{python}", "-P", "-S", "PROGRAM"]
sizes = { N = "size", D = "steps", C = "6*size*steps" }
silence = 20
[counter.fields.size]
kind = "integer"
default = 10
[counter.fields.steps]
kind = "integer"
default = 5
[counter.fields.wait]
kind = "number"
default = 0.0
[counter.fields.how]
kind = "text"
default = ""
"""
COUNTER = Path(__file__).with_name("counter.py")


def workspace(root: Path) -> Path:
    """Return a workspace whose only user program is the test program ``counter``."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "programs.toml").write_text(PROGRAMS.replace("PROGRAM", str(COUNTER)))
    return root


def end_runner(root: Path) -> None:
    """Terminate the runner of a workspace, if there is one, and wait for its end."""
    status = runner_status(root)
    if status.alive and status.pid:
        with suppress(psutil.Error):
            runner = psutil.Process(status.pid)
            runner.terminate()
            progress.wait(lambda: not progress.lives(runner), root)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the folder of a new workspace."""
    return workspace(tmp_path / "space")


def add(root: Path, *cells: dict[str, Any], family: str = "counter") -> list[str]:
    """Queue cells (training runs) of the test program ``counter`` and return their names."""
    found = find_family(family, root)
    return Queue(root).add(found, [read_cell(found, cell) for cell in cells])


def start(
    root: Path,
    *,
    idle: float = 0.5,
    die_at: str = "",
    cores: int | None = 2,
    more: tuple[str, ...] = (),
    before: tuple[Path, ...] = (),
) -> subprocess.Popen[bytes]:
    """Start a runner and return its process.

    The runner uses ``cores`` cores or, if ``cores`` is None, the workers of ``cluster.toml``. The first process that
    reaches the point ``die_at`` is killed there. The folders ``before`` come first in the import path.
    """
    death = {"ISOPLAN_DIE_AT": f"{die_at}:{root / ('died-' + die_at)}"} if die_at else {}
    command = [sys.executable, "-P", "-m", "isoplan.trainers.backend.runner.loop", "--workspace", str(root)]
    limit = ["--cores", str(cores)] if cores else []
    with (root / "runner.log").open("ab") as log:
        return subprocess.Popen(
            [*command, *limit, *more, "--idle", str(idle)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*before, ROOT))), **death},
            stdout=log,
            stderr=log,
            cwd=root,
        )


@contextmanager
def running(root: Path, **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a runner that is killed at the end of the context."""
    process = start(root, **how)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for(done: Callable[[dict[str, Record]], bool], root: Path) -> dict[str, Record]:
    """Wait until ``done`` returns True for the cells of the workspace, and return the cells."""
    queue = Queue(root)

    def look() -> dict[str, Record] | None:
        cells = queue.scan()
        return cells if done(cells) else None

    def why() -> object:
        return {name: (r.state, r.results) for name, r in queue.scan().items()}

    cells = progress.wait(look, root, why=why)
    assert cells is not None
    return cells


def run_all(root: Path, **how: Any) -> dict[str, Record]:
    """Run all cells of the workspace to their end and return them."""
    with running(root, **how) as process:
        progress.end(process, root)
    return Queue(root).scan()
