"""Training speed of a model family: measured in short training runs ("cells"), or computed from earlier ones."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from statistics import harmonic_mean, mean, median
from typing import Any

import numpy as np

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.cluster.machine import Machine, at_once
from isoplan.trainers.backend.queue.cells import Queue, size_of
from isoplan.trainers.backend.runner.runner_process import start_module
from isoplan.trainers.backend.store.attempt_curves import curve, last
from isoplan.trainers.backend.store.record import BACKBONES, CELLS, SWEEPS, Record
from isoplan.trainers.cell import Cell, Family

LIMIT = 20.0
"""Maximum total time of a calibration in seconds."""
LAST = 6.0
"""Time in seconds between the stop request and the time limit.

After the stop request, the running cells stop and report their progress.
"""
COPIES = 8
"""Maximum number of copies of a short cell that run in parallel."""
SEEDS = 2**31
LEFT_OUT = {CELLS, SWEEPS, BACKBONES, "logs", "owner.json"}


@dataclass(frozen=True)
class Measured:
    """A measured short training run: ``speed`` in FLOP/s, start-up ``overhead`` in seconds, and ``disk`` in bytes."""

    cell: Cell
    speed: float
    overhead: float
    disk: float


def calibrate(
    root: Path, family: Family[Any], cells: Sequence[Cell], machine: Machine, limit: float = LIMIT
) -> list[Measured]:
    """Run the short ``cells`` one after another for at most ``limit`` seconds, and return the measurements.

    A cell alone on a machine is faster than a cell of a grid, because the cells of a grid run in parallel. Therefore,
    copies of each short cell with different seeds run in parallel: as many copies as the machine can run, up to
    ``COPIES``. The result omits cells whose speed could not be measured. Raises PlannerError with the message of a cell
    that fails.
    """
    needs = family.needs(cells[0])
    copies = min(at_once(machine, needs), COPIES)
    with tempfile.TemporaryDirectory(prefix="isoplan-") as place:
        own = Path(place)
        _borrow(root, own)
        queue = Queue(own)
        copied = [[cell.model_copy(update={"seed": (cell.seed + i) % SEEDS}) for cell in cells] for i in range(copies)]
        names = [queue.add(family, some) for some in copied]
        commands = []
        for i, some in enumerate(names):
            device = f"cuda:{i % len(machine.gpus)}" if needs.gpu_memory and machine.gpus else "cpu"
            for name in some:
                queue.lease(name, "calibration", device=device)
            commands.append([str(own), device, *some])
        _run(queue, commands, limit)
        records = queue.scan()
        times = [[_measured(family, cell, records[n[k]], own) for n in names] for k, cell in enumerate(cells)]
    return [_mean([one for one in some if one]) for some in times if any(some)]


def _mean(found: Sequence[Measured]) -> Measured:
    """Average the measurements of all copies of a cell: harmonic mean of the speeds, means of the other values."""
    return Measured(
        found[0].cell,
        harmonic_mean([one.speed for one in found]),
        mean(one.overhead for one in found),
        mean(one.disk for one in found),
    )


def _borrow(root: Path, own: Path) -> None:
    """Link the data and the descriptions of programs of the workspace ``root`` into the temporary workspace ``own``."""
    for entry in root.iterdir():
        if entry.name not in LEFT_OUT and not entry.name.startswith(".") and ".duckdb" not in entry.name:
            (own / entry.name).symlink_to(entry.resolve())


def _run(queue: Queue, commands: Sequence[Sequence[str]], limit: float) -> None:
    """Run one process for each of the ``commands`` and wait for all of them.

    Shortly before the time limit, the running cells are asked to stop. At the time limit, their processes are killed.
    """
    until = time.monotonic() + limit
    with (queue.root / "calibration.log").open("wb") as log, contextlib.ExitStack() as ended:
        processes = []
        for arguments in commands:
            processes.append(start_module("isoplan.trainers.backend.estimate.calibration", arguments, log, queue.root))
            ended.callback(_end, processes[-1])
        if not _all_end(processes, until - LAST):
            for record in queue.scan().values():
                queue.stop(record.name, record.number, "calibration")
            _all_end(processes, until)


def _all_end(processes: Sequence[subprocess.Popen[bytes]], until: float) -> bool:
    """Wait for all ``processes`` until the time ``until``, and return whether all of them have ended."""
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(until - time.monotonic(), 0.1))
    return all(process.poll() is not None for process in processes)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _measured(family: Family[Any], cell: Cell, record: Record, root: Path) -> Measured | None:
    """Return the measurement of a short cell from its record, or None if its speed cannot be computed.

    The cell must have ended. Raises PlannerError with the message of a cell that failed.
    """
    result, folder, flops = record.result or {}, root / CELLS / record.name, family.sizes(cell).C
    if result.get("state") == "failed":
        raise PlannerError(str(result["why"]))
    if not flops or "begun" not in result:
        return None
    points = curve(folder, 1)
    begun = datetime.fromisoformat(result["begun"]).timestamp()
    overhead = max(points[0].at - begun, 0.0) if points else 0.0
    share, seconds = 1.0, float(result["seconds"])
    if result["state"] != "done":
        latest = last(folder, 1)
        if latest is None or not latest.total:
            return None
        share, seconds = latest.step / latest.total, latest.at - begun
    trained = seconds - overhead
    if trained <= 0 or share <= 0:
        return None
    return Measured(cell, flops * share / trained, overhead, float(size_of(folder)))


REFERENCE = 120e9
"""Speed in FLOP/s that ``core_speed`` measured for one core of the machine on which the bundled cells were trained."""
ORDER, TRIES = 64, 30
"""Order of the matrices that ``core_speed`` multiplies, and number of timed batches. Only the fastest batch counts."""
LEAST_SPEED, MOST_SPEED = 0.25, 4.0


@cache
def core_speed() -> float:
    """Measure the speed of one core of this machine by products of small matrices, in a few milliseconds.

    Returns the speed divided by ``REFERENCE``, limited to the range from 0.25 to 4. Only the fastest of several batches
    counts, so other processes have little effect. The matrices are small enough to be multiplied by a single thread.
    """
    matrix, many = np.ones((ORDER, ORDER), np.float32), 10
    fastest = math.inf
    for _ in range(TRIES):
        begun = time.perf_counter()
        for _ in range(many):
            matrix @ matrix
        fastest = min(fastest, time.perf_counter() - begun)
    return min(max(many * 2 * ORDER**3 / fastest / REFERENCE, LEAST_SPEED), MOST_SPEED)


NEAREST = 5
"""Number of earlier training runs ("cells") that predict the time of a new one.

