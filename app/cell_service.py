"""Background service of the server for cells: it makes rows of finished cells and keeps a runner at work."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from isoplan.app.ingest import Seen, ingest, queue_of
from isoplan.engine.store.database.database import Database
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.runner.runner_process import ensure_runner, runner_status

LOOK = 1.0
"""Seconds between two checks of the folder."""
ENDING = 5.0
"""Seconds for the runner's cells to write their checkpoints when the server ends."""
SOON, LATE = 5.0, 60.0
"""Seconds before a new runner replaces one that ended early: the first delay and the maximum."""
LIVED = 15.0
"""Runtime in seconds from which the end of a runner is not early: runners wait this long for more cells."""
OPEN = ("queued", "running", "stopping")

log = logging.getLogger("isoplan.cells")


@dataclass(eq=False)
class Watch:
    """State of the thread: the last check, the runner that it started, and the last reported message of each fault."""

    runs_cells: bool
    seen: Seen | None = None
    pid: int = 0
    begun: float | None = None
    pause: float = 0.0
    said: dict[str, str] = field(default_factory=dict)


@contextlib.contextmanager
def looking_after(db: Database, folder: Path, runs_cells: bool) -> Iterator[None]:
    """Run the service for the cells of the workspace ``folder`` until the context ends.

    If ``runs_cells`` is false, no runner is started; cells that others finish still become rows.
    """
    ending, watch = threading.Event(), Watch(runs_cells)
    thread = threading.Thread(target=_look_after, args=(db, queue_of(folder), watch, ending), name="cells", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join(ENDING)
        _end_runner(folder, watch)


def _look_after(db: Database, queue: Queue, watch: Watch, ending: threading.Event) -> None:
    while not ending.is_set():
        with _fault("Finished cells wait to become rows", watch):
            watch.seen, new = ingest(db, queue, watch.seen)
            if new:
                log.info("1 cell became a row" if new == 1 else f"{new:,} cells became rows")
        with _fault("Cells wait", watch):
            if watch.runs_cells and watch.seen is not None:
                _keep_running(queue, watch.seen, watch)
        ending.wait(LOOK)


def _keep_running(queue: Queue, seen: Seen, watch: Watch) -> None:
    """Start a runner if cells wait and none is at work; a runner that ended early is replaced after a delay.

    Raises PlannerError if it cannot be started.
    """
    now = time.monotonic()
    lived = LIVED if watch.begun is None else now - watch.begun
    if lived < watch.pause or not any(record.state in OPEN for record in seen.cells.values()):
        return
    before, watch.begun = watch.begun, now
    try:
        pid = ensure_runner(queue.root, queue)
    except BaseException:
        watch.pause = min(max(2 * watch.pause, SOON), LATE)
        raise
    if not pid:
        watch.begun = before
        return
    watch.pid, watch.pause = pid, SOON if lived >= LIVED else min(max(2 * watch.pause, SOON), LATE)


def _end_runner(folder: Path, watch: Watch) -> None:
    """Ask the runner that was started here to end, and wait while its cells write their checkpoints."""
    until, asked = time.monotonic() + ENDING, False
    while watch.pid and time.monotonic() < until and (status := runner_status(folder)).alive:
        if not asked and (status.pid, status.host) == (watch.pid, socket.gethostname()):
            asked = True
            with contextlib.suppress(ProcessLookupError):
                os.kill(status.pid, signal.SIGTERM)
        elif not asked and status.pid:  # another process's runner; without a pid its status file is being written
            return
        time.sleep(0.1)


@contextlib.contextmanager
def _fault(what: str, watch: Watch) -> Iterator[None]:
    """Log any error of the block, once until it is resolved; the next check is made in any case."""
    try:
        yield
    except Exception as error:
        text = f"{what}: {str(error).partition(chr(10))[0] or type(error).__name__}"
        if watch.said.get(what) != text:
            log.error(text, exc_info=error)
        watch.said[what] = text
    else:
        watch.said.pop(what, None)
