"""How fast this machine trains a family: short cells, run in a workspace of their own that is thrown away."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from engine.errors import PlannerError
from trainers.backend.events import curve, last
from trainers.backend.machine import Machine, fits
from trainers.backend.queue import Queue, size_of
from trainers.backend.record import CELLS, SWEEPS, Record
from trainers.backend.start import own_environment
from trainers.cell import Cell, Family

LIMIT = 20.0
"""Seconds that a calibration may take in all."""
LAST = 6.0
"""Seconds of them that a cell has to stop, and to say how far it came."""
LEFT_OUT = {CELLS, SWEEPS, "logs", "owner.json"}


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

    Raises PlannerError with the sentence of a cell that fails.
    """
    with tempfile.TemporaryDirectory(prefix="isoplan-") as place:
        own = Path(place)
        _borrow(root, own)
        queue = Queue(own)
        names = queue.add(family, cells)
        device = fits(machine, family.needs(cells[0]), []) or "cpu"
        for name in names:
            queue.lease(name, "calibration", device=device)
        _run(queue, list(dict.fromkeys(names)), device, limit)
        records = queue.scan()
        found = [_measured(family, cell, records[name], own) for name, cell in zip(names, cells, strict=True)]
    return [measured for measured in found if measured]


def _borrow(root: Path, own: Path) -> None:
    """Let cells find there what they may read in the workspace: descriptions of programs, data."""
    for entry in root.iterdir():
        if entry.name not in LEFT_OUT and not entry.name.startswith(".") and ".duckdb" not in entry.name:
            (own / entry.name).symlink_to(entry.resolve())


def _run(queue: Queue, names: list[str], device: str, limit: float) -> None:
    """Run the cells in a process of their own; ask them to stop when time is up, and then end it."""
    command = [sys.executable, "-P", "-m", "trainers.backend.calibration", str(queue.root), device, *names]
    with (queue.root / "calibration.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=queue.root,
            env=own_environment(),
            start_new_session=True,
        )
    try:
        if not _ends(process, limit - LAST):
            for name in names:
                queue.stop(name, 1, "calibration")
            _ends(process, LAST)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _ends(process: subprocess.Popen[bytes], seconds: float) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(max(seconds, 0.1))
    return process.poll() is not None


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
    from trainers.backend.work import run_cell

    root, device, *names = sys.argv[1:]
    for name in names:
        run_cell(str(Path(root) / CELLS / name), 1, device)


if __name__ == "__main__":
    main()
