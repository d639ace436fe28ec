"""Whether a runner is at work in a workspace, and how one is started that outlives whoever asks."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import isoplan
from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import read_sweeps, standings, state_of
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.heartbeat import LOCK, STATUS, is_held
from isoplan.trainers.backend.store.record import CELLS, Record

LOG = Path("logs") / "runner.log"
LONGEST_LOG = 5_000_000
"""Bytes of the log above which a new one is begun; the one before it is kept."""
PATIENCE = 30.0
"""Seconds for a runner to take its lock."""
NEEDED = ("distributed", "dask", "psutil", "threadpoolctl")
INSTALL = "Cells need the extra cluster: install it with pip install 'isoplan[cluster]'."


@dataclass(frozen=True)
class RunnerStatus:
    """What a runner says of itself: what it does, on what, and how many cells it has given out."""

    alive: bool
    message: str = ""
    cluster: str = ""
    given: int = 0
    pid: int = 0
    host: str = ""


def runner_status(root: Path) -> RunnerStatus:
    """How the runner of the workspace ``root`` is; where none is alive, only that."""
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
    """Raise PlannerError where what runs cells is not installed."""
    if any(find_spec(name) is None for name in NEEDED):
        raise PlannerError(INSTALL)


def ensure_runner(root: Path, queue: Queue | None = None, options: Sequence[str] = ()) -> int:
    """Start a runner where cells of the workspace ``root`` wait and none is alive; its process id, 0 for none started.

    It has a session of its own, so that it outlives this process, writes to ``logs/runner.log``, and ends by itself
    when nothing is left to do. ``queue`` spares reading again what one has read; ``options`` are those
    of the runner, where it is not to do as ``cluster.toml`` says. Raises PlannerError where what it
    needs is not installed, and where it ends at once.
    """
    if is_held(root / CELLS / LOCK) or not has_work(root, (queue or Queue(root)).scan()):
        return 0
    need_cluster()
    process = _started(root, options)
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None and not is_held(root / CELLS / LOCK):
        time.sleep(0.1)
    if process.poll():
        raise PlannerError(f"The runner ended at once ({last_words(root)}): {root / LOG} says more.")
    return process.pid


def last_words(root: Path) -> str:
    """The last line of the runner's log."""
    try:
        lines = (root / LOG).read_bytes()[-4096:].decode(errors="replace").split("\n")
    except OSError:
        lines = []
    said = [line.strip() for line in lines if line.strip()]
    return said[-1].removesuffix(".") if said else "it said nothing"


def has_work(root: Path, records: Mapping[str, Record]) -> bool:
    """Whether any of the cells of the workspace ``root`` waits for a runner: not those whose sweeps are held."""
    told = standings(read_sweeps(root))
    return any(state_of(record, told) in ("queued", "waiting", "running", "stopping") for record in records.values())


def _started(root: Path, options: Sequence[str]) -> subprocess.Popen[bytes]:
    log = root / LOG
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > LONGEST_LOG:
        log.replace(log.with_suffix(".log.1"))
    command = [
        sys.executable,
        "-P",
        "-m",
        "isoplan.trainers.backend.runner.loop",
        "--workspace",
        str(root.resolve()),
        *options,
    ]
    with log.open("ab") as file:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            cwd=root,
            env=own_environment(),
            start_new_session=True,
        )


def own_environment() -> dict[str, str]:
    """The environment of a process that runs this very copy, and takes no module from the folder that it is in."""
    paths = [str(Path(isoplan.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
