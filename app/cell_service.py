"""Cells of a workspace in its database: finished cells become rows, and a service of the server keeps a runner at work.

The process that has the database open reads the cells from their folder.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database import cell_index as cells
from isoplan.engine.store.database.cell_index import CellRow, Indexed
from isoplan.engine.store.database.database import Database, WorkspaceInUse, open_workspace
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import Sweep, read_sweeps, standings, state_of
from isoplan.trainers.backend.runner.runner_process import ensure_runner, runner_status
from isoplan.trainers.backend.store.files import fault_point
from isoplan.trainers.backend.store.record import Record

LEAST_DISK = 20e6
"""Minimum free disk space in bytes to write rows: if the disk fills up, the database must be reopened."""
LOOK = 1.0
"""Seconds between two checks of the folder."""
ENDING = 5.0
"""Seconds for the runner's cells to write their checkpoints when the server ends."""
SOON, LATE = 5.0, 60.0
"""Seconds before a new runner replaces one that ended early: the first delay and the maximum."""
LIVED = 15.0
"""Runtime in seconds from which the end of a runner is not early: runners wait this long for more cells."""
OPEN = ("queued", "running", "stopping")
_folder_and_table = threading.Lock()
"""Lock for reading the folder to write the table, and for deletion from both."""

log = logging.getLogger("isoplan.cells")


@dataclass(frozen=True)
class Seen:
    """Contents of the folder at one check: the cells by name, and their sweeps."""

    cells: Mapping[str, Record]
    sweeps: tuple[Sweep, ...]


@lru_cache(maxsize=8)
def queue_of(folder: Path) -> Queue:
    """Return the queue of the workspace ``folder``, shared by the server and its pages, with its cache."""
    return Queue(folder)


def ingest(db: Database, queue: Queue, before: Seen | None = None) -> tuple[Seen, int]:
    """Synchronise the index and the run tables with the folder; return its contents and the number of new rows.

    If the contents equal ``before``, nothing else is done. Raises PlannerError if the disk is full.
    """
    with _folder_and_table:
        seen = Seen(queue.scan(), read_sweeps(queue.root))
        if seen == before:
            return seen, 0
        told = standings(seen.sweeps)
        sweep = {name: one.name or one.key for one in reversed(seen.sweeps) for name in one.cells}
        states = [
            Indexed(r.name, r.family, state_of(r, told), r.number, r.created, sweep.get(r.name, ""))
            for r in seen.cells.values()
        ]
        there = {name for name, cell in cells.index(db).items() if cell.row is not None}
        done = [r for r in seen.cells.values() if r.state == "done" and r.name not in there]
        rows = [row for r in done if (row := as_row(r, sweep.get(r.name, ""))) is not None and row.usable]
        if shutil.disk_usage(queue.root).free < LEAST_DISK:
            raise PlannerError(f"The disk of {queue.root} is full: free some of it, and finished cells become rows.")
        new = cells.grow(db, states, rows, lambda: fault_point("before-ingest-commit"))
        fault_point("after-ingest-commit")
        return seen, new


def ingest_if_free(root: Path) -> int:
    """Make rows of the finished cells of the workspace ``root`` and return their number, unless an app has it open.

    An open app does so itself, within a second. Raises PlannerError if the workspace cannot be read.
    """
    try:
        with open_workspace(root) as db:
            return ingest(db, Queue(root))[1]
    except WorkspaceInUse:
        return 0


def delete(db: Database, queue: Queue, names: Iterable[str]) -> int:
    """Delete cells and return the number of freed bytes; their rows are withdrawn, but remain in existing fits.

    Rows are deleted first: if the deletion is interrupted, a remaining cell gets its row again at the next check.
    Raises PlannerError if a cell is running; the cells before it are deleted.
    """
    with _folder_and_table:
        wanted = list(names)
        running = (i for i, name in enumerate(wanted) if queue.find(name).state in ("running", "stopping"))
        ready = wanted[: next(running, len(wanted))]
        cells.delete(db, ready)
        return queue.delete(ready) + queue.delete(wanted[len(ready) :])


def as_row(record: Record, sweep: str = "") -> CellRow | None:
    """Return the row of a finished cell; None if its result contains no metrics."""
    result = record.result or {}
    metrics = result.get("metrics")
    if not isinstance(metrics, dict):
        return None
    before = [one for number, one in record.results.items() if number <= record.number]
    begun = [moment for one in before if (moment := _moment(one.get("begun"))) is not None]
    return CellRow(
        record.name,
        record.family,
        record.cell,
        _numbers(metrics),
        _numbers(result.get("sizes")),
        str(result.get("loss", "loss")),
        {name: way for name, way in dict(result.get("directions") or {}).items() if way in ("min", "max")},
        str(result.get("version") or record.version),
        sweep,
        sum(_numbers(one).get("seconds", 0.0) for one in before),
        min(begun, default=None),
        str(result.get("host", "")),
        str(result.get("device", "")),
        record.number,
    )


def _numbers(raw: Any) -> dict[str, float]:
    """Return the numbers of a JSON object of unknown origin."""
    if not isinstance(raw, dict):
        return {}
    return {str(k): float(x) for k, x in raw.items() if isinstance(x, int | float) and not isinstance(x, bool)}


def _moment(raw: Any) -> datetime | None:
    """Return a time in the form of the store, UTC without time zone."""
    try:
        found = datetime.fromisoformat(str(raw))
    except ValueError:
        return None
    return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found


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
