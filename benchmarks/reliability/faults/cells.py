"""Cells for trials. A trial stops its cells early or runs them to the end.

The program of the cells is fast, and its exact loss is known.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store.record import CHECKPOINT, Record
from isoplan.trainers.backend.worker.attempt_process import run_cell
from isoplan.trainers.families import find_family, read_cell
from tests import progress

FAMILY, STEPS = "sum", 12
PAUSE = "program.py.pause"
"""While a file of this name is in the workspace, programs wait after their first step."""
ROOT = Path(__file__).parents[3]
PROGRAM = """
import json, os, signal, sys, time
given, PAUSE = json.loads(sys.stdin.readline()), sys.argv[0] + ".pause"
cell, place = given["cell"], given["checkpoint"]
ending = []
signal.signal(signal.SIGTERM, lambda *_: ending.append(1))
first, total = 0, 0.0
if given["resume"]:
    try:
        with open(given["resume"], encoding="utf-8") as kept:
            first, total = json.load(kept)
        first, total = int(first), float(total)
    except (ValueError, TypeError) as error:
        print("The checkpoint cannot be read, and the cell begins again:", error, file=sys.stderr)
for step in range(first + 1, cell["steps"] + 1):
    time.sleep(cell["wait"])
    total += (1 + cell["seed"]) / step**2
    with open(place + ".new", "w") as kept:
        json.dump([step, total], kept)
    os.replace(place + ".new", place)
    print(json.dumps({"step": step, "total": cell["steps"], "loss": total}), flush=True)
    while os.path.exists(PAUSE) and not ending:
        time.sleep(0.005)
    if ending:
        sys.exit(0)
print(json.dumps({"result": {"loss": total, "ran": cell["steps"] - first}}))
"""
DESCRIBED = """
[sum]
title = "A sum"
command = ["{{python}}", "-I", "-S", {program}]
silence = 120
[sum.fields.steps]
kind = "integer"
default = 12
[sum.fields.wait]
kind = "number"
default = 0.01
"""


def workspace(root: Path) -> Path:
    """Create a workspace with a program that adds up a sum in steps, and return its path.

    The program continues from its checkpoint.
    """
    from benchmarks.reliability.commands import as_toml

    root.mkdir(parents=True, exist_ok=True)
    program = root / "program.py"
    program.write_text(PROGRAM)
    (root / "programs.toml").write_text(DESCRIBED.format(program=as_toml(str(program))), encoding="utf-8")
    return root


def loss(seed: int, steps: int = STEPS) -> float:
    """Return the exact loss of a cell that is not disturbed."""
    total = 0.0
    for step in range(1, steps + 1):
        total += (1 + seed) / step**2
    return total


def add(root: Path, cells: Sequence[Mapping[str, Any]], family: str = FAMILY) -> list[str]:
    """Add cells to the queue and return their names."""
    found = find_family(family, root)
    return Queue(root).add(found, [read_cell(found, dict(cell)) for cell in cells])


def stop_early(root: Path, name: str) -> Record:
    """Run one attempt of a cell and stop it after the first step, so that all of its files exist. Return its record."""
    queue, pause = Queue(root), root / PAUSE
    number, checkpoint = queue.lease(name, "test"), queue.folder(name) / CHECKPOINT

    def stop() -> None:
        progress.wait(checkpoint.exists, root, pause=0.005)
        queue.stop(name, number, "runner")

    pause.touch()
    stopping = threading.Thread(target=stop, daemon=True)
    stopping.start()
    run_cell(str(queue.folder(name)), number)
    stopping.join()
    pause.unlink()
    return queue.find(name)


def finish(root: Path, name: str) -> Record:
    """Run one attempt of a cell to its end in this process, and return its record."""
    queue = Queue(root)
    run_cell(str(queue.folder(name)), queue.lease(name, "test"))
    return queue.find(name)


def runner(root: Path, more: Mapping[str, str] | None = None, cores: int = 2) -> subprocess.Popen[bytes]:
    """Start a runner that ends one second after its last cell. ``more`` are additional environment variables."""
    command = [
        sys.executable,
        "-P",
        "-m",
        "isoplan.trainers.backend.runner.loop",
        "--workspace",
        str(root),
        "--cores",
        str(cores),
    ]
    given = dict(more or {})
    given["PYTHONPATH"] = os.pathsep.join(filter(None, (given.get("PYTHONPATH"), str(ROOT))))
    with (root / "runner.log").open("ab") as log:
        return subprocess.Popen(
            [*command, "--idle", "1"],
            env={**os.environ, **given},
            stdout=log,
            stderr=log,
            cwd=root,
        )


def run_all(root: Path, more: Mapping[str, str] | None = None) -> dict[str, Record]:
    """Start a runner, wait until it ends by itself with exit code 0, and return the records of all cells."""
    process = runner(root, more)
    try:
        code = progress.end(process, root)
    finally:
        process.kill()
        process.wait()
    if code:
        raise RuntimeError(f"the runner ended with code {code}: {(root / 'runner.log').read_text()[-2000:]}")
    return Queue(root).scan()


def outcome(record: Record) -> str:
    """Return the result of a cell as text: whether its loss is right, and whether it continued or started again.

    For a failed cell, the text is the reason.
    """
    if record.state != "done":
        why = f": {record.result['why']}" if record.result and "why" in record.result else ""
        return f"{record.state}{why}"
    metrics = (record.result or {})["metrics"]
    steps = int(record.cell["steps"])
    right = metrics["loss"] == loss(int(record.cell["seed"]), steps)
    return f"done, {'loss right' if right else 'LOSS WRONG'}, {'went on' if metrics['ran'] < steps else 'began again'}"
