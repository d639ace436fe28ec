"""Progress of a sweep: speed of running attempts, device hours, remaining time, and its cap."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isoplan.trainers.backend.queue.sweep import CellPolicy, Sweep, state_of
from isoplan.trainers.backend.store.attempt_curves import Point, last, recent
from isoplan.trainers.backend.store.heartbeat import lived
from isoplan.trainers.backend.store.record import CELLS, Record, beat_of

SAMPLES = "samples"
"""Name of the value with which a cell reports the number of processed samples."""

SIMULATED, TO_SIMULATE = "simulated", "to_simulate"
"""Names of the values that a cell reports while it simulates: number of simulated samples so far, and in total."""


@dataclass(frozen=True)
class Pace:
    """Progress of an attempt (0 to 1), and its recent speed in samples per second; None if unknown.

    ``simulated`` is (number of samples simulated so far, number of samples needed) as long as the training has not
    started.
    """

    share: float | None = None
    samples: float | None = None
    simulated: tuple[float, float | None] | None = None


STATES = {
    "done": "done",
    "running": "running",
    "stopping": "stopping",
    "waiting": "waiting for a worker",
    "queued": "queued",
    "held": "held",
    "failed": "failed",
    "cancelled": "cancelled",
}
"""Names of the states for users, in the order in which states are listed."""


def describe_states(counts: Mapping[str, int]) -> str:
    """Return the numbers of cells in each state as text, such as ``5 done, 2 running, 2 queued``."""
    return ", ".join(f"{counts[state]:,} {name}" for state, name in STATES.items() if counts.get(state))


def describe_simulation(made: float, whole: float | None, family: str) -> str:
    """Return the progress of a simulation as text, such as ``simulating jets: 2,300 of 25,000`` for the family jets."""
    what = {"jets": "jets", "amplitudes": "events"}.get(family, "samples")
    return f"simulating {what}: {made:,.0f}" + (f" of {whole:,.0f}" if whole else "")


def pace(folder: Path, number: int) -> Pace:
    """Return the progress and the speed of attempt ``number`` of the cell in ``folder``.

    An attempt that has reported nothing yet has the progress of the previous attempt.
    """
    points = recent(folder, number)
    latest = points[-1] if points else last(folder, number)
    samples = [(point.at, point.values[SAMPLES]) for point in points if SAMPLES in point.values]
    return Pace(_share(latest) if latest else None, _slope(samples), simulation(latest))


def simulation(latest: Point | None) -> tuple[float, float | None] | None:
    """Return (samples simulated so far, samples in total), or None if the attempt does not simulate at present."""
    if latest is None or latest.step or SIMULATED not in latest.values:
        return None
    return latest.values[SIMULATED], latest.values.get(TO_SIMULATE)


def _share(point: Point) -> float | None:
    return min(point.step / point.total, 1.0) if point.total else None


def _slope(points: Sequence[tuple[float, float]]) -> float | None:
    """Return the mean slope between the first and the last of ``points``, which are pairs (time, value).

    Returns None if the points have no two distinct times.
    """
    if len(points) < 2 or points[-1][0] <= points[0][0]:
        return None
    return max(points[-1][1] - points[0][1], 0.0) / (points[-1][0] - points[0][0])


OPEN = ("queued", "running", "stopping", "held")
"""States of cells whose training is not finished."""


@dataclass(frozen=True)
class Progress:
    """Progress of a sweep. Unknown values are None.

    - ``states``: number of cells in each state.
    - ``share``: trained fraction of the sweep, weighted by FLOPs if they are known.
    - ``hours``, ``money``: device hours so far, and their cost.
    - ``left``: remaining time in seconds at the speed so far.
    - ``samples``: samples per second of all running cells.
    - ``utilisation``: always None; scripts that read the JSON of `isoplan cells` expect the key.
    - ``simulated``: (samples simulated so far, samples needed) of the running cell that has simulated most.
    """

    states: Mapping[str, int]
    share: float
    hours: float
    money: float | None
    left: float | None
    samples: float | None
    utilisation: None = None
    simulated: tuple[float, float | None] | None = None

    @property
    def total(self) -> int:
        """The number of cells of the sweep that have not been deleted."""
        return sum(self.states.values())

    @property
    def over(self) -> bool:
        """Whether no further cell of the sweep will run unless a user acts."""
        return not any(self.states.get(state) for state in ("queued", "waiting", "running", "stopping"))


def device_seconds(record: Record, running: float = 0.0, after: int = 0) -> float:
    """Return the device seconds (of a GPU or of cores) that a cell has used.

    Only attempts with numbers above ``after`` count. ``running`` is the time of the current attempt so far in seconds.
    An attempt whose process died counts until its last heartbeat.
    """
    ended = sum(
        float(result.get("seconds", 0.0)) * devices(record, result)
        for number, result in record.results.items()
        if number > after
    )
    return ended + (running * devices(record, record.lease) if record.result is None else 0.0)


def devices(record: Record, said: Mapping[str, Any]) -> int:
    """Return the number of devices of an attempt: 1 for a GPU, otherwise one core per thread of the cell.

    ``said`` is the lease or the result of the attempt.
    """
    return 1 if str(said.get("device", "cpu")).startswith("cuda") else int(record.cell.get("threads", 1))


def used_hours(sweep: Sweep, records: Mapping[str, Record], root: Path) -> float:
    """Return the device hours that the cells of a sweep have used since its launch.

    A cell that belongs to two sweeps counts in both.
    """
    seconds, before = 0.0, dict(zip(sweep.cells, sweep.before, strict=False))
    for name in sweep.cells:
        record = records.get(name)
        if record is None or not record.number:
            continue
        running = lived(root / CELLS / name, record.number) if record.result is None else 0.0
        seconds += device_seconds(record, running, before.get(name, 0))
    return seconds / 3600


def over_cap(sweep: Sweep, records: Mapping[str, Record], root: Path) -> str:
    """Return the reason why a sweep must be paused, or "" if it may continue.

    The reason is a sentence if the sweep has reached its cap and has unfinished cells. A sweep that already waits gives
    "".
    """
    cap = sweep.order.cap
    if cap.hours is None or sweep.waits:
        return ""
    if not any(name in records and records[name].state in OPEN for name in sweep.cells):
        return ""
    used = used_hours(sweep, records, root)
    if used < cap.hours:
        return ""
    return f"The sweep has used {cap.say(used)} of its cap of {cap.text}: raise the cap to continue its cells."


def progress(
    sweep: Sweep,
    records: Mapping[str, Record],
    told: Mapping[str, CellPolicy],
    root: Path,
    cores: int = 1,
    look: Callable[[Path, int], Pace] = pace,
) -> Progress:
    """Return the progress of ``sweep``, from the ``records`` of its workspace ``root``.

    ``told`` contains the orders of the sweeps of each cell. ``cores`` is the number of cores that will run cells; it is
    used if no cell runs at present. ``look`` returns the pace of a running attempt.
    """
    flops = dict(zip(sweep.cells, sweep.flops, strict=False))
    there = [records[name] for name in sweep.cells if name in records]
    states: dict[str, int] = {}
    for record in there:
        state = state_of(record, told)
        states[state] = states.get(state, 0) + 1
    weights = {record.name: flops.get(record.name, 1.0) for record in there}
    running = [record for record in there if record.state in ("running", "stopping")]
    paces = {record.name: look(root / CELLS / record.name, record.number) for record in running}
    done = {record.name: 1.0 for record in there if record.state == "done"}
    done |= {name: found.share or 0.0 for name, found in paces.items()}
    trained = sum(weights[name] * share for name, share in done.items())
    hours = used_hours(sweep, records, root)
    cap, whole = sweep.order.cap, sum(weights.values())
    return Progress(
        states,
        trained / whole if whole else 1.0,
        hours,
        hours * cap.price if cap.price is not None else None,
        _left(there, weights, done, root, cores),
        _sum(found.samples for found in paces.values()),
        simulated=max(
            (found.simulated for found in paces.values() if found.simulated), default=None, key=lambda pair: pair[0]
        ),
    )


def _left(
    there: list[Record], weights: Mapping[str, float], done: Mapping[str, float], root: Path, cores: int
) -> float | None:
    """Return the seconds until all open cells are trained, or None if no cell has made progress.

    The remaining work costs as many device seconds per FLOP as the work so far, on the devices that are busy now.
    """
    to_do = [record for record in there if record.state in OPEN]
    if not to_do:
        return 0.0
    seconds = trained = 0.0
    for record in there:
        if record.name in done:
            running = lived(root / CELLS / record.name, record.number) if record.result is None else 0.0
            seconds += device_seconds(record, running)
            trained += weights[record.name] * done[record.name]
    if not trained or not seconds:
        return None
    rest = sum(weights[record.name] * (1 - done.get(record.name, 0.0)) for record in to_do)
    busy = sum(
        devices(r, r.lease) for r in to_do if r.result is None and beat_of(root / CELLS / r.name, r.number).exists()
    )
    most = sum(devices(record, record.lease) for record in to_do)
    return rest * seconds / trained / min(busy or max(cores, 1), most)


def _sum(values: Any) -> float | None:
    terms = [value for value in values if value is not None]
    return sum(terms) if terms else None
