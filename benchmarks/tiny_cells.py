"""Overhead of the queue, the runner and Dask per cell (training run).

A thousand tiny cells are compared with direct starts of the same program.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.report import Report, ms
from isoplan.trainers.backend.cluster.machine import this_machine
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.families import find_family, read_cell

CELLS = 1000
COMMAND = ["sh", "-c", "echo '{\"loss\": 1.0}'"]
PROGRAM = """
[tiny]
command = ["sh", "-c", "echo '{\\"loss\\": 1.0}'"]
[tiny.fields.k]
kind = "integer"
"""


def run() -> Report:
    """Add the cells, run them, and report the time from the first finished cell to the last one."""
    workers = this_machine().cores
    with ThreadPoolExecutor(workers) as pool:
        began = time.perf_counter()
        list(pool.map(lambda _: subprocess.run(COMMAND, capture_output=True, check=True), range(CELLS)))
        floor = (time.perf_counter() - began) / CELLS
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "programs.toml").write_text(PROGRAM)
        queue, family = Queue(root), find_family("tiny", root)
        began = time.perf_counter()
        queue.add(family, [read_cell(family, {"k": k}) for k in range(CELLS)])
        added = time.perf_counter() - began
        each, started = _run(root, queue)
    return Report(
        f"Overhead of {CELLS:,} tiny cells",
        f"Shells that print one line each are started, {workers} at a time: directly, and as cells on the local "
        "cluster, with specification, lease, events, log and result on disk. The time per cell is measured from the "
        "first finished cell to the last one. Goal: an overhead below 50 ms per cell.",
        ("what", "time"),
        (
            ("direct start, per cell", ms(floor)),
            ("on the cluster, per cell", ms(each)),
            ("overhead per cell", ms(each - floor)),
            ("adding all cells", ms(added)),
            ("start of runner and workers", ms(started)),
        ),
    )


def _run(root: Path, queue: Queue) -> tuple[float, float]:
    """Run all cells of a workspace. Return the time per cell and the time until the first result, both in seconds."""
    began = time.perf_counter()
    command = [
        sys.executable,
        "-P",
        "-m",
        "isoplan.trainers.backend.runner.loop",
        "--workspace",
        str(root),
        "--idle",
        "0.5",
    ]
    runner = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    first, early = 0.0, 0
    while runner.poll() is None:
        time.sleep(0.1)
        done = sum(record.state == "done" for record in queue.scan().values())
        if done and not first:
            first, early = time.perf_counter(), done
        if done == CELLS:
            runner.wait()
            return (time.perf_counter() - first) / (CELLS - early), first - began
    raise RuntimeError("the runner ended before the cells did")
