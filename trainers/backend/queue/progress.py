"""Progress of a sweep: speed of running attempts, device hours, remaining time, and the limit of device hours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isoplan.engine.quantities import duration
from isoplan.trainers.backend.queue.sweep import CellPolicy, Sweep, state_of
from isoplan.trainers.backend.store.attempt_curves import Point, last, recent
from isoplan.trainers.backend.store.heartbeat import lived
from isoplan.trainers.backend.store.record import CELLS, Record, beat_of

SAMPLES = "samples"
"""Name under which a training run reports its number of processed samples."""

SIMULATED, TO_SIMULATE = "simulated", "to_simulate"
"""Names under which a training run reports its simulation: number of simulated samples so far, and in total."""


@dataclass(frozen=True)
class Pace:
    """Progress of an attempt (0 to 1), and its recent speed in samples per second. Unknown values are None.

    ``simulated`` is (number of samples simulated so far, number of samples needed), or None after the first training
    step. ``prepares`` is true until the first training step of the attempt. While ``prepares`` is
    true, ``left`` is the remaining time of the simulation in seconds. Afterwards, ``left`` is the remaining time of the
    training.
    """

    share: float | None = None
    samples: float | None = None
    simulated: tuple[float, float | None] | None = None
    left: float | None = None
    prepares: bool = False


PREPARING = "preparing"
"""State of a running cell that reads or simulates its data, before its first training step."""
STATES = {
    "done": "done",
    "running": "training",
    PREPARING: PREPARING,
    "stopping": "stopping",
    "waiting": "waiting",
    "queued": "waiting",
    "held": "held",
    "failed": "failed",
    "cancelled": "cancelled",
}
"""Names of the states for users, in the order in which states are listed.

Users see the same state for a queued cell and for a submitted cell that waits for a worker.
"""


def describe_states(counts: Mapping[str, int]) -> str:
    """Return the number of cells in each state as text, such as ``5 done, 2 training, 2 waiting``."""
    named: dict[str, int] = {}
    for state, name in STATES.items():
        named[name] = named.get(name, 0) + counts.get(state, 0)
    return ", ".join(f"{count:,} {name}" for name, count in named.items() if count)


def describe_simulation(made: float, whole: float | None, family: str, left: float | None = None) -> str:
    """Return the progress of a simulation as text, such as ``simulating jets: 2,300 of 25,000, 4 min left``.

    ``family`` is the name of the family of the cell.
    """
    what = {"jets": "jets", "amplitudes": "events"}.get(family, "samples")
    text = f"simulating {what}: {made:,.0f}" + (f" of {whole:,.0f}" if whole else "")
    return f"{text}, {duration(left)} left" if left else text


def page_state(record: Record, told: Mapping[str, CellPolicy], folder: Path) -> str:
    """Return the state of the cell in ``folder`` for users: a running cell is ``preparing`` before its first step."""
    state = state_of(record, told)
    return PREPARING if state == "running" and pace(folder, record.number).prepares else state


def pace(folder: Path, number: int) -> Pace:
    """Return the progress and the speed of attempt ``number`` of the cell in ``folder``.

    An attempt that has reported nothing yet has the progress of the previous attempt.
    """
    points = recent(folder, number)
    latest = points[-1] if points else last(folder, number)
    samples = [(point.at, point.values[SAMPLES]) for point in points if SAMPLES in point.values]
    trains = bool(points) and points[-1].step > 0
    left = _training_left(points) if trains else _simulation_left(points)
    return Pace(_share(latest) if latest else None, _slope(samples), simulation(latest), left, not trains)


def _training_left(points: Sequence[Point]) -> float | None:
    """Return the remaining training time in seconds, computed from the recent steps per second, or None if unknown."""
    start = max((i for i in range(1, len(points)) if points[i].step < points[i - 1].step), default=0)
    speed = _slope([(point.at, float(point.step)) for point in points[start:] if point.step])
    last_point = points[-1]
    return (last_point.total - last_point.step) / speed if last_point.total and speed else None


def _simulation_left(points: Sequence[Point]) -> float | None:
    """Return the remaining time of a simulation in seconds at its recent speed, or None if unknown."""
    made = [(point.at, point.values[SIMULATED]) for point in points if SIMULATED in point.values]
    speed, whole = _slope(made), points[-1].values.get(TO_SIMULATE) if points else None
    return max(whole - made[-1][1], 0.0) / speed if whole and speed else None


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
    - ``simulated``: (samples simulated so far, samples needed), for the running cell with the most simulated samples.
    - ``simulation_left``: remaining time of this simulation in seconds.
    """

    states: Mapping[str, int]
    share: float
    hours: float
    money: float | None
    left: float | None
    samples: float | None
    utilisation: None = None
    simulated: tuple[float, float | None] | None = None
    simulation_left: float | None = None

    @property
    def total(self) -> int:
        """The number of cells of the sweep that have not been deleted."""
        return sum(self.states.values())

    @property
    def over(self) -> bool:
        """Whether all cells have ended or are paused, so that only an action of a user starts another cell."""
        return not any(self.states.get(state) for state in ("queued", "waiting", PREPARING, "running", "stopping"))


