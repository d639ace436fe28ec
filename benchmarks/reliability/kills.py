"""A hundred random kills and pauses of app, runner, workers and training programs while forty cells train.

Each is due when the cells have come far enough together, not after some seconds, so a slow machine takes longer and
tries the same.
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

from app.cells import ingest_if_free
from benchmarks.reliability.faults.cells import add, run_all, workspace
from benchmarks.reliability.faults.checkpoints import AMPLITUDES
from benchmarks.report import Report
from engine.store import cells, tables
from engine.store.database import open_workspace
from tests import progress
from trainers.backend.events import last
from trainers.backend.queue import Queue
from trainers.backend.record import Record, beat_of
from trainers.command.process import MARK

KILLS, SEED = 100, 20_261_124
WHO = ("the app", "the runner", "a worker", "a training program")
PAUSED = 0.3
"""Share of the victims that are stopped and go on later, instead of being killed."""
PAUSE = (0.5, 6.0)
"""Seconds for which a process is stopped, drawn evenly."""
APART = 0.5
"""Seconds between two victims at least."""
GRIDS: dict[str, list[dict[str, Any]]] = {
    "sum": [{"seed": k, "steps": 60, "wait": 0.1} for k in range(26)],
    "teacher-student": [{"width": 16, "samples": 1_500_000, "seed": k} for k in range(8)],
    "amplitudes": [{**AMPLITUDES, "seed": k} for k in range(6)],
}
CELLS = sum(map(len, GRIDS.values()))
LAST = 0.93
"""By what share of all steps every victim is due, so that there is one left to hit."""


@dataclass(eq=False)
class Trial:
    """What goes on: the app, what was done to whom, processes that are stopped with when they go on."""

    root: Path
    app: subprocess.Popen[bytes]
    queue: Queue
    done: Counter[tuple[str, str]] = field(default_factory=Counter)
    stopped: list[tuple[psutil.Process, float]] = field(default_factory=list)
    retried: int = 0
    far: float = 0.0


def run() -> Report:
    """Kill and pause at random, start the app again each time it died, and compare with cells that nobody touched."""
    rng = np.random.default_rng(SEED)
    with tempfile.TemporaryDirectory(prefix="isoplan-") as name:
        root, alone = workspace(Path(name) / "space"), workspace(Path(name) / "alone")
        names = _add(root)
        began = time.monotonic()
        trial = _kill(root, rng)
        minutes = (time.monotonic() - began) / 60
        rows = _rows(root)
        same = _add(alone)
        undisturbed = run_all(alone)
        found = Queue(root).scan()
    losses = [(_loss(found[a]), _loss(undisturbed[b])) for a, b in zip(names, same, strict=True)]
    off = max(abs(loss / expected - 1) for loss, expected in losses)
    what = [(f"{how} {who}", str(trial.done[who, how])) for who in WHO for how in ("SIGKILL to", "SIGSTOP, SIGCONT to")]
    return Report(
        f"{sum(trial.done.values())} random kills and pauses over {CELLS} cells",
        f"{len(GRIDS['sum'])} cells of a light program, {len(GRIDS['teacher-student'])} of the bundled one and "
        f"{len(GRIDS['amplitudes'])} that train inside the worker, on two workers. Victims, moments and pauses of "
        f"{PAUSE[0]:g} to {PAUSE[1]:g} s are drawn at random (seed {SEED}); the app is started again whenever it was "
        "killed. A cell that died three times without a new checkpoint has failed, and is tried again by hand. "
        "Afterwards all cells are run in another workspace, and nobody is killed.",
        ("what", "count"),
        (
            *what,
            ("cells done", f"{sum(r.state == 'done' for r in found.values())} of {CELLS}"),
            ("cells that had to be tried again by hand", str(trial.retried)),
            ("attempts", str(sum(r.number for r in found.values()))),
            ("rows in the run tables", f"{len(rows)}, of {len(set(rows))} cells"),
            ("losses equal to the digit to those of undisturbed cells", f"{sum(a == b for a, b in losses)} of {CELLS}"),
            ("largest difference of a loss, relative", f"{off:.1g}"),
            ("minutes of kills", f"{minutes:.1f}"),
        ),
    )


def _add(root: Path) -> list[str]:
    return [name for family, grid in GRIDS.items() for name in add(root, grid, family)]


def _kill(root: Path, rng: np.random.Generator) -> Trial:
    """Run the cells to their end, with a victim each time they have come so far."""
    due = sorted(rng.uniform(0, LAST * CELLS, KILLS))
    plan = [(WHO[rng.integers(len(WHO))], rng.uniform() < PAUSED, rng.uniform(*PAUSE)) for _ in due]
    trial, clock, hit = Trial(root, _app(root), Queue(root)), progress.Clock((root,)), 0.0
    try:
        while True:
            time.sleep(0.1)
            _go_on(trial)
            records = trial.queue.scan()
            if all(record.state == "done" for record in records.values()):
                return trial
            if trial.app.poll() is not None:
                raise RuntimeError("the app ended by itself")
            if clock.still() > progress.STILL:
                raise RuntimeError(f"nothing progresses: {[(r.name, r.state) for r in records.values()]}")
            _retry(trial, records)
            trial.far = max(trial.far, sum(_share(root, record) for record in records.values()))
            n = sum(trial.done.values())
            if n < KILLS and trial.far >= due[n] and time.monotonic() - hit > APART and _strike(trial, *plan[n], rng):
                hit = time.monotonic()
    finally:
        for process, _ in trial.stopped:
            _send(process, signal.SIGCONT)
        trial.app.terminate()
        trial.app.wait()


def _go_on(trial: Trial) -> None:
    """Let processes go on whose pause is over."""
    now = time.monotonic()
    for process, until in trial.stopped:
        if until <= now:
            _send(process, signal.SIGCONT)
    trial.stopped = [(process, until) for process, until in trial.stopped if until > now]


def _retry(trial: Trial, records: dict[str, Record]) -> None:
    """Do what a user would with a cell that has died too often; any other failure is none of the kills."""
    for record in records.values():
        if record.state == "failed":
            why = str((record.result or {}).get("why", ""))
            if "died" not in why:
                raise RuntimeError(f"the cell {record.name} failed: {why}")
            trial.queue.retry([record.name])
            trial.retried += 1


def _share(root: Path, record: Record) -> float:
    """How far a cell has come, 0 to 1."""
    if record.state == "done":
        return 1.0
    point = last(root / "cells" / record.name, record.number)
    return min(point.step / point.total, 1.0) if point and point.total else 0.0


def _strike(trial: Trial, who: str, pauses: bool, seconds: float, rng: np.random.Generator) -> bool:
    """Kill one of ``who``, or stop it for some ``seconds``; whether there was one."""
    alive = [process for process in _victims(trial, who) if process not in [one for one, _ in trial.stopped]]
    if not alive:
        return False
    victim = alive[rng.integers(len(alive))]
    if not _send(victim, signal.SIGSTOP if pauses else signal.SIGKILL):
        return False
    trial.done[who, "SIGSTOP, SIGCONT to" if pauses else "SIGKILL to"] += 1
    if pauses:
        trial.stopped.append((victim, time.monotonic() + seconds))
    elif who == "the app":
        trial.app.wait()
        trial.app = _app(trial.root)
    return True


def _victims(trial: Trial, who: str) -> list[psutil.Process]:
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
    is_victim = _is_runner if who == "the runner" else _is_program
    return [process for process in psutil.process_iter() if is_victim(process, trial.root)]


def _is_runner(process: psutil.Process, root: Path) -> bool:
    try:
        command = process.cmdline()
    except psutil.Error:
        return False
    return "trainers.backend.runner" in command and str(root) in command


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
    """The cells that have rows, once for each row, after a last look at the folder."""
    ingest_if_free(root)
    with open_workspace(root) as db:
        return [str(name) for family in GRIDS for name in tables.frame(db, cells.table_of(family))["run"]]


def _loss(record: Record) -> float:
    return float((record.result or {})["metrics"]["loss"])
