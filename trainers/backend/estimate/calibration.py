"""Training speed of a family: measured in short cells, or taken from earlier cells."""

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
from pathlib import Path
from statistics import harmonic_mean, mean, median
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.cluster.machine import Machine, at_once
from isoplan.trainers.backend.queue.cells import Queue, size_of
from isoplan.trainers.backend.runner.runner_process import own_environment
from isoplan.trainers.backend.store.attempt_curves import curve, last
from isoplan.trainers.backend.store.record import BACKBONES, CELLS, SWEEPS, Record
from isoplan.trainers.cell import Cell, Family

LIMIT = 20.0
"""Seconds that a calibration may take in all."""
LAST = 6.0
"""Seconds of them that a cell has to stop, and to say how far it came."""
COPIES = 8
"""Copies of a short cell that run beside one another, at most."""
SEEDS = 2**31
LEFT_OUT = {CELLS, SWEEPS, BACKBONES, "logs", "owner.json"}


@dataclass(frozen=True)
class Measured:
    """A short cell that ran: ``speed`` in FLOP/s once it trained, seconds to start it, bytes that it left."""

    cell: Cell
    speed: float
    overhead: float
    disk: float


def calibrate(
    root: Path, family: Family[Any], cells: Sequence[Cell], machine: Machine, limit: float = LIMIT
) -> list[Measured]:
    """Run ``cells``, which are short, one after another and for at most ``limit`` seconds in all; those that tell.

    As many of each run beside one another as the machine takes, with other seeds: alone a cell would be faster than
    in a grid. Raises PlannerError with the sentence of a cell that fails.
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
    """Several copies of a cell as one: the speed at which all of them together were trained."""
    return Measured(
        found[0].cell,
        harmonic_mean([one.speed for one in found]),
        mean(one.overhead for one in found),
        mean(one.disk for one in found),
    )


def _borrow(root: Path, own: Path) -> None:
    """Let cells find there what they may read in the workspace: descriptions of programs, data."""
    for entry in root.iterdir():
        if entry.name not in LEFT_OUT and not entry.name.startswith(".") and ".duckdb" not in entry.name:
            (own / entry.name).symlink_to(entry.resolve())


def _run(queue: Queue, commands: Sequence[Sequence[str]], limit: float) -> None:
    """Run cells in processes of their own; ask them to stop when time is up, and then end them."""
    until = time.monotonic() + limit
    command = [sys.executable, "-P", "-m", "isoplan.trainers.backend.estimate.calibration"]
    with (queue.root / "calibration.log").open("wb") as log, contextlib.ExitStack() as ended:
        processes = []
        for more in commands:
            process = subprocess.Popen(
                [*command, *more],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=queue.root,
                env=own_environment(),
                start_new_session=True,
            )
            ended.callback(_end, process)
            processes.append(process)
        if not _all_end(processes, until - LAST):
            for record in queue.scan().values():
                queue.stop(record.name, record.number, "calibration")
            _all_end(processes, until)


def _all_end(processes: Sequence[subprocess.Popen[bytes]], until: float) -> bool:
    """Whether all ``processes`` end before the moment ``until``."""
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(until - time.monotonic(), 0.1))
    return all(process.poll() is not None for process in processes)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _measured(family: Family[Any], cell: Cell, record: Record, root: Path) -> Measured | None:
    """What a cell tells that ended, or was stopped on its way; None where it says nothing of its speed."""
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


def main() -> None:
    """Run the cells that are named, each under the lease that it has."""
    from isoplan.trainers.backend.worker.attempt_process import run_cell

    root, device, *names = sys.argv[1:]
    for name in names:
        run_cell(str(Path(root) / CELLS / name), 1, device)


if __name__ == "__main__":
    main()


NEAREST = 5
"""Cells whose speed is used. Left out one at a time, half of the bundled cells are predicted within a factor of 1.7."""


@dataclass(frozen=True)
class Earlier:
    """A trained cell: parameters ``N``, compute ``C`` in FLOPs, and the ``seconds`` that it took; all above 0."""

    N: float
    C: float
    seconds: float


def seconds_of(N: float | None, C: float | None, earlier: Sequence[Earlier]) -> float:
    """Predict the seconds of a cell: its FLOPs at the median speed of the cells nearest in log C and log N.

    Without FLOPs it is the median of the seconds. ``earlier`` must not be empty.
    """
    if not C:
        return median(one.seconds for one in earlier)

    def distance(one: Earlier) -> float:
        return math.log(one.C / C) ** 2 + (math.log(one.N / N) ** 2 if N else 0.0)

    near = sorted(earlier, key=distance)[:NEAREST]
    return C / median(one.C / one.seconds for one in near)
