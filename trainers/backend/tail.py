"""What running attempts said last: enough of the end of their events to tell how far and how fast they are."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainers.backend.record import events_of

TAIL = 8192
"""Bytes of the end of a file of events that are read."""


@dataclass(frozen=True)
class Pace:
    """How far an attempt is, 0 to 1, and how fast lately, per second; None where it does not say."""

    share: float | None = None
    speed: float | None = None
    samples: float | None = None


def pace(folder: Path, number: int) -> Pace:
    """How far attempt ``number`` is and how fast: ``speed`` in shares, ``samples`` in samples a second."""
    points = last_points(folder, number)
    shares = [(p["at"], p["step"] / p["total"]) for p in points if _number(p, "step", "total", "at") and p["total"] > 0]
    samples = [(p["at"], p["samples"]) for p in points if _number(p, "samples", "at")]
    return Pace(min(shares[-1][1], 1.0) if shares else None, _slope(shares), _slope(samples))


def last_points(folder: Path, number: int) -> list[dict[str, Any]]:
    """The last points of a curve, oldest first; none where the attempt has said nothing."""
    try:
        with events_of(folder, number).open("rb") as file:
            file.seek(max(file.seek(0, 2) - TAIL, 0))
            lines = file.read().split(b"\n")
    except OSError:
        return []
    return [point for line in lines[:-1] if (point := _point(line))]


def _point(line: bytes) -> dict[str, Any] | None:
    """One point; None for a line that begins before the tail does, or was torn by a kill."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _number(point: dict[str, Any], *names: str) -> bool:
    return all(isinstance(point.get(name), int | float) for name in names)


def _slope(points: list[tuple[float, float]]) -> float | None:
    """The mean slope of points by time; None where there are not two that tell."""
    if len(points) < 2 or points[-1][0] <= points[0][0]:
        return None
    return max(points[-1][1] - points[0][1], 0.0) / (points[-1][0] - points[0][0])
