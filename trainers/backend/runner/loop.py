"""The runner: a process that submits the waiting cells of a workspace to a Dask cluster.

A cell is one training run, and a lease is the permission to run it. Only the runner creates leases. The runner never
opens DuckDB, stores its complete state on disk, and ends when no work is left. If the runner is killed, no cell is
lost: the next runner reads the folder of the workspace and continues.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.cluster.clusters import collect_result, end_worker, give, open_pool, poll_workers
from isoplan.trainers.backend.cluster.machine import AHEAD, Place, fits
from isoplan.trainers.backend.cluster.pool import ClusterError, Pool
from isoplan.trainers.backend.cluster.settings import Local, Settings, at_address, read_settings
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.progress import over_cap
from isoplan.trainers.backend.queue.sweep import NO_SWEEP, hold, read_sweeps, standings
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.heartbeat import LOCK, STATUS, HeartbeatMonitor, hold_lock
from isoplan.trainers.backend.store.record import CELLS, DEATHS, ENDED, Record, result_of
from isoplan.trainers.cell import Resources
from isoplan.trainers.families import find_family, read_cell

LOOK = 0.25
"""Seconds between two polls of the workspace folder, if no attempt ends earlier."""
IDLE = 15.0
"""Seconds after which the runner ends, if no cell is waiting or running."""
ANSWER = 12.0
"""Seconds that an attempt has to stop after a stop request. Its worker is restarted after this time."""
NOT_BEGUN = "not begun"
"""Reason for the end of an attempt that never started, because its worker or the runner died."""
FORGOTTEN = 3600.0
"""Age in seconds from which a new runner deletes temporary files. Such old files come from killed processes."""
PATIENCE = 2.0
"""Seconds for which a new runner tries to acquire the runner lock. Liveness checks hold this lock briefly."""
CAPS_PERIOD = 1.0
"""Seconds between two checks whether a sweep has reached its cap."""
PAUSE, LONGEST = 5.0, 120.0
"""Initial and maximum pause in seconds before a failed cluster is opened again."""

log = logging.getLogger("isoplan.runner")


@dataclass(eq=False)
class RunnerState:
    """State of this runner.

    ``given`` maps the name of each submitted cell to its active attempt. ``beats`` stores the heartbeats of the
    attempts. ``message`` is the status text for users. ``woken`` is set when an attempt ends.
    """

    queue: Queue
    name: str
    given: dict[str, ActiveAttempt] = field(default_factory=dict)
    beats: HeartbeatMonitor = field(default_factory=HeartbeatMonitor)
    woken: threading.Event = field(default_factory=threading.Event)
    message: str = ""
    caps_checked: float = 0.0


@dataclass(eq=False)
class ActiveAttempt:
    """An active attempt: its number, its Dask future, its device and resources, and the time of its stop request."""

    number: int
    future: Any
    place: Place
    asked: float | None = None


def run(root: Path, settings: Settings, idle: float = IDLE, ending: threading.Event | None = None) -> None:
    """Run the cells of the workspace ``root``.

    Returns after ``idle`` seconds without a cell to run, or when ``ending`` is set. Returns at once if another runner
    is active. Raises PlannerError if the workspace cannot be written.
    """
    ending = ending or threading.Event()
    with contextlib.ExitStack() as stack:
        with files.writing(root):
            (root / CELLS).mkdir(parents=True, exist_ok=True)
            alone = stack.enter_context(hold_lock(root / CELLS / LOCK, PATIENCE))
        if not alone:
            return
        stack.callback((root / CELLS / STATUS).unlink, missing_ok=True)
        files.sweep(root / CELLS, "", older=FORGOTTEN)
        shift = RunnerState(Queue(root), f"{socket.gethostname()}-{os.getpid()}")
        pause = PAUSE
        while not ending.is_set():
            _say(root, shift.message or "starting the workers")
            try:
                with open_pool(settings, root) as pool:
                    _work(shift, pool, idle, ending)
                return
            except ClusterError as error:
                log.warning("%s", error)
                shift.message = f"{error} Trying again every {pause:g} s."
            if not _waited(shift, pause, idle, ending):
                return
            pause = min(2 * pause, LONGEST)


def _work(shift: RunnerState, pool: Pool, idle: float, ending: threading.Event) -> None:
    """Run cells on ``pool``.

    Returns after ``idle`` seconds without a cell to run, or when ``ending`` is set. Raises ClusterError if the cluster
    no longer responds.
    """
    last = time.monotonic()
    try:
        while not ending.is_set():
            if _turned(shift, pool):
                last = time.monotonic()
            elif time.monotonic() - last > idle:
                return
            _say(shift.queue.root, shift.message or "at work", shift, pool)
            shift.woken.wait(LOOK)
            shift.woken.clear()
    except ClusterError:
        shift.given.clear()  # the attempts may still run; a later poll checks their heartbeats
        raise
    finally:
        _stop_all(shift, pool)


def _turned(shift: RunnerState, pool: Pool) -> bool:
    """Poll the folder once and return whether any work is left.

    A full disk is reported in the message of the runner, and the next poll tries again. A cell that is deleted during
    the poll is ignored.
    """
    try:
        return poll_once(shift, pool)
    except files.DiskFull as error:
        shift.message = str(error)
    except FileNotFoundError as error:
        log.warning("deleted while it was read: %s", error)
    return True


def _waited(shift: RunnerState, seconds: float, idle: float, ending: threading.Event) -> bool:
    """Wait ``seconds`` before the failed cluster is opened again.

    Returns False if the runner should end: there was no cell to run for ``idle`` seconds, or ``ending`` is set.
    """
    until = time.monotonic() + seconds
    last = time.monotonic()
    while not ending.is_set() and time.monotonic() < until:
        cells = shift.queue.scan()
        for record in cells.values():
            if record.state in ("running", "stopping"):
                _orphan(shift, record)
        policies = standings(read_sweeps(shift.queue.root))
        if any(r.state not in (*ENDED, "held") and not policies.get(name, NO_SWEEP).waits for name, r in cells.items()):
            last = time.monotonic()
        elif time.monotonic() - last > idle:
            return False
        _say(shift.queue.root, shift.message)
        ending.wait(LOOK)
    return not ending.is_set()


def poll_once(shift: RunnerState, pool: Pool) -> bool:
    """Poll the workspace once: collect results, stop attempts, and start attempts. Returns whether any work is left."""
    note = pool.refresh_workers(pool)
    for name in poll_workers(pool, {name: given.number for name, given in shift.given.items()}):
        shift.given[name].future.cancel()
    for name, given in list(shift.given.items()):
        if given.future.done():
            _ended(shift, pool, name, given)
    cells = shift.queue.scan()
    enforce_caps(shift, cells)
    policies = standings(read_sweeps(shift.queue.root))
    waiting = []
    for name, record in cells.items():
        held = policies.get(name, NO_SWEEP).waits
        if record.state in ("running", "stopping"):
            if name not in shift.given:
                _orphan(shift, record)
            elif record.state == "stopping" or held:
                _stopping(shift, pool, record)
        elif record.state == "queued" and name not in shift.given and not held:
            waiting.append(record)
    waiting.sort(key=lambda record: (-policies.get(record.name, NO_SWEEP).priority(record), record.created))
    shift.message = note
    if pool.machine.cores:
        _start(shift, pool, waiting)
    return bool(waiting or shift.given or any(r.state in ("running", "stopping") for r in cells.values()))


def enforce_caps(shift: RunnerState, cells: dict[str, Record]) -> None:
    """Pause the sweeps that have reached their cap of device hours. Check at most once per ``CAPS_PERIOD`` seconds."""
    if time.monotonic() - shift.caps_checked < CAPS_PERIOD:
        return
    shift.caps_checked = time.monotonic()
    for sweep in read_sweeps(shift.queue.root):
        why = over_cap(sweep, cells, shift.queue.root)
        if why:
            hold(shift.queue.root, sweep.key, why=why)


def _start(shift: RunnerState, pool: Pool, waiting: list[Record]) -> None:
    """Lease the ``waiting`` cells and submit them to the workers in the given order.

    Stop if the next cell must wait for resources.
    """
    for record in waiting:
        if files.free(shift.queue.root) < files.LEAST_DISK:
            shift.message = f"The disk of {shift.queue.root} is full: free some space, and the cells continue."
            return
        if record.deaths >= DEATHS:
            _fail(shift, record, f"The process of this cell died {DEATHS} times: read its log.")
            continue
        try:
            family = find_family(record.family, shift.queue.root)
            needs: Resources = family.needs(read_cell(family, record.cell))
        except PlannerError as error:
            _fail(shift, record, str(error))
            continue
        device = fits(pool.machine, needs, [g.place for g in shift.given.values()], AHEAD)
        if device is None:
            return
        number = shift.queue.lease(record.name, shift.name, device=device, away=not pool.shared)
        place = Place(needs, device)
        future = give(pool, shift.queue.folder(record.name), number, place)
        future.add_done_callback(lambda _future: shift.woken.set())
        shift.given[record.name] = ActiveAttempt(number, future, place)


def _fail(shift: RunnerState, record: Record, why: str) -> None:
    """Record a cell as failed, so that it is not tried again.

    The result belongs to a new lease number, so no earlier attempt can overwrite it.
    """
    shift.queue.end(record.name, shift.queue.lease(record.name, shift.name), "failed", why)


def _ended(shift: RunnerState, pool: Pool, name: str, given: ActiveAttempt) -> None:
    """Handle the end of the Dask task of an attempt.

    An attempt without a result file counts as dead, even if its Dask task succeeded. An attempt that never started does
    not count as a failure of its cell.
    """
    del shift.given[name]
    folder = shift.queue.folder(name)
    collect_result(pool, folder, given.number, given.future)
    if not folder.exists() or result_of(folder, given.number).exists():
        return
    if not shift.beats.begun(folder, given.number):
        shift.queue.end(name, given.number, "stopped", NOT_BEGUN)
        return
    error = given.future.exception() if given.future.status == "error" else None
    if error is not None:
        log.warning("cell %s: attempt %s ended with %r", name, given.number, error)
    shift.queue.lose(name, given.number, "its process died", own=not isinstance(error, files.DiskFull))


def _orphan(shift: RunnerState, record: Record) -> None:
    """Handle an attempt that an earlier runner started.

    The attempt counts as dead if it has no recent heartbeat. It also counts as dead if its worker cannot read the
    workspace, because such a worker cannot report to this runner.
    """
    folder = shift.queue.folder(record.name)
    if not shift.beats.begun(folder, record.number):
        shift.queue.end(record.name, record.number, "stopped", NOT_BEGUN)
    elif record.lease.get("away") or not shift.beats.alive(folder, record.number):
        shift.queue.lose(record.name, record.number, "its runner was gone", own=False)


def _stopping(shift: RunnerState, pool: Pool, record: Record) -> None:
    """Handle an attempt that must stop.

    An attempt that has not begun is withdrawn. If a running attempt does not stop within ``ANSWER`` seconds, its worker
    is restarted.
    """
    given = shift.given[record.name]
    now = time.monotonic()
    # All sweeps of the cell are held or cancelled, but the attempt itself has not been asked to stop yet.
    if given.asked is None and record.state == "running":
        shift.queue.stop(record.name, given.number, "hold")
    given.asked = given.asked or now
    if not shift.beats.begun(shift.queue.folder(record.name), given.number):
        del shift.given[record.name]
        given.future.cancel()
        shift.queue.end(record.name, given.number, "stopped", NOT_BEGUN)
    elif now - given.asked > ANSWER:
        given.asked = now
        end_worker(pool, given.future)


def _stop_all(shift: RunnerState, pool: Pool) -> None:
    """Ask all attempts to stop, and wait at most ``ANSWER`` / 2 seconds until they have stopped."""
    for name, given in shift.given.items():
        with contextlib.suppress(OSError, PlannerError):
            shift.queue.stop(name, given.number, "runner")
    until = time.monotonic() + ANSWER / 2
    while time.monotonic() < until:
        poll_workers(pool, {name: given.number for name, given in shift.given.items()})
        if not any(_at_work(shift, name, given) for name, given in shift.given.items()):
            break
        time.sleep(0.05)
    for name, given in list(shift.given.items()):
        with contextlib.suppress(OSError, PlannerError):
            _ended(shift, pool, name, given)


def _at_work(shift: RunnerState, name: str, given: ActiveAttempt) -> bool:
    return shift.beats.begun(shift.queue.folder(name), given.number) and not given.future.done()


def _say(root: Path, message: str, shift: RunnerState | None = None, pool: Pool | None = None) -> None:
    """Write the status file of the runner for the pages.

    The file is not synced to disk, because it soon becomes invalid.
    """
    status = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "beat": time.time(),
        "message": message,
        "cluster": pool.text if pool else "",
        "given": len(shift.given) if shift else 0,
    }
    with contextlib.suppress(OSError):
        beside = root / CELLS / f"{files.TEMPORARY}{STATUS}"
        beside.write_text(json.dumps(status))
        beside.replace(root / CELLS / STATUS)


def main() -> None:
    """Run the cells of a workspace: ``python -P -m isoplan.trainers.backend.runner.loop --workspace FOLDER``."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--workspace", type=Path, required=True)
    parser.add_argument("--idle", type=float, default=IDLE)
    parser.add_argument("--cores", type=int)
    parser.add_argument("--scheduler")
    parser.add_argument("--insecure", action="store_true")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s", stream=sys.stderr)
    logging.getLogger("distributed").setLevel(logging.WARNING)
    ending = threading.Event()
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, lambda *_: ending.set())
    try:
        run(options.workspace, _settings(options), options.idle, ending)
    except PlannerError as error:
        sys.exit(str(error))


def _settings(asked: argparse.Namespace) -> Settings:
    """Return the cluster settings on the command line, or those of the workspace if the command line has none."""
    if asked.scheduler == "local":
        return Local(cores=asked.cores)
    if asked.scheduler:
        return at_address(asked.scheduler, asked.insecure, read_settings(asked.workspace))
    return Local(cores=asked.cores) if asked.cores else read_settings(asked.workspace)


if __name__ == "__main__":
    main()
