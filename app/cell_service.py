"""Cells (training runs) of a workspace: their rows in the database, and the server's service that trains them.

The service adds finished cells to the run tables as rows, and starts a runner while cells wait. It runs only in the
process that has the database open, and reads the cells from the folder ``cells`` of the workspace.
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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from isoplan.app import logged_rows
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
"""Minimum free disk space in bytes for writing rows.

A disk that becomes full during a write forces the server to open the database again.
"""
LOOK = 1.0
"""Interval in seconds at which the service reads the folder of cells."""
ENDING = 5.0
"""Maximum time in seconds that a server waits before it stops, so that running cells can write checkpoints."""
SOON, LATE = 5.0, 60.0
"""Delays in seconds before a new runner replaces one that ended early.

The first delay is ``SOON``. The delay doubles each time, up to the maximum ``LATE``.
"""
LIVED = 15.0
"""A runner ended early if it ran for less than this time in seconds.

A runner without work waits this long for new cells before it ends, so it does not count as ended early.
"""
OPEN = ("queued", "running", "stopping")
_folder_and_table = threading.Lock()
"""Lock, so that one thread never adds cells to run tables while another thread deletes cells."""

log = logging.getLogger("isoplan.cells")


@dataclass(frozen=True)
class Seen:
    """Contents of the folder of cells at one read: the records of the cells by cell name, and the sweeps."""

    cells: Mapping[str, Record]
    sweeps: tuple[Sweep, ...]


@lru_cache(maxsize=8)
def queue_of(folder: Path) -> Queue:
    """Return the queue of cells of the workspace ``folder``.

    The server and its pages share the queue and its cache.
    """
    return Queue(folder)


def ingest(db: Database, queue: Queue, before: Seen | None = None) -> tuple[Seen, int]:
    """Update the index of cells and the run tables from the folder of cells.

    Returns the contents of the folder and the number of new rows. If the contents equal ``before``, the database is not
    changed. Raises PlannerError if the disk is full.
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
            raise PlannerError(
                f"The disk of {queue.root} is full, so finished cells are not added to their run tables: free some "
                "space."
            )
        new = cells.grow(db, states, rows, lambda: fault_point("before-ingest-commit"))
        fault_point("after-ingest-commit")
        return seen, new


def ingest_if_free(root: Path) -> int:
    """Add the finished cells of the workspace ``root`` as rows and return the number of new rows.

    Returns 0 if an app has the workspace open: the app adds the rows itself within a second. Raises PlannerError if the
    workspace cannot be read.
    """
    try:
        with open_workspace(root) as db:
            return ingest(db, Queue(root))[1]
    except WorkspaceInUse:
        return 0


def delete(db: Database, queue: Queue, names: Iterable[str]) -> int:
    """Delete cells and return the number of freed bytes. Existing fits keep the rows of deleted cells.

    The rows are withdrawn first. If the deletion is then interrupted, the next read of the folder adds the rows of the
    remaining cells again. Raises PlannerError if a cell is running. In this case, only the cells before the running
    cell in ``names`` are deleted.
    """
    with _folder_and_table:
        wanted = list(names)
        running = (i for i, name in enumerate(wanted) if queue.find(name).state in ("running", "stopping"))
        ready = wanted[: next(running, len(wanted))]
        cells.delete(db, ready)
        return queue.delete(ready) + queue.delete(wanted[len(ready) :])


def as_row(record: Record, sweep: str = "") -> CellRow | None:
    """Return a finished cell as a row of a run table; None if the result of the cell contains no metrics."""
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
    """Return the numbers in the JSON object ``raw``, by key; {} if ``raw`` is not a JSON object.

    Values that are not numbers are left out.
    """
    if not isinstance(raw, dict):
        return {}
    return {str(k): float(x) for k, x in raw.items() if isinstance(x, int | float) and not isinstance(x, bool)}


