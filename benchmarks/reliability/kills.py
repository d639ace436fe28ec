"""A hundred random kills and pauses of the app, the runner, the workers and the programs while forty cells train.

Each kill or pause is due at a given progress of all cells, not at a given time. So a slow computer takes longer, but
has the same kills.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.reliability.faults.cells import add, run_all, workspace
from benchmarks.reliability.faults.checkpoints import AMPLITUDES
from benchmarks.report import Report
from isoplan.app.cell_service import ingest_if_free
from isoplan.engine.store.database import cell_index
from isoplan.engine.store.database.database import open_workspace
from isoplan.engine.store.tables import tables
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store.attempt_curves import last
from isoplan.trainers.backend.store.record import Record, beat_of
from isoplan.trainers.command.process import MARK
from tests import progress

KILLS, SEED = 100, 20_261_124
WHO = ("the app", "the runner", "a worker", "a training program")
PAUSED = 0.3
"""Fraction of the disturbances that are pauses. The others are kills."""
PAUSE = (0.5, 6.0)
"""Range of the duration of a pause in seconds. The duration is drawn uniformly."""
APART = 0.5
"""Minimum time between two kills or pauses, in seconds."""
GRIDS: dict[str, list[dict[str, Any]]] = {
    "sum": [{"seed": k, "steps": 60, "wait": 0.1} for k in range(26)],
    "teacher-student": [{"width": 16, "samples": 1_500_000, "seed": k} for k in range(8)],
    "amplitudes": [{**AMPLITUDES, "seed": k} for k in range(6)],
}
CELLS = sum(map(len, GRIDS.values()))
LAST = 0.93
"""Maximum of (sum of the progress of all cells) / (number of cells) at which a kill is due.

