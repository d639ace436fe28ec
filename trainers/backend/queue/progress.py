"""Progress of a sweep: pace of running attempts, device hours, time left, caps."""

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
"""What cells report as the samples that they have seen."""

SIMULATED, TO_SIMULATE = "simulated", "to_simulate"
"""What cells report of the samples that they simulate before they train: so far, and in all."""


@dataclass(frozen=True)
class Pace:
    """How far an attempt is, 0 to 1, and how fast lately, per second; None where it does not say.

    ``simulated`` are the samples that it has simulated and how many it needs, while it does not train yet.
    """

    share: float | None = None
    speed: float | None = None
    samples: float | None = None
    simulated: tuple[float, float | None] | None = None


def pace(folder: Path, number: int) -> Pace:
    """How far attempt ``number`` is and how fast: ``speed`` in shares, ``samples`` in samples a second.

    One that has not said anything is as far as the one before it.
    """
    points = recent(folder, number)
    latest = points[-1] if points else last(folder, number)
    shares = [(point.at, share) for point in points if (share := _share(point)) is not None]
    samples = [(point.at, point.values[SAMPLES]) for point in points if SAMPLES in point.values]
    return Pace(_share(latest) if latest else None, _slope(shares), _slope(samples), simulation(latest))


def simulation(latest: Point | None) -> tuple[float, float | None] | None:
    """Samples simulated so far and to simulate in all; None where the attempt trains, or does not say."""
    if latest is None or latest.step or SIMULATED not in latest.values:
        return None
    return latest.values[SIMULATED], latest.values.get(TO_SIMULATE)


def _share(point: Point) -> float | None:
    return min(point.step / point.total, 1.0) if point.total else None


def _slope(points: Sequence[tuple[float, float]]) -> float | None:
    """The mean slope of points by time; None where there are not two that tell."""
    if len(points) < 2 or points[-1][0] <= points[0][0]:
        return None
    return max(points[-1][1] - points[0][1], 0.0) / (points[-1][0] - points[0][0])


OPEN = ("queued", "running", "stopping", "held")
"""States of cells that are still to be trained."""


@dataclass(frozen=True)
class Progress:
    """A sweep as it stands: cells by ``state``, and the ``share`` that is trained, by FLOPs where they are known.

    ``hours`` are device hours and ``money`` what they cost; ``left`` seconds are still to wait at the measured rate,
    ``samples`` are seen a second by all running cells, ``utilisation`` is theirs of the peak of their devices;
    ``simulated`` are the samples that running cells have simulated and will, before they train. None where nothing
    tells.
    """

    states: Mapping[str, int]
    share: float
    hours: float
    money: float | None
    left: float | None
    samples: float | None
    utilisation: float | None
    simulated: tuple[float, float | None] | None = None

    @property
    def total(self) -> int:
        """All cells of the sweep that have not been deleted."""
        return sum(self.states.values())

    @property
    def over(self) -> bool:
        """Whether nothing of it will run by itself any more."""
        return not any(self.states.get(state) for state in ("queued", "waiting", "running", "stopping"))


def device_seconds(record: Record, running: float = 0.0, after: int = 0) -> float:
    """What the attempts of a cell took: seconds of a GPU, or of cores. Those up to number ``after`` are left out.

    ``running`` are the seconds of the one under way. An attempt whose process died counts as long as it beat.
    """
    ended = sum(
        float(result.get("seconds", 0.0)) * devices(record, result)
        for number, result in record.results.items()
        if number > after
    )
    return ended + (running * devices(record, record.lease) if record.result is None else 0.0)


def devices(record: Record, said: Mapping[str, Any]) -> int:
    """How many devices a cell takes, by what its lease or a result says: one GPU, or as many cores as threads."""
    return 1 if str(said.get("device", "cpu")).startswith("cuda") else int(record.cell.get("threads", 1))


def used_hours(sweep: Sweep, records: Mapping[str, Record], root: Path) -> float:
    """Device hours that the cells of a sweep have taken since it was asked for; a cell of two counts in both."""
    seconds, before = 0.0, dict(zip(sweep.cells, sweep.before, strict=False))
    for name in sweep.cells:
        record = records.get(name)
        if record is None or not record.number:
            continue
        running = lived(root / CELLS / name, record.number) if record.result is None else 0.0
        seconds += device_seconds(record, running, before.get(name, 0))
    return seconds / 3600


def over_cap(sweep: Sweep, records: Mapping[str, Record], root: Path) -> str:
    """Why a sweep must wait, in one sentence, where it has used what it may and is not at its end; empty otherwise."""
    cap = sweep.order.cap
    if cap.hours is None or sweep.waits:
        return ""
    if not any(name in records and records[name].state in OPEN for name in sweep.cells):
        return ""
    used = used_hours(sweep, records, root)
    if used < cap.hours:
        return ""
    return f"The sweep has used {cap.say(used)} of the {cap.text} that it may: raise its cap, and its cells go on."


def progress(
    sweep: Sweep,
    records: Mapping[str, Record],
    told: Mapping[str, CellPolicy],
    root: Path,
    cores: int = 1,
    peak: float | None = None,
    look: Callable[[Path, int], Pace] = pace,
) -> Progress:
    """How far ``sweep`` is among the ``records`` of its workspace ``root``.

    ``cores`` run cells where none runs yet; ``peak`` is what one GPU can do at most, FLOP/s. ``look`` tells how far a
    running attempt is.
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
        _utilisation(running, paces, flops, peak),
        max((found.simulated for found in paces.values() if found.simulated), default=None, key=lambda pair: pair[0]),
    )


def _left(
    there: list[Record], weights: Mapping[str, float], done: Mapping[str, float], root: Path, cores: int
) -> float | None:
    """Seconds until the open cells are trained, at the device seconds that a FLOP has taken so far."""
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


def _utilisation(
    running: list[Record], paces: Mapping[str, Pace], flops: Mapping[str, float], peak: float | None
) -> float | None:
    """What the running cells on GPUs reach of the peak of these GPUs."""
    on = [record for record in running if str(record.lease.get("device", "")).startswith("cuda")]
    speeds = [(flops[r.name] * speed) for r in on if r.name in flops and (speed := paces[r.name].speed) is not None]
    gpus = {str(record.lease["device"]) for record in on}
    return sum(speeds) / (peak * len(gpus)) if peak and speeds else None