def _moment(raw: Any) -> datetime | None:
    """Parse an ISO time and return it in UTC without a time zone, as the store needs; None if the text is not valid."""
    try:
        found = datetime.fromisoformat(str(raw))
    except ValueError:
        return None
    return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found


@dataclass(eq=False)
class Watch:
    """State of the service thread.

    ``seen`` is the result of the last read of the folder. ``pid`` and ``begun`` are the process id and start time of
    the last runner that the service started. ``pause`` is the delay in seconds before the next runner. ``said`` maps
    each fault to its last logged message.
    """

    runs_cells: bool
    seen: Seen | None = None
    pid: int = 0
    begun: float | None = None
    pause: float = 0.0
    said: dict[str, str] = field(default_factory=dict)


Tending = contextlib.AbstractContextManager[Callable[[], None]]
"""Context manager that yields a function. The service calls this function before each read of the folder of cells."""


@contextlib.contextmanager
def looking_after(
    db: Database, folder: Path, runs_cells: bool, autopilots: Callable[[Path], Tending] | None = None
) -> Iterator[None]:
    """Run the service for the cells of the workspace ``folder`` until the context ends.

    If ``runs_cells`` is false, the service starts no runner. It still adds rows for cells that other runners finish.
    ``autopilots(folder)`` is a context with the function that starts the autopilots that should run.
    """
    ending, watch = threading.Event(), Watch(runs_cells)
    tending = autopilots(folder) if autopilots and runs_cells else contextlib.nullcontext(lambda: None)
    try:
        with tending as start_autopilots:
            thread = threading.Thread(
                target=_look_after,
                args=(db, queue_of(folder), watch, ending, start_autopilots),
                name="cells",
                daemon=True,
            )
            thread.start()
            try:
                yield
            finally:
                ending.set()
                thread.join(ENDING)
    finally:
        _end_runner(folder, watch)


def _look_after(
    db: Database, queue: Queue, watch: Watch, ending: threading.Event, start_autopilots: Callable[[], None]
) -> None:
    while not ending.is_set():
        with _fault("Autopilots are not started", watch):
            start_autopilots()
        with _fault("Finished cells are not yet added to their run tables", watch):
            watch.seen, new = ingest(db, queue, watch.seen)
            if new:
                log.info("1 cell became a row" if new == 1 else f"{new:,} cells became rows")
        with _fault("Logged rows are not yet added to their tables", watch):
            logged_rows.ingest(db, queue.root)
        with _fault("Cells wait", watch):
            if watch.runs_cells and watch.seen is not None:
                _keep_running(queue, watch.seen, watch)
        ending.wait(LOOK)


def _keep_running(queue: Queue, seen: Seen, watch: Watch) -> None:
    """Start a runner if cells wait and no runner is active. If the last runner ended early, first wait for a delay.

    Raises PlannerError if the runner cannot be started.
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
    """Stop the runner that this service started, and wait until its cells have written their checkpoints.

    A runner of another process is not stopped. The wait is at most ``ENDING`` seconds.
    """
    until, asked = time.monotonic() + ENDING, False
    while watch.pid and time.monotonic() < until and (status := runner_status(folder)).alive:
        if not asked and (status.pid, status.host) == (watch.pid, socket.gethostname()):
            asked = True
            with contextlib.suppress(ProcessLookupError):
                os.kill(status.pid, signal.SIGTERM)
        elif not asked and status.pid:  # a runner of another process (a pid of 0 means: not known yet)
            return
        time.sleep(0.1)


@contextlib.contextmanager
def _fault(what: str, watch: Watch) -> Iterator[None]:
    """Log an error of the ``with`` block instead of raising it, so that the service continues.

    A repeated message is not logged again until the block has succeeded or has failed with another message.
    """
    try:
        yield
    except Exception as error:
        text = f"{what}: {str(error).partition(chr(10))[0] or type(error).__name__}"
        if watch.said.get(what) != text:
            log.error(text, exc_info=error)
        watch.said[what] = text
    else:
        watch.said.pop(what, None)
