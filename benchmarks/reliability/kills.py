"""Thirty random kills of workers, runner and app while twenty cells train: nothing lost, nothing twice."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

from benchmarks.report import Report
from engine.store import cells, tables
from engine.store.database import open_workspace
from trainers.backend.queue import Queue
from trainers.backend.record import Record
from trainers.backend.work import run_cell
from trainers.cell import Cell
from trainers.families import find_family, read_cell

CELLS, KILLS, SEED = 20, 30, 20_261_122
EVERY = (5.0, 9.0)
"""Seconds between two kills, drawn evenly."""
SAMPLES, WIDTH = 3_500_000, 16
ALONE = 3
"""Cells that are also run without a kill."""
SECONDS = 1500.0
FAMILY = "teacher-student"


def run() -> Report:
    """Kill at random, start the app again each time it died, and compare with cells that nobody killed."""
    rng = np.random.default_rng(SEED)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "space"
        root.mkdir()
        family = find_family(FAMILY, root)
        asked = [read_cell(family, {"width": WIDTH, "samples": SAMPLES, "seed": k}) for k in range(CELLS)]
        names = Queue(root).add(family, asked)
        killed = _killing(root, rng)
        found = Queue(root).scan()
        rows, different = _rows(root)
        losses, seconds = zip(*(_alone(Path(name) / f"alone{k}", asked[k]) for k in range(ALONE)), strict=True)
        off = max(abs(_loss(found[names[k]]) / losses[k] - 1) for k in range(ALONE))
    return Report(
        f"{sum(killed.values())} random kills over {CELLS} cells",
        f"`kill -9` of a worker, the runner or the app, at random every {EVERY[0]:g} to {EVERY[1]:g} s (seed {SEED}), "
        f"while cells of {min(seconds):.1f} s and more each train; the app is started again whenever it was killed.",
        ("what", "count"),
        (
            *((f"kills of {who}", str(n)) for who, n in killed.items()),
            ("cells done", f"{sum(r.state == 'done' for r in found.values())} of {CELLS}"),
            ("attempts", str(sum(r.number for r in found.values()))),
            ("rows in the run table", f"{rows}, of {different} cells"),
            ("loss of a killed cell against an uninterrupted one, relative", f"{off:.1g}"),
        ),
    )


def _killing(root: Path, rng: np.random.Generator) -> dict[str, int]:
    """Run the cells, killing; how often whom."""
    killed = dict.fromkeys(("a worker", "the runner", "the app"), 0)
    app, queue, until = _app(root), Queue(root), time.monotonic() + SECONDS
    due, who = time.monotonic() + rng.uniform(*EVERY), rng.choice(list(killed))
    try:
        while time.monotonic() < until:
            time.sleep(0.2)
            if all(record.state == "done" for record in queue.scan().values()):
                time.sleep(3)  # the last rows
                return killed
            if app.poll() is not None:
                raise RuntimeError("the app ended by itself")
            if time.monotonic() < due or sum(killed.values()) == KILLS:
                continue
            victim = app.pid if who == "the app" else _victim(root, who, rng)
            if victim is None:
                continue
            os.kill(victim, signal.SIGKILL)
            killed[who] += 1
            if who == "the app":
                app.wait()
                app = _app(root)
            due, who = time.monotonic() + rng.uniform(*EVERY), rng.choice(list(killed))
    finally:
        app.terminate()
        app.wait()
    raise RuntimeError("the cells did not finish in time")


def _victim(root: Path, who: str, rng: np.random.Generator) -> int | None:
    """The process of the runner, or of one of the workers that train; None where there is none at the moment."""
    if who == "the runner":
        runners = [p for p in psutil.process_iter(["cmdline"]) if _is_runner(p, root)]
        return runners[0].pid if runners else None
    alive = [record for record in Queue(root).scan().values() if record.state == "running"]
    beats = [root / "cells" / record.name / f"beat-{record.number}" for record in alive]
    pids = sorted({int(beat.read_text().split()[1]) for beat in beats if beat.exists()})
    pids = [pid for pid in pids if psutil.pid_exists(pid)]
    return int(rng.choice(pids)) if pids else None


def _is_runner(process: psutil.Process, root: Path) -> bool:
    command = process.info["cmdline"] or []
    return "trainers.backend.runner" in command and str(root) in command


def _app(root: Path) -> subprocess.Popen[bytes]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    isoplan = str(Path(sys.executable).with_name("isoplan"))
    command = [isoplan, "app", "--no-browser", "--port", str(port), "--workspace", str(root)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _rows(root: Path) -> tuple[int, int]:
    """How many rows the run table of the family has, and of how many cells."""
    with open_workspace(root) as db:
        rows = tables.frame(db, cells.table_of(FAMILY))
    return len(rows), rows["seed"].nunique()


def _alone(root: Path, cell: Cell) -> tuple[float, float]:
    """Loss and seconds of a cell that nobody kills."""
    root.mkdir()
    queue = Queue(root)
    (name,) = queue.add(find_family(FAMILY, root), [cell])
    run_cell(str(queue.folder(name)), queue.lease(name, "alone"))
    record = queue.find(name)
    assert record.result is not None
    return _loss(record), float(record.result["seconds"])


def _loss(record: Record) -> float:
    assert record.result is not None
    return float(record.result["metrics"]["loss"])
