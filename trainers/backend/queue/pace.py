"""How far running attempts are, and how fast, by what they said last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from isoplan.trainers.backend.store.attempt_curves import Point, last, recent

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
