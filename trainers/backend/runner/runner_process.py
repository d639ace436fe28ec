"""Status and start of the runner, the process that submits the waiting cells of a workspace to workers.

A runner continues after its parent process has ended.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import isoplan
from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import read_sweeps, standings, state_of
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.heartbeat import LOCK, STATUS, is_held
from isoplan.trainers.backend.store.record import CELLS, Record

LOG = Path("logs") / "runner.log"
LONGEST_LOG = 5_000_000
"""Maximum size of the runner's log in bytes. If the log is larger, the next runner renames it and starts a new one."""
PATIENCE = 30.0
"""Maximum time in seconds until a new runner has acquired its lock."""
NEEDED = ("distributed", "dask", "psutil", "threadpoolctl")
INSTALL = "Training needs Dask and other packages: install them with pip install 'isoplan[cluster]'."


@dataclass(frozen=True)
class RunnerStatus:
    """Status of a runner: its message, its cluster, the number of submitted cells, its process id and its host."""

    alive: bool
    message: str = ""
    cluster: str = ""
    given: int = 0
    pid: int = 0
    host: str = ""


def runner_status(root: Path) -> RunnerStatus:
    """Return the status of the runner of the workspace ``root``. Its ``alive`` is false if no runner is active."""
    if not is_held(root / CELLS / LOCK):
        return RunnerStatus(False)
    said = files.read_json(root / CELLS / STATUS) or {}
    return RunnerStatus(
        True,
        str(said.get("message", "starting")),
        str(said.get("cluster", "")),
        int(said.get("given", 0)),
        int(said.get("pid", 0)),
        str(said.get("host", "")),
    )


def need_cluster() -> None:
    """Check that the packages that run cells are installed. Raises PlannerError if not."""
    if any(find_spec(name) is None for name in NEEDED):
        raise PlannerError(INSTALL)


def ensure_runner(root: Path, queue: Queue | None = None, options: Sequence[str] = ()) -> int:
    """Start a runner if cells of the workspace ``root`` wait and no runner is alive.

    Returns the process id of the new runner, or 0 if none was started. The runner has its own session and therefore
    continues after this process has ended. It writes to ``logs/runner.log`` and ends when no work is left. ``queue`` is
    an existing queue of the workspace; its cached records save a scan of all cells. ``options`` are arguments of the
    runner that override ``cluster.toml``. Raises PlannerError if a required package is not installed or if the runner
    ends at once.
    """
    if is_held(root / CELLS / LOCK) or not has_work(root, (queue or Queue(root)).scan()):
        return 0
    need_cluster()
    process = _started(root, options)
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None and not is_held(root / CELLS / LOCK):
        time.sleep(0.1)
    if process.poll():
        raise PlannerError(f"The runner ended at once ({last_words(root)}): read {root / LOG}.")
    return process.pid


def last_words(root: Path) -> str:
    """Return the last line of the runner's log, or "its log is empty" if the log is empty or missing."""
    try:
        lines = (root / LOG).read_bytes()[-4096:].decode(errors="replace").split("\n")
    except OSError:
        lines = []
    said = [line.strip() for line in lines if line.strip()]
    return said[-1].removesuffix(".") if said else "its log is empty"


def has_work(root: Path, records: Mapping[str, Record]) -> bool:
    """Return whether any cell of the workspace ``root`` needs a runner. Cells of paused sweeps do not count."""
    told = standings(read_sweeps(root))
    return any(state_of(record, told) in ("queued", "waiting", "running", "stopping") for record in records.values())


def _started(root: Path, options: Sequence[str]) -> subprocess.Popen[bytes]:
    log = root / LOG
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > LONGEST_LOG:
        log.replace(log.with_suffix(".log.1"))
    with log.open("ab") as file:
        return start_module(
            "isoplan.trainers.backend.runner.loop", ["--workspace", str(root.resolve()), *options], file, root
        )


def start_module(module: str, arguments: Sequence[str], log: IO[bytes], folder: Path) -> subprocess.Popen[bytes]:
    """Start a module of this copy of Isoplan as a process with its own session.

    The process runs in ``folder`` and writes its output to ``log``.
    """
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        cwd=folder,
        env=_own_environment(),
        start_new_session=True,
    )


def _own_environment() -> dict[str, str]:
    """Return the environment for a process that imports this copy of Isoplan.

    The process imports no module from its working directory.
    """
    paths = [str(Path(isoplan.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
