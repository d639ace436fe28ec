"""Predicted final losses of running cells (training runs), from the curves of the finished cells of the same kind."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from isoplan.engine.curves.curve import TrainingCurve, curve_of
from isoplan.engine.curves.forecast import End, predict_end
from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store.attempt_curves import curve as read_curve
from isoplan.trainers.backend.store.attempt_curves import of_one_rate
from isoplan.trainers.backend.store.record import Record
from isoplan.trainers.cell import Family
from isoplan.trainers.families import read_cell

MOST_FINISHED = 60
"""Maximum number of finished curves that are read. The newest cells are used."""


def forecast_ends(queue: Queue, family: Family[Any], records: Iterable[Record]) -> dict[str, End]:
    """Return the predicted final losses of the running cells of ``family`` in ``records``, by the name of the cell.

    A running cell is compared with the finished cells that have the same values in all fields that are not numbers,
    such as the schedule. Fields that are numbers, such as the width, may differ. Cells whose final loss cannot be
    predicted are left out.
    """
    known, found = [record for record in records if record.family == family.name], dict[str, End]()
    running = [record for record in known if record.state == "running" and record.begun]
    if not running:
        return found
    finished = _finished_curves(queue, family, [record for record in known if record.state == "done"])
    for record in running:
        now = _curve(queue.folder(record.name), record.number, family.loss)
        end = predict_end(now, finished.get(kind_of_cell(record), ()))
        if end is not None:
            found[record.name] = end
    return found


def kind_of_cell(record: Record) -> tuple[tuple[str, object], ...]:
    """Return the fields of a cell that are not numbers. Cells with the same values in these fields are of one kind."""
    return tuple(sorted((name, x) for name, x in record.cell.items() if isinstance(x, str | bool)))


def _finished_curves(
    queue: Queue, family: Family[Any], done: Sequence[Record]
) -> Mapping[tuple[tuple[str, object], ...], list[TrainingCurve]]:
    """Return the curves of the newest finished cells, by the kind of cell."""
    found = dict[tuple[tuple[str, object], ...], list[TrainingCurve]]()
    for record in sorted(done, key=lambda record: record.created, reverse=True):
        same = found.setdefault(kind_of_cell(record), [])
        if len(same) < MOST_FINISHED:
            metrics = dict((record.result or {}).get("metrics") or {})
            end, rate = metrics.get(family.loss), metrics.get("rate_used")
            if isinstance(end, int | float):
                curve = _ended(queue.folder(record.name), record.number, record.created, family.loss, rate, float(end))
                same.append(replace(curve, group=_group(family, record)))
    return found


def _group(family: Family[Any], record: Record) -> str:
    """Return the group of a cell's curve: its number of training samples as text, or "" if this number is unknown."""
    try:
        samples = family.sizes(read_cell(family, record.cell)).passed
    except PlannerError:
        return ""
    return f"{samples:g}" if samples else ""


@lru_cache(maxsize=2_000)
def _ended(folder: Path, number: int, created: str, loss: str, rate: float | None, end: float) -> TrainingCurve:
    """Return the curve of a finished cell. ``created`` distinguishes cells that were deleted and trained again."""
    return _curve(folder, number, loss, rate, end)


def _curve(folder: Path, number: int, loss: str, rate: float | None = None, end: float = math.nan) -> TrainingCurve:
    """Return the loss of a cell against the completed fraction of its steps.

    A point is left out if the total number of steps was unknown.
    """
    points = [
        (point.step / point.total, point.values[loss])
        for point in of_one_rate(read_curve(folder, number), rate)
        if point.total and loss in point.values
    ]
    return curve_of([x for x, _ in points], [y for _, y in points], end)
