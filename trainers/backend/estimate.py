"""What a grid will take before it is launched: FLOPs, time, device hours, disk.

Speeds come from short cells on this machine, else from cells of the family that have finished here, else from cells of
the family that were trained elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from engine.errors import PlannerError
from engine.quantities import si
from trainers.backend.calibration import Measured, calibrate
from trainers.backend.earlier import Earlier, seconds_of
from trainers.backend.machine import Machine, at_once, devices, this_machine
from trainers.backend.queue import Queue, size_of
from trainers.backend.record import CELLS, Record
from trainers.cell import Cell, Family, cell_name
from trainers.families import read_cell

LOOKED_AT = 50
"""Finished cells whose disk is looked at."""

Calibrate = Callable[[Path, Family[Any], Sequence[Cell], Machine], list[Measured]]


@dataclass(frozen=True)
class Estimate:
    """What the cells of a grid take that are not done yet; None where nothing tells.

    ``seconds`` are on this machine, all that fit at once; ``hours`` are device hours, of a GPU or of one core;
    ``longest`` is the one cell that takes most, in seconds; ``disk`` is in bytes. ``basis`` says what was measured.
    """

    cells: int
    done: int
    flops: float | None
    seconds: float | None
    hours: float | None
    longest: float | None
    disk: float | None
    basis: str

    def money(self, price: float | None) -> float | None:
        """What the device hours cost at ``price`` each."""
        return None if price is None or self.hours is None else self.hours * price


@dataclass(frozen=True)
class Speeds:
    """How long cells take: ``seconds(cell)``; ``disk`` bytes each; ``basis`` says from what this is known."""

    seconds: Callable[[Cell], float]
    disk: float
    basis: str


def estimate(
    root: Path,
    family: Family[Any],
    cells: Sequence[Cell],
    machine: Machine | None = None,
    measure: Calibrate = calibrate,
    earlier: Sequence[Earlier] = (),
) -> Estimate:
    """What the ``cells`` of the workspace ``root`` will take on this machine; takes up to 20 s itself.

    ``earlier`` are cells of the family that were trained elsewhere. They are used where no short cell runs in time and
    none of the family has finished here. Cells that are done cost nothing. Raises PlannerError where a short cell
    fails, as those of the grid would.
    """
    machine = machine or this_machine()
    records = Queue(root).scan()
    names = {cell_name(family, cell): cell for cell in cells}
    left = [cell for name, cell in names.items() if not (name in records and records[name].state == "done")]
    flops = _sum(family.sizes(cell).C for cell in left)
    done = len(names) - len(left)
    if not left:
        return Estimate(len(names), done, 0.0, 0.0, 0.0, 0.0, 0.0, "All of its cells are done.")
    speeds = _calibrated(root, family, left, machine, measure) or _finished(root, family, records)
    speeds = speeds or _elsewhere(family, left, earlier)
    if speeds is None:
        return Estimate(len(names), done, flops, None, None, None, None, _unknown(family))
    seconds = [speeds.seconds(cell) for cell in left]
    needs = [family.needs(cell) for cell in left]
    each = [s / at_once(machine, need) for s, need in zip(seconds, needs, strict=True)]
    hours = sum(s * devices(machine, need) for s, need in zip(seconds, needs, strict=True)) / 3600
    whole = max(math.fsum(each), *seconds)
    return Estimate(len(names), done, flops, whole, hours, max(seconds), speeds.disk * len(left), speeds.basis)


def typical(family: Family[Any], cells: Sequence[Cell]) -> tuple[Cell, Cell]:
    """The smallest of ``cells`` and the one at which half of all FLOPs are spent, going up in size."""
    sized = sorted(((family.sizes(cell).C or 0.0, i) for i, cell in enumerate(cells)))
    half, spent = sum(C for C, _ in sized) / 2, 0.0
    for C, i in sized:
        spent += C
        if spent >= half:
            return cells[sized[0][1]], cells[i]
    return cells[sized[0][1]], cells[sized[-1][1]]


def _calibrated(
    root: Path, family: Family[Any], cells: Sequence[Cell], machine: Machine, measure: Calibrate
) -> Speeds | None:
    """Speeds by short cells; None where the family has none, does not count FLOPs, or they were too slow to tell."""
    chosen = typical(family, cells)
    short = [one for cell in chosen if (one := family.short(cell)) is not None and family.sizes(one).C]
    if len(short) < 2 or family.sizes(chosen[1]).C is None:
        return None
    measured = measure(root, family, list(dict.fromkeys(short)), machine)
    if not measured:
        return None
    known = sorted((_work(family, one.cell), one.speed) for one in measured)
    overhead = mean(one.overhead for one in measured)

    def seconds(cell: Cell) -> float:
        return overhead + (family.sizes(cell).C or 0.0) / between(known, _work(family, cell))

    slow, fast = min(one.speed for one in measured), max(one.speed for one in measured)
    speed = f"{si(slow, 2)}FLOP/s" if len(measured) == 1 else f"{si(slow, 2)}FLOP/s to {si(fast, 2)}FLOP/s"
    ran = "one short cell" if len(measured) == 1 else f"{len(measured)} short cells"
    basis = f"Estimated from {ran} on this machine, all of it busy: {speed}, and {overhead:.2g} s for a cell to start."
    return Speeds(seconds, mean(one.disk for one in measured), basis)


def between(known: Sequence[tuple[float, float]], work: float) -> float:
    """The speed at ``work`` from pairs of work and speed in rising order: a power law between them, flat beyond."""
    below = [pair for pair in known if pair[0] <= work]
    above = [pair for pair in known if pair[0] > work]
    if not below or not above:
        return (below[-1] if below else above[0])[1]
    (w0, s0), (w1, s1) = below[-1], above[0]
    return s0 * (s1 / s0) ** (math.log(work / w0) / math.log(w1 / w0)) if w0 > 0 else s1


def _work(family: Family[Any], cell: Cell) -> float:
    """FLOPs of one sample, which set how well a machine is used; those of the cell where samples are not counted."""
    sizes = family.sizes(cell)
    return (sizes.C or 0.0) / (sizes.passed or 1.0)


def _finished(root: Path, family: Family[Any], records: Mapping[str, Record]) -> Speeds | None:
    """Speeds by the cells of the family that are done, per FLOP where they are counted; None where there are none."""
    done = [r for r in records.values() if r.family == family.name and r.state == "done" and _seconds(r) > 0]
    pairs = [(cell, _seconds(record)) for record in done if (cell := _cell(family, record)) is not None]
    if not pairs:
        return None
    took = sum(seconds for _, seconds in pairs)
    flops = _sum(family.sizes(cell).C for cell, _ in pairs)
    disk = mean(size_of(root / CELLS / record.name) for record in done[-LOOKED_AT:])
    many = "the one cell" if len(pairs) == 1 else f"the {len(pairs)} cells"
    if flops:
        basis = f"Estimated from {many} of this family that finished here, at {si(flops / took, 2)}FLOP/s."
        return Speeds(lambda cell: (family.sizes(cell).C or 0.0) * took / flops, disk, basis)
    basis = f"Estimated from {many} of this family that finished here, which took {took / len(pairs):.2g} s each."
    return Speeds(lambda cell: took / len(pairs), disk, basis)


def _elsewhere(family: Family[Any], cells: Sequence[Cell], earlier: Sequence[Earlier]) -> Speeds | None:
    """Speeds by cells that were trained on another machine; None where there are none."""
    if not earlier:
        return None

    def seconds(cell: Cell) -> float:
        sizes = family.sizes(cell)
        return seconds_of(sizes.N, sizes.C, earlier)

    simulated = any(getattr(cell, "data", "") == "simulated" for cell in cells)
    without = " The time to simulate missing samples is not included." if simulated else ""
    basis = (
        f"Estimated from the seconds of {len(earlier)} cells of this family that were trained on another machine. "
        f"This machine may be several times faster or slower.{without}"
    )
    return Speeds(seconds, 0.0, basis)


def _unknown(family: Family[Any]) -> str:
    return (
        f"No estimate yet: no cell of the family {family.name} has finished here, and no short cell ran in time. "
        "Launch one small cell first."
    )


def _seconds(record: Record) -> float:
    return float((record.result or {}).get("seconds", 0.0))


def _cell(family: Family[Any], record: Record) -> Cell | None:
    """The cell of a record; None where the family has other fields by now."""
    try:
        return read_cell(family, record.cell)
    except PlannerError:
        return None


def _sum(values: Any) -> float | None:
    found = list(values)
    return None if not found or None in found else math.fsum(found)
