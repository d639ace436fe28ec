"""What the server does for cells while it lives, browser or not: finished ones become rows, and a runner is at work."""

from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.cells import ingest
from engine.store.database import Database
from trainers.backend.life import is_held
from trainers.backend.queue import Queue
from trainers.backend.record import CELLS, Record
from trainers.backend.runner import LOCK

LOOK = 1.0
"""Seconds between two looks at the folder."""
ENDING = 5.0
"""Seconds that the runner has to let its cells write their checkpoints when the server ends."""
SOON, LATE = 5.0, 60.0
"""Seconds before a runner that failed is started again, the first time and at most."""
OPEN = ("queued", "running", "stopping")

log = logging.getLogger("isoplan.cells")


@dataclass(eq=False)
class Runner:
    """The runner that this server started, and when it may start another."""

    process: subprocess.Popen[bytes] | None = None
    pause: float = SOON
    after: float = 0.0


@contextlib.contextmanager
def looking_after(db: Database, folder: Path, runs_cells: bool) -> Iterator[None]:
    """Look after the cells of the workspace ``folder`` until the context ends.

    Where ``runs_cells`` is false no runner is started; what others finish becomes rows all the same.
    """
    ending = threading.Event()
    runner = Runner() if runs_cells else None
    thread = threading.Thread(target=_look_after, args=(db, folder, runner, ending), name="cells", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()
        if runner is not None and runner.process is not None:
            _end(runner.process)


def _look_after(db: Database, folder: Path, runner: Runner | None, ending: threading.Event) -> None:
    queue = Queue(folder)
    seen: Mapping[str, Record] | None = None
    said = ""
    while not ending.is_set():
        try:
            seen, new = ingest(db, queue, seen)
            if new:
                log.info("%s cells became rows", new)
            if runner is not None and any(record.state in OPEN for record in seen.values()):
                _keep_running(runner, folder)
            said = ""
        except Exception as error:  # whatever it is, the next look may go well
            text = f"Finished cells wait to become rows: {str(error).partition(chr(10))[0] or type(error).__name__}"
            if text != said:
                log.error(text, exc_info=error)
            said = text
        ending.wait(LOOK)


def _keep_running(runner: Runner, folder: Path) -> None:
    """Start a runner where none is at work; one that failed is started again after a while."""
    if runner.process is not None and (code := runner.process.poll()) is not None:
        runner.process = None
        if code > 0:
            log.error(
                "The runner of the cells ended with exit code %s: %s says why. It starts again in %g s.",
                code, folder / "logs" / "runner.log", runner.pause,
            )  # fmt: skip
            runner.after, runner.pause = time.monotonic() + runner.pause, min(2 * runner.pause, LATE)
        else:
            runner.pause = SOON
    if runner.process is None and time.monotonic() >= runner.after and not is_held(folder / CELLS / LOCK):
        runner.process = _start(folder)


def _start(folder: Path) -> subprocess.Popen[bytes]:
    """A runner in a session of its own: it ends when it is asked to, not when somebody stops the server by Ctrl+C."""
    place = folder / "logs"
    place.mkdir(exist_ok=True)
    with (place / "runner.log").open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "trainers.backend.runner", "--workspace", str(folder)],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the runner to end and give its cells the time to write their checkpoints; what is left finishes alone."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(ENDING)
