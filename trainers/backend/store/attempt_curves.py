"""How cells went, or go: what their attempts said, joined into one curve."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isoplan.trainers.backend.store.record import events_of, log_of

TAIL = 256 * 1024
"""Bytes of a long log that are shown."""
RECENT = 4096
"""Bytes of the end of a curve that are read to tell how a cell goes now."""


@dataclass(frozen=True)
class Point:
    """One line of a curve: ``step`` of ``total``, when it was said (seconds since 1970), and what was measured."""

    step: int
    total: int | None
    at: float
    values: dict[str, float]


def curve(folder: Path, number: int) -> list[Point]:
    """The curve of the cell in ``folder`` over its first ``number`` attempts, by step.

    An attempt that went on from a checkpoint takes the place of what came after that in the attempts before it. Lines
    that are not whole yet are passed over.
    """
    found: list[Point] = []
    for attempt in range(1, number + 1):
        for i, point in enumerate(_said(events_of(folder, attempt))):
            if i == 0:
                found = [old for old in found if old.step < point.step]
            found.append(point)
    return found


def of_one_rate(points: list[Point], rate: float | None) -> list[Point]:
    """The points at the learning ``rate``, at the last one where that is None.

    A cell that tries several, one after the other, says ``rate`` with its points; of others all points are kept.
    """
    said = [point.values["rate"] for point in points if "rate" in point.values]
    kept = rate if rate in said else said[-1] if said else None
    return [point for point in points if point.values.get("rate", kept) == kept]


def last(folder: Path, number: int) -> Point | None:
    """The last that attempt ``number`` said, or the one before it; reads the end of the file only."""
    for attempt in range(number, 0, -1):
        if found := recent(folder, attempt):
            return found[-1]
    return None


def recent(folder: Path, number: int) -> list[Point]:
    """The last points of attempt ``number``, oldest first: those in the last 4 kB that it wrote."""
    place = events_of(folder, number)
    try:
        with place.open("rb") as file:
            file.seek(max(place.stat().st_size - RECENT, 0))
            lines = file.read().split(b"\n")
    except OSError:
        return []
    return [point for line in lines if (point := _point(line)) is not None]


def log_tail(folder: Path, number: int) -> str:
    """What attempt ``number`` printed, the last 256 kB of it; empty where it printed nothing."""
    place = log_of(folder, number)
    try:
        with place.open("rb") as file:
            skipped = max(place.stat().st_size - TAIL, 0)
            file.seek(skipped)
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return text if not skipped else f"({skipped:,} bytes before this are in the file)\n{text}"


def _said(place: Path) -> Iterator[Point]:
    try:
        lines = place.read_bytes().split(b"\n")
    except OSError:
        return
    for line in lines:
        if (point := _point(line)) is not None:
            yield point


def _point(line: bytes) -> Point | None:
    try:
        said: dict[str, Any] = json.loads(line)
        values = {name: float(x) for name, x in said.items() if name not in ("step", "total", "at")}
        total = said.get("total")
        return Point(int(said["step"]), None if total is None else int(total), float(said["at"]), values)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None