In leave-one-out tests on the bundled cells, the prediction is within a factor of 1.7 for half of the cells.
"""


@dataclass(frozen=True)
class Earlier:
    """A trained cell: parameters ``N``, compute ``C`` in FLOPs, and training time ``seconds``; all above 0."""

    N: float
    C: float
    seconds: float


def seconds_of(N: float | None, C: float | None, earlier: Sequence[Earlier]) -> float:
    """Return the predicted time in seconds of a cell with ``N`` parameters and ``C`` FLOPs of compute.

    The time is ``C`` divided by the median speed of the ``NEAREST`` earlier cells that are nearest in log C and log N.
    If ``C`` is unknown, the median time of all earlier cells is returned. ``earlier`` must not be empty.
    """
    if not C:
        return median(one.seconds for one in earlier)

    def distance(one: Earlier) -> float:
        return math.log(one.C / C) ** 2 + (math.log(one.N / N) ** 2 if N else 0.0)

    near = sorted(earlier, key=distance)[:NEAREST]
    return C / median(one.C / one.seconds for one in near)


def main() -> None:
    """Run the cells whose names are in the command-line arguments, one after another, each with its existing lease."""
    from isoplan.trainers.backend.worker.attempt_process import run_cell

    root, device, *names = sys.argv[1:]
    for name in names:
        run_cell(str(Path(root) / CELLS / name), 1, device)


if __name__ == "__main__":
    main()