def device_seconds(record: Record, running: float = 0.0, after: int = 0) -> float:
    """Return the device seconds (of a GPU or of cores) that a cell has used.

    Attempts up to number ``after`` are not counted. ``running`` is the time of the current attempt so far in seconds.
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
    """Return the reason why a sweep must be paused, or "" if it may continue or is paused already.

    A sweep must be paused if it has reached its cap of device hours and has unfinished cells. The reason is a sentence.
    """
    cap = sweep.order.cap
    if cap.hours is None or sweep.waits:
        return ""
    if not any(name in records and records[name].state in OPEN for name in sweep.cells):
        return ""
    used = used_hours(sweep, records, root)
    if used < cap.hours:
        return ""
    return f"The sweep has used {cap.say(used)} of its cap of {cap.text}: raise the cap to continue."


def progress(
    sweep: Sweep,
    records: Mapping[str, Record],
    told: Mapping[str, CellPolicy],
    root: Path,
    cores: int = 1,
    look: Callable[[Path, int], Pace] = pace,
) -> Progress:
    """Return the progress of ``sweep``, from the ``records`` of its workspace ``root``.

    ``told`` contains the combined orders of the sweeps of each cell. ``cores`` is the number of cores that will run
    cells; it is used only if no cell is running. ``look`` returns the pace of a running attempt.
    """
    flops = dict(zip(sweep.cells, sweep.flops, strict=False))
    there = [records[name] for name in sweep.cells if name in records]
    weights = {record.name: flops.get(record.name, 1.0) for record in there}
    running = [record for record in there if record.state in ("running", "stopping")]
    paces = {record.name: look(root / CELLS / record.name, record.number) for record in running}
    states: dict[str, int] = {}
    for record in there:
        state = state_of(record, told)
        state = PREPARING if state == "running" and paces[record.name].prepares else state
        states[state] = states.get(state, 0) + 1
    simulating = max((one for one in paces.values() if one.simulated), default=None, key=_simulated)
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
        _left(there, weights, paces, root, cores),
        _sum(found.samples for found in paces.values()),
        simulated=simulating.simulated if simulating else None,
        simulation_left=simulating.left if simulating else None,
    )


def _simulated(found: Pace) -> float:
    return found.simulated[0] if found.simulated else 0.0


def _left(
    there: list[Record], weights: Mapping[str, float], paces: Mapping[str, Pace], root: Path, cores: int
) -> float | None:
    """Return the seconds until all open cells are trained, or None if no cell has made progress.

    The remaining time of a running cell is computed from its recent speed. For the other open cells, the device seconds
    per FLOP are assumed to equal the mean over all training so far. The number of devices is assumed not to change.
    """
    to_do = [record for record in there if record.state in OPEN]
    if not to_do:
        return 0.0
    parts = [_trained(record, weights[record.name], paces.get(record.name), root) for record in there]
    seconds, trained = (sum(column) for column in zip(*parts, strict=True))
    if not trained or not seconds:
        return None
    rest = {record.name: _rest(record, weights[record.name], paces.get(record.name), seconds / trained)
            for record in to_do}  # fmt: skip
    busy = sum(
        devices(r, r.lease) for r in to_do if r.result is None and beat_of(root / CELLS / r.name, r.number).exists()
    )
    most = sum(devices(record, record.lease) for record in to_do)
    longest = max(rest[record.name] / devices(record, record.lease) for record in to_do)
    return max(sum(rest.values()) / min(busy or max(cores, 1), most), longest)


def _trained(record: Record, weight: float, found: Pace | None, root: Path) -> tuple[float, float]:
    """Return (device seconds of training so far, trained fraction of the cell * ``weight``).

    ``found`` is the pace of a running cell. The time before the first training step does not count if the speed is
    known.
    """
    if record.state == "done":
        return device_seconds(record), weight
    share = found.share or 0.0 if found is not None and not found.prepares else 0.0
    if not share or found is None:
        return 0.0, 0.0
    if found.left is not None and share < 1:
        return found.left * share / (1 - share) * devices(record, record.lease), weight * share
    running = lived(root / CELLS / record.name, record.number) if record.result is None else 0.0
    return device_seconds(record, running), weight * share


def _rest(record: Record, weight: float, found: Pace | None, cost: float) -> float:
    """Return the remaining device seconds of an open cell. ``cost`` is in device seconds per unit of ``weight``."""
    if found is None:
        return weight * cost
    if found.left is not None and not found.prepares:
        return found.left * devices(record, record.lease)
    simulation = (found.left or 0.0) * devices(record, record.lease) if found.prepares else 0.0
    return simulation + weight * (1 - (found.share or 0.0)) * cost


def _sum(values: Any) -> float | None:
    terms = [value for value in values if value is not None]
    return sum(terms) if terms else None
