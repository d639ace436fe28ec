"""Learning curves of training runs ("cells"). A curve joins the events of all attempts of a run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isoplan.trainers.backend.store.record import events_of, log_of

TAIL = 256 * 1024
"""Maximum number of bytes of a log that pages show. If a log is longer, only its end is shown."""
RECENT = 4096
"""Number of bytes read from the end of an events file to determine the current progress of a cell."""


@dataclass(frozen=True)
class Point:
    """A point of a learning curve, from one line of an events file.

    ``step`` is the number of steps so far, ``total`` the total number, ``at`` the time in seconds since 1970, and
    ``values`` contains the measured values by name.
    """

    step: int
    total: int | None
    at: float
    values: dict[str, float]


def curve(folder: Path, number: int) -> list[Point]:
    """Return the learning curve of the cell in ``folder`` over its first ``number`` attempts, sorted by step.

    An attempt that resumes from a checkpoint repeats some steps. The points of the later attempt then replace the
    earlier points. Incomplete lines are skipped.
    """
    found: list[Point] = []
    for attempt in range(1, number + 1):
        for i, point in enumerate(_points(_tail(events_of(folder, attempt))[0])):
            if i == 0:
                found = [old for old in found if old.step < point.step]
            found.append(point)
    return found


def of_one_rate(points: list[Point], rate: float | None) -> list[Point]:
    """Return the points with the learning rate ``rate``.

    A cell that tries several learning rates in turn reports the value ``rate`` with each point. If no point has the
    learning rate ``rate``, the points with the last reported rate are returned. If no point reports a rate, all points
    are returned.
    """
    said = [point.values["rate"] for point in points if "rate" in point.values]
    kept = rate if rate in said else said[-1] if said else None
    return [point for point in points if point.values.get("rate", kept) == kept]


def last(folder: Path, number: int) -> Point | None:
    """Return the last point of attempt ``number``, or of the latest earlier attempt that has points.

    Only the end of an events file is read.
    """
    for attempt in range(number, 0, -1):
        if found := recent(folder, attempt):
            return found[-1]
    return None


def recent(folder: Path, number: int) -> list[Point]:
    """Return the latest points of attempt ``number``, oldest first, from the last 4 kB of its events file."""
    return _points(_tail(events_of(folder, number), RECENT)[0])


def log_tail(folder: Path, number: int) -> str:
    """Return the last 256 kB of the output of attempt ``number``, or "" if it printed nothing."""
    data, skipped = _tail(log_of(folder, number), TAIL)
    text = data.decode(errors="replace")
    return text if not skipped else f"(not shown: the first {skipped:,} bytes of the file)\n{text}"


def _tail(place: Path, most: int | None = None) -> tuple[bytes, int]:
    """Return the last ``most`` bytes of a file (all if None), and the number of bytes that were skipped before them."""
    try:
        with place.open("rb") as file:
            skipped = 0 if most is None else max(place.stat().st_size - most, 0)
            file.seek(skipped)
            return file.read(), skipped
    except OSError:
        return b"", 0


def _points(lines: bytes) -> list[Point]:
    return [point for line in lines.split(b"\n") if (point := _point(line)) is not None]


def _point(line: bytes) -> Point | None:
    try:
        said: dict[str, Any] = json.loads(line)
        values = {name: float(x) for name, x in said.items() if name not in ("step", "total", "at")}
        total = said.get("total")
        return Point(int(said["step"]), None if total is None else int(total), float(said["at"]), values)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None
