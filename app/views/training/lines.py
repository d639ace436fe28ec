"""Training curves for the live figure, read from the folders of the cells. Curves of finished cells are cached."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from isoplan.app.figures.training.curves import MOST, Curve, Ends, joined
from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store.attempt_curves import Point, curve, last, of_one_rate
from isoplan.trainers.backend.store.record import ENDED, Record, differing_fields
from isoplan.trainers.cell import Cell, Family, Sizes
from isoplan.trainers.families import own_fields, read_cell

AXES = {"Samples": "D", "Compute": "C", "Training steps": "step"}
"""Role on the x axis of the curves, by the name of the axis on the page and in the link."""
COLOURS = {"Size": "N", "Data": "D", "Compute": "C"}
"""Role that the colour of the curves shows, by the name of the role on the page and in the link."""
LOOKED_AT = 500
"""Number of cells, evenly sampled, whose N, D and C determine the ranges of the x axis and of the colours."""
Pairs = list[tuple[float, float]]


def sizes_of(family: Family[Any], record: Record) -> Sizes:
    """Return N, D, U and C of a cell; all are None if the current version of the program cannot read the cell."""
    return _sizes(family, tuple(record.cell.items()))


@lru_cache(maxsize=40_000)
def _sizes(family: Family[Any], fields: tuple[tuple[str, Any], ...]) -> Sizes:
    try:
        return family.sizes(read_cell(family, dict(fields)))
    except PlannerError:
        return Sizes()


def varied(family: Family[Any], records: Sequence[Record]) -> list[str]:
    """Return the names of the fields in which the cells differ, in the order of the form."""
    known = [*own_fields(family), *Cell.model_fields]
    return sorted(differing_fields(records), key=lambda field: known.index(field) if field in known else 0)


def label(record: Record, fields: Sequence[str]) -> str:
    """Return the values of ``fields`` as text, such as ``width 8, samples 65,536``.

    Without values, the text is the start of the cell's name.
    """
    shown = [f"{field} {_said(record.cell[field])}" for field in fields if field in record.cell]
    return ", ".join(shown) or record.name[:8]


def _said(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def curves(queue: Queue, family: Family[Any], records: Sequence[Record], x: str, by: str = "C") -> list[Curve]:
    """Return the curves of started cells over the axis ``x``. The colour shows the role ``by`` (C, N or D).

    If more than ``MOST`` cells have started, ``MOST`` of these cells are selected. Cells that have not ended are
    selected first. The selection of ended cells is the same in every run of the page.
    """
    begun = [record for record in records if record.number]
    chosen = sorted(begun, key=lambda record: (record.state in ENDED, record.name))[:MOST]
    fields = varied(family, records)
    made = (_curve(queue, family, record, x, by, label(record, fields)) for record in chosen)
    return [one for one in made if one is not None]


def spans(
    family: Family[Any], records: Sequence[Record], x: str, by: str = "C"
) -> tuple[float | None, tuple[float, float] | None]:
    """Return the final ``x`` of the largest cell, and the smallest and the largest value of the role ``by``.

    A value is None if it is not known. If there are many cells, only every k-th cell is used, because sizes vary evenly
    over a grid.
    """
    some = [*records[:: max(len(records) // LOOKED_AT, 1)], *records[-1:]]
    sizes = [sizes_of(family, record) for record in some]
    ends = [end for size in sizes if (end := _whole(size, x))]
    shades = [shade for size in sizes if (shade := _shade(size, by))]
    return max(ends, default=None), (min(shades), max(shades)) if shades else None


def _shade(size: Sizes, by: str) -> float | None:
    """Return the size ``by`` of a cell. If ``by`` is "D" and D is not known yet, return U."""
    return size.D or size.U if by == "D" else size.N if by == "N" else size.C


def _curve(queue: Queue, family: Family[Any], record: Record, x: str, by: str, text: str) -> Curve | None:
    size, folder = sizes_of(family, record), queue.folder(record.name)
    points = _pairs(_points(folder, record), x, family.loss, size)
    if record.state == "done" and record.result is not None:
        points = _ended(points, record.result, x, family.loss, size)
    if not points:
        return None
    ends: Ends = "running" if record.state in ("running", "stopping") else "failed" if record.state == "failed" else ""
    return joined(record.name, text, points, _shade(size, by) or math.nan, ends)


def _points(folder: Path, record: Record) -> Sequence[Point]:
    if record.result is None:
        return of_one_rate(curve(folder, record.number), None)
    return _kept(folder, record.number, record.created, dict(record.result.get("metrics") or {}).get("rate_used"))


@lru_cache(maxsize=1000)
def _kept(folder: Path, number: int, created: str, rate: float | None) -> tuple[Point, ...]:
    return tuple(of_one_rate(curve(folder, number), rate))


def last_said(folder: Path, record: Record) -> Point | None:
    """Return the last logged point of a cell, or None. The last point of an ended cell is cached."""
    if not record.number:
        return None
    return last(folder, record.number) if record.result is None else _last(folder, record.number, record.created)


@lru_cache(maxsize=40_000)
def _last(folder: Path, number: int, created: str) -> Point | None:
    return last(folder, number)


def _pairs(points: Sequence[Point], x: str, y: str, size: Sizes) -> Pairs:
    return [(at, p.values[y]) for p in points if y in p.values and (at := _at(p, x, size)) is not None]


def _at(point: Point, x: str, size: Sizes) -> float | None:
    """Return the position of ``point`` along ``x``; None if it is not known.

    The position is the logged number of steps or samples, or the final ``x`` of the cell times the completed fraction.
    """
    if x == "step":
        return float(point.step)
    seen = point.values.get("samples")
    if x == "D" and seen is not None:
        return seen
    whole = _whole(size, x)
    if whole is None:
        return None
    if seen is not None and size.passed:
        return whole * seen / size.passed
    return whole * point.step / point.total if point.total else None


def _whole(size: Sizes, x: str) -> float | None:
    """Return the final value of the axis ``x`` of a cell; None if it is not known. For D, it is the samples seen."""
    return size.passed if x == "D" else getattr(size, x, None)


def _ended(points: Pairs, result: Mapping[str, Any], x: str, loss: str, size: Sizes) -> Pairs:
    """Return the points of a finished cell with its final result (evaluated loss) as the last point."""
    end = result.get("steps") if x == "step" else _whole(size, x)
    value = dict(result.get("metrics") or {}).get(loss)
    if end is None or value is None:
        return points
    return [*((at, was) for at, was in points if at < end), (float(end), float(value))]