At this progress, some cells still train.
"""


@dataclass(eq=False)
class Trial:
    """State of the trial.

    ``done`` counts the kills and pauses by kind of process. ``stopped`` lists the paused processes, each with the end
    of its pause (monotonic clock, in seconds). ``retried`` counts retries of failed cells. ``far`` is the largest sum
    so far of the progress of all cells; a finished cell adds 1.
    """

    root: Path
    app: subprocess.Popen[bytes]
    queue: Queue
    done: Counter[tuple[str, str]] = field(default_factory=Counter)
    stopped: list[tuple[psutil.Process, float]] = field(default_factory=list)
    retried: int = 0
    far: float = 0.0


def run() -> Report:
    """Kill and pause processes at random, and start the app again whenever it is killed.

    The report compares the losses with those of undisturbed cells.
    """
    rng = np.random.default_rng(SEED)
    with tempfile.TemporaryDirectory(prefix="isoplan-") as name:
        root, alone = workspace(Path(name) / "space"), workspace(Path(name) / "alone")
        names = _add(root)
        start = time.monotonic()
        trial = _run_with_kills(root, rng)
        minutes = (time.monotonic() - start) / 60
        rows = _rows(root)
        names_alone = _add(alone)
        undisturbed = run_all(alone)
        records = Queue(root).scan()
    losses = [(_loss(records[a]), _loss(undisturbed[b])) for a, b in zip(names, names_alone, strict=True)]
    difference = max(abs(loss / expected - 1) for loss, expected in losses)
    signals = ("SIGKILL to", "SIGSTOP, SIGCONT to")
    counts = [(f"{how} {who}", str(trial.done[who, how])) for who in WHO for how in signals]
    return Report(
        f"{sum(trial.done.values())} random kills and pauses while {CELLS} cells train",
        f"Two workers train {len(GRIDS['sum'])} cells of a light program, {len(GRIDS['teacher-student'])} cells of "
        f"the bundled program, and {len(GRIDS['amplitudes'])} cells that train inside the worker. Targets, moments "
        f"and pauses of {PAUSE[0]:g} to {PAUSE[1]:g} s are drawn at random (seed {SEED}). The app is started again "
        "after each kill. A cell that dies three times without a new checkpoint fails, and the benchmark retries it. "
        "The same cells then run undisturbed in another workspace, and the losses are compared.",
        ("what", "count"),
        (
            *counts,
            ("cells done", f"{sum(r.state == 'done' for r in records.values())} of {CELLS}"),
            ("retries of failed cells", str(trial.retried)),
            ("attempts", str(sum(r.number for r in records.values()))),
            ("rows in the run tables", f"{len(rows)}, from {len(set(rows))} cells"),
            ("losses identical to those of undisturbed cells", f"{sum(a == b for a, b in losses)} of {CELLS}"),
            ("largest relative difference of a loss", f"{difference:.1g}"),
            ("duration of the kills, in minutes", f"{minutes:.1f}"),
        ),
    )


def _add(root: Path) -> list[str]:
    return [name for family, grid in GRIDS.items() for name in add(root, grid, family)]


def _run_with_kills(root: Path, rng: np.random.Generator) -> Trial:
    """Run all cells to their end. Whenever a kill or a pause is due, disturb a process."""
    due = sorted(rng.uniform(0, LAST * CELLS, KILLS))
    plan = [(WHO[rng.integers(len(WHO))], rng.uniform() < PAUSED, rng.uniform(*PAUSE)) for _ in due]
    trial, clock, hit = Trial(root, _app(root), Queue(root)), progress.Clock((root,)), 0.0
    try:
        while True:
            time.sleep(0.1)
            _resume(trial)
            records = trial.queue.scan()
            if all(record.state == "done" for record in records.values()):
                return trial
            if trial.app.poll() is not None:
                raise RuntimeError("the app exited without a kill")
            if clock.still() > progress.STILL:
                raise RuntimeError(f"no cell makes progress: {[(r.name, r.state) for r in records.values()]}")
            _retry(trial, records)
            trial.far = max(trial.far, sum(_progress_of(root, record) for record in records.values()))
            n = sum(trial.done.values())
            if n < KILLS and trial.far >= due[n] and time.monotonic() - hit > APART and _disturb(trial, *plan[n], rng):
                hit = time.monotonic()
    finally:
        for process, _ in trial.stopped:
            _send(process, signal.SIGCONT)
        trial.app.terminate()
        trial.app.wait()


def _resume(trial: Trial) -> None:
    """Continue the paused processes whose pause is over."""
    now = time.monotonic()
    for process, until in trial.stopped:
        if until <= now:
            _send(process, signal.SIGCONT)
    trial.stopped = [(process, until) for process, until in trial.stopped if until > now]


def _retry(trial: Trial, records: dict[str, Record]) -> None:
    """Retry cells that failed because they were killed too often.

    Raises RuntimeError if a cell failed for another reason.
    """
    for record in records.values():
        if record.state == "failed":
            why = str((record.result or {}).get("why", ""))
            if "died" not in why:
                raise RuntimeError(f"the cell {record.name} failed: {why}")
            trial.queue.retry([record.name])
            trial.retried += 1


def _progress_of(root: Path, record: Record) -> float:
    """Return the progress of a cell, from 0 to 1."""
    if record.state == "done":
        return 1.0
    point = last(root / "cells" / record.name, record.number)
    return min(point.step / point.total, 1.0) if point and point.total else 0.0


def _disturb(trial: Trial, who: str, pauses: bool, seconds: float, rng: np.random.Generator) -> bool:
    """Kill a process of the kind ``who``, or pause it for ``seconds`` if ``pauses``.

    Returns False if no such process runs.
    """
    alive = [process for process in _find_targets(trial, who) if process not in [one for one, _ in trial.stopped]]
    if not alive:
        return False
    target = alive[rng.integers(len(alive))]
    if not _send(target, signal.SIGSTOP if pauses else signal.SIGKILL):
        return False
    trial.done[who, "SIGSTOP, SIGCONT to" if pauses else "SIGKILL to"] += 1
    if pauses:
        trial.stopped.append((target, time.monotonic() + seconds))
    elif who == "the app":
        trial.app.wait()
        trial.app = _app(trial.root)
    return True


def _find_targets(trial: Trial, who: str) -> list[psutil.Process]:
    if who == "the app":
        return [psutil.Process(trial.app.pid)]
    if who == "a worker":
        beats = [
            beat_of(trial.queue.folder(record.name), record.number)
            for record in trial.queue.scan().values()
            if record.state == "running"
        ]
        pids = {int(beat.read_bytes().split()[1]) for beat in beats if beat.exists()}
        return [psutil.Process(pid) for pid in sorted(pids) if psutil.pid_exists(pid)]
    is_target = _is_runner if who == "the runner" else _is_program
    return [process for process in psutil.process_iter() if is_target(process, trial.root)]


def _is_runner(process: psutil.Process, root: Path) -> bool:
    try:
        command = process.cmdline()
    except psutil.Error:
        return False
    return "isoplan.trainers.backend.runner.loop" in command and str(root) in command


def _is_program(process: psutil.Process, root: Path) -> bool:
    try:
        folder = process.environ().get(MARK, "")
    except (psutil.Error, OSError):
        return False
    return folder.startswith(str(root)) and progress.lives(process)


def _send(process: psutil.Process, number: signal.Signals) -> bool:
    try:
        process.send_signal(number)
    except psutil.Error:
        return False
    return True


def _app(root: Path) -> subprocess.Popen[bytes]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    isoplan = str(Path(sys.executable).with_name("isoplan"))
    command = [isoplan, "app", "--no-browser", "--port", str(port), "--workspace", str(root)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ))


def _rows(root: Path) -> list[str]:
    """Add the finished cells to the run tables, and return the name of the cell in each row of these tables."""
    ingest_if_free(root)
    with open_workspace(root) as db:
        return [str(name) for family in GRIDS for name in tables.frame(db, cell_index.table_of(family))["run"]]


def _loss(record: Record) -> float:
    return float((record.result or {})["metrics"]["loss"])
