"""The cost of a grid before its launch: FLOPs, time, device hours and disk.

A cell is one training run, with N parameters and C FLOPs of compute. The estimate uses the first available source:

- Cells of the same model family that were trained on another machine. Their times determine how the time depends on N
  and C. The ratio of the two machines' speeds comes from short cells on this machine. If there are no short cells, the
  ratio comes from cells that finished here. If no cell finished here, it comes from the measured speed of one core.
- Short cells on this machine.
- Cells that finished on this machine.
- The assumed speed ``ASSUMED``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import mean, median
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import duration, si
from isoplan.trainers.backend.cluster.machine import Machine, at_once, devices, this_machine
from isoplan.trainers.backend.estimate.calibration import Earlier, Measured, calibrate, core_speed, seconds_of
from isoplan.trainers.backend.queue.cells import Queue, size_of
from isoplan.trainers.backend.store.attempt_curves import recent
from isoplan.trainers.backend.store.record import CELLS, Record
from isoplan.trainers.cell import Cell, Family, cell_name
from isoplan.trainers.families import read_cell

LOOKED_AT = 50
"""Maximum number of finished cells whose disk use is measured."""
LONG, BRIEF = 5.0, 0.5
"""Minimum times in seconds of a finished cell that is used to compare this machine with another machine.

If the training time of the cell is known, this time must be at least ``BRIEF``. Otherwise, the whole time of the cell
must be at least ``LONG``, so that the start of the cell is negligible.
"""
NEAR = 10.0
"""A finished cell is used if it has at least 1 / ``NEAR`` of the FLOPs of the smallest new cell.

Smaller cells are not used, because evaluation takes most of their time.
"""
MOST_DONE = 200
"""Maximum number of finished cells whose times are used."""

ASSUMED, START, UNCOUNTED = 1e9, 3.0, 60.0
"""Assumptions for a family without finished cells on this machine.

They are the speed of a core in FLOP/s, the time in seconds to start a cell, and the time in seconds of a cell whose
FLOPs are not counted.
"""

Calibrate = Callable[[Path, Family[Any], Sequence[Cell], Machine], list[Measured]]


@dataclass(frozen=True)
class Estimate:
    """The cost of the unfinished cells of a grid (a cell is one training run). Unknown values are None.

    ``seconds`` is the total time on this machine, with cells in parallel. ``hours`` is the number of device hours; a
    device is a GPU or one core. ``longest`` is the time of the slowest cell in seconds, and ``disk`` is in bytes.
    ``basis`` is a sentence about the measurements behind the estimate, and ``source`` is its short form. The time and
    the device hours include ``simulation``, the core time in seconds to simulate missing samples.
    """

    cells: int
    done: int
    flops: float | None
    seconds: float | None
    hours: float | None
    longest: float | None
    disk: float | None
    basis: str
    source: str = ""
    simulation: float = 0.0

    def money(self, price: float | None) -> float | None:
        """Return the cost of the device hours at ``price`` per hour."""
        return None if price is None or self.hours is None else self.hours * price


@dataclass(frozen=True)
class Speeds:
    """A prediction: ``seconds(cell)`` returns the time of a cell, and ``disk`` is the disk use of one cell in bytes.

    ``basis`` is a sentence about the measurements behind the prediction, and ``source`` is its short form.
    """

    seconds: Callable[[Cell], float]
    disk: float
    basis: str
    source: str


def estimate(
    root: Path,
    family: Family[Any],
    cells: Sequence[Cell],
    machine: Machine | None = None,
    measure: Calibrate | None = calibrate,
    earlier: Sequence[Earlier] = (),
    records: Mapping[str, Record] | None = None,
) -> Estimate:
    """Estimate the cost of ``cells`` of the workspace ``root`` on this machine.

    ``earlier`` contains cells of the family that were trained elsewhere. ``records`` contains the cells of the
    workspace. If ``records`` is None, the cells are read from disk. Finished cells cost nothing. ``measure`` runs short
    cells for up to 20 s. If ``measure`` is None, no cell runs. Raises PlannerError if a short cell fails, because the
    cells of the grid would fail too.
    """
    machine = machine or this_machine()
    records = Queue(root).scan() if records is None else records
    names = {cell_name(family, cell): cell for cell in cells}
    left = [cell for name, cell in names.items() if not (name in records and records[name].state == "done")]
    flops = _sum(family.sizes(cell).C for cell in left)
    done = len(names) - len(left)
    if not left:
        return Estimate(len(names), done, 0.0, 0.0, 0.0, 0.0, 0.0, "All cells are done.")
    short = _short(root, family, left, machine, measure) if measure else []
    if earlier:
        speeds = _scaled(root, family, left, earlier, short, records)
    else:
        speeds = _calibrated(family, short) or _finished(root, family, records) or _assumed(family)
    seconds = [speeds.seconds(cell) for cell in left]
    needs = [family.needs(cell) for cell in left]
    each = [s / at_once(machine, need) for s, need in zip(seconds, needs, strict=True)]
    made = family.simulation(left)
    hours = (made or 0.0) / 3600
    hours += sum(s * devices(machine, need) for s, need in zip(seconds, needs, strict=True)) / 3600
    whole = max(math.fsum(each), *seconds) + (made or 0.0) / machine.cores
    basis = speeds.basis + _simulated(made, left)
    disk = speeds.disk * len(left)
    return Estimate(len(names), done, flops, whole, hours, max(seconds), disk, basis, speeds.source, made or 0.0)


def typical(family: Family[Any], cells: Sequence[Cell]) -> tuple[Cell, Cell]:
    """Return two typical cells: the smallest one, and the weighted median of all cells with their FLOPs as weights."""
    sized = sorted(((family.sizes(cell).C or 0.0, i) for i, cell in enumerate(cells)))
    half, spent = sum(C for C, _ in sized) / 2, 0.0
    for C, i in sized:
        spent += C
        if spent >= half:
            return cells[sized[0][1]], cells[i]
    return cells[sized[0][1]], cells[sized[-1][1]]


def _short(
    root: Path, family: Family[Any], cells: Sequence[Cell], machine: Machine, measure: Calibrate
) -> list[tuple[Cell, Measured]]:
    """Measure short versions of the two typical ``cells``; return pairs of the original cell and its measurement.

    The list is empty if the family has no short cells or does not count FLOPs, or if the short cells were too slow to
    be measured.
    """
    chosen = typical(family, cells)
    pairs = [
        (one, cell) for cell in chosen if (one := family.calibration_cell(cell)) is not None and family.sizes(one).C
    ]
    if len(pairs) < 2 or family.sizes(chosen[1]).C is None:
        return []
    of = dict(pairs)
    return [(of[one.cell], one) for one in measure(root, family, list(of), machine)]


def _calibrated(family: Family[Any], short: Sequence[tuple[Cell, Measured]]) -> Speeds | None:
    """Return the prediction from short cells alone, or None if no short cell was measured."""
    if not short:
        return None
    measured = [one for _, one in short]
    speeds = sorted((_work(family, one.cell), one.speed) for one in measured)
    overhead = mean(one.overhead for one in measured)

    def seconds(cell: Cell) -> float:
        return overhead + (family.sizes(cell).C or 0.0) / between(speeds, _work(family, cell))

    slow, fast = min(one.speed for one in measured), max(one.speed for one in measured)
    speed = f"{si(slow, 2)}FLOP/s" if len(measured) == 1 else f"{si(slow, 2)}FLOP/s to {si(fast, 2)}FLOP/s"
    ran = _ran(measured)
    basis = f"Estimated from {ran} that used all of this machine: {speed}, and {overhead:.2g} s to start a cell."
    return Speeds(seconds, mean(one.disk for one in measured), basis, "measured")


def _ran(measured: Sequence[Measured]) -> str:
    return "one short cell" if len(measured) == 1 else f"{len(measured)} short cells"


def between(known: Sequence[tuple[float, float]], work: float) -> float:
    """Return the speed at ``work``, interpolated between the pairs (work, speed) in ``known``.

    The pairs are sorted by work. A power law connects two neighbouring pairs; outside their range the speed is
    constant.
    """
    below = [pair for pair in known if pair[0] <= work]
    above = [pair for pair in known if pair[0] > work]
    if not below or not above:
        return (below[-1] if below else above[0])[1]
    (w0, s0), (w1, s1) = below[-1], above[0]
    return s0 * (s1 / s0) ** (math.log(work / w0) / math.log(w1 / w0)) if w0 > 0 else s1


def _work(family: Family[Any], cell: Cell) -> float:
    """Return the FLOPs per sample in the training of a cell. The speed of the hardware depends on this number.

    If the family does not count samples, return the FLOPs of the whole cell.
    """
    sizes = family.sizes(cell)
    return (sizes.C or 0.0) / (sizes.passed or 1.0)


@dataclass(frozen=True)
class Timing:
    """Times of a finished cell in seconds.

    ``training`` is the time of the training, and ``before`` is the time of all steps before the training. The cell is
    used to measure the speed of this machine if ``training`` is at least ``least``.
    """

    training: float
    before: float
    least: float


def _timing(root: Path, record: Record) -> Timing:
    """Return the times of a finished cell from its learning curve.

    Without a curve, the whole time of the cell counts as training.
    """
    return _timed(root / CELLS / record.name, record.number, record.created, _seconds(record))


@lru_cache(maxsize=4 * MOST_DONE)
def _timed(folder: Path, number: int, created: str, seconds: float) -> Timing:
    steps = [point for point in recent(folder, number) if point.step] if number == 1 else []
    first, final = (steps[0], steps[-1]) if steps else (None, None)
    if first is None or final is None or not first.step < final.step or not first.at < final.at:
        return Timing(seconds, 0.0, LONG)
    training = min((final.at - first.at) * final.step / (final.step - first.step), seconds)
    return Timing(training, seconds - training, BRIEF)


def _done(family: Family[Any], records: Mapping[str, Record]) -> list[tuple[Cell, Record]]:
    """Return the finished cells of the family in this workspace, at most ``MOST_DONE``, with their records."""
    done = [r for r in records.values() if r.family == family.name and r.state == "done" and _seconds(r) > 0]
    return [(cell, record) for record in done[-MOST_DONE:] if (cell := _cell(family, record)) is not None]


def _disk(root: Path, done: Sequence[tuple[Cell, Record]]) -> float:
    return mean(size_of(root / CELLS / record.name) for _, record in done[-LOOKED_AT:]) if done else 0.0


def _finished(root: Path, family: Family[Any], records: Mapping[str, Record]) -> Speeds | None:
    """Return the prediction from the finished cells of the family, or None if there are no finished cells.

    If the family counts FLOPs, the predicted speed is that of finished cells of similar size. Otherwise, the predicted
    time is the mean time of the finished cells.
    """
    done = _done(family, records)
    if not done:
        return None
    times, sizes = [_timing(root, record) for _, record in done], [family.sizes(cell) for cell, _ in done]
    took, flops, disk = sum(one.training for one in times), _sum(size.C for size in sizes), _disk(root, done)
    many = "the one cell" if len(done) == 1 else f"the {len(done)} cells"
    if flops:
        basis = f"Estimated from {many} of this family that finished here, at {si(flops / took, 2)}FLOP/s."
        speeds = [
            Earlier(size.N or 1.0, size.C, one.training) for size, one in zip(sizes, times, strict=True) if size.C
        ]
        start = min(one.before for one in times)
        return Speeds(
            lambda cell: start + seconds_of(family.sizes(cell).N, family.sizes(cell).C, speeds),
            disk,
            basis,
            _finished_here(len(done)),
        )
    source = _finished_here(len(done))
    basis = f"Estimated from {many} of this family that finished here, which took {took / len(done):.2g} s each."
    return Speeds(lambda cell: took / len(done), disk, basis, source)


def _scaled(
    root: Path,
    family: Family[Any],
    cells: Sequence[Cell],
    earlier: Sequence[Earlier],
    short: Sequence[tuple[Cell, Measured]],
    records: Mapping[str, Record],
) -> Speeds:
    """Return the prediction from cells trained elsewhere (with scaled times) and from cells finished here.

    The scale is the time of a cell here, divided by its time elsewhere. It is measured in the short cells and
    interpolated in N. If there are no short cells, the scale is the median over the cells that finished here and are
    not much smaller than ``cells``. If there are no such cells either, the scale comes from the measured speed of one
    core.
    """
    measured, done = [one for _, one in short], _done(family, records)
    scales = sorted((_of(family, cell).N, _ratio(family, cell, one, earlier)) for cell, one in short)
    times = [_timing(root, record) for _, record in done]
    timed = zip(done, times, strict=True)
    least = min(_of(family, cell).C for cell in cells) / NEAR
    sized = [(_of(family, cell, one.training), one.least) for (cell, _), one in timed]
    here = [one for one, brief in sized if one.seconds >= brief and one.C >= least]
    if not scales and here:
        scales = [(1.0, median(one.seconds / seconds_of(one.N, one.C, earlier) for one in here))]
    of_machine = [] if scales else [(1.0, 1 / core_speed())]
    scaled = [Earlier(one.N, one.C, one.seconds * between(scales or of_machine, one.N)) for one in earlier]
    speeds = [*scaled, *here]
    overhead = mean(one.overhead for one in measured) if measured else min((one.before for one in times), default=START)

    def seconds(cell: Cell) -> float:
        sizes = family.sizes(cell)
        return overhead + seconds_of(sizes.N, sizes.C, speeds)

    disk = mean(one.disk for one in measured) if measured else _disk(root, done)
    basis = _basis(len(earlier), _ran(measured) if measured else "", len(here), scales)
    source = "measured" if measured else _finished_here(len(here)) if here else "rough, from bundled cells"
    return Speeds(seconds, disk, basis, source)


def _finished_here(many: int) -> str:
    return f"from {many:,} finished cell{'s' * (many != 1)}"


def _of(family: Family[Any], cell: Cell, seconds: float = 1.0) -> Earlier:
    sizes = family.sizes(cell)
    return Earlier(sizes.N or 1.0, sizes.C or 1.0, seconds)


def _ratio(family: Family[Any], cell: Cell, measured: Measured, earlier: Sequence[Earlier]) -> float:
    """Return the predicted time of ``cell`` on this machine, divided by its predicted time on the other machine.

    The first time uses the speed of the ``measured`` short cell. The second time is predicted from the ``earlier``
    cells.
    """
    size = _of(family, cell)
    return size.C / measured.speed / seconds_of(size.N, size.C, earlier)


def _basis(many: int, ran: str, here: int, scales: Sequence[tuple[float, float]]) -> str:
    """Return the sentence about the basis of an estimate from cells that were trained on another machine.

    ``many`` is the number of these cells, ``ran`` describes the short cells, and ``here`` is the number of cells that
    finished on this machine. ``scales`` contains (N, time on this machine / time on the other machine).
    """
    source = f"Estimated from the training times of {many:,} cells of this family on another machine"
    by = ran or (f"{here:,} cell{'s' * (here != 1)} that finished" if here else "")
    times = " to ".join(dict.fromkeys(f"{scale:.2g}" for _, scale in scales))
    how = (
        f", multiplied by {times} according to {by} here."
        if by
        else ", scaled by the speed of a core. Rough estimate: this machine may be several times faster or slower."
    )
    return f"{source}{how}"


def _simulated(seconds: float | None, cells: Sequence[Cell]) -> str:
    """Return a sentence about the time to simulate samples for ``cells``; "" if no sample must be simulated.

    ``seconds`` is the time on one core; None means that it was not measured.
    """
    if seconds is None:
        simulated = any(getattr(cell, "data", "") == "simulated" for cell in cells)
        return " The time to simulate missing samples is not included." if simulated else ""
    return f" The time includes {duration(seconds)} of one core to simulate the missing samples." if seconds else ""


def _assumed(family: Family[Any]) -> Speeds:
    """Return the prediction for a family without any measured cell, from the assumed speed ``ASSUMED``."""

    def seconds(cell: Cell) -> float:
        C = family.sizes(cell).C
        return UNCOUNTED if C is None else START + C / ASSUMED / max(cell.threads, 1)

    speed = f"{si(ASSUMED, 2)}FLOP/s on each core, or {duration(UNCOUNTED)} for a cell whose FLOPs are not counted"
    basis = f"Rough: no cell of this family has finished here. The estimate assumes {speed}."
    return Speeds(seconds, 0.0, basis, "rough")


def _seconds(record: Record) -> float:
    return float((record.result or {}).get("seconds", 0.0))


def _cell(family: Family[Any], record: Record) -> Cell | None:
    """Return the cell of a record, or None if its fields are not valid in the current version of the family."""
    try:
        return read_cell(family, record.cell)
    except PlannerError:
        return None


def _sum(values: Any) -> float | None:
    terms = list(values)
    return None if not terms or None in terms else math.fsum(terms)
