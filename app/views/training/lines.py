"""The curves of cells as the figure takes them: read from their folders, finished ones once."""

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
from isoplan.trainers.backend.store.record import ENDED, Record
from isoplan.trainers.cell import Cell, Family, Sizes
from isoplan.trainers.families import read_cell

AXES = {"Samples": "D", "Compute": "C", "Updates": "step"}
"""What curves are drawn against, by its name on the page and in the link."""
LOOKED_AT = 500
"""Cells whose sizes say where the axes end."""
Pairs = list[tuple[float, float]]


def sizes_of(family: Family[Any], record: Record) -> Sizes:
    """N, D, U and C of a cell; nothing where its program has changed so that they cannot be said."""
    return _sizes(family, tuple(record.cell.items()))


@lru_cache(maxsize=40_000)
def _sizes(family: Family[Any], fields: tuple[tuple[str, Any], ...]) -> Sizes:
    try:
        return family.sizes(read_cell(family, dict(fields)))
    except PlannerError:
        return Sizes()


def varied(family: Family[Any], records: Sequence[Record]) -> list[str]:
    """The fields in which the cells differ, those of the family itself first."""
    seen = {field for record in records for field in record.cell}
    known = [*own_fields(family), *Cell.model_fields]
    ordered = sorted(seen, key=lambda field: known.index(field) if field in known else 0)
    return [field for field in ordered if len({record.cell[field] for record in records if field in record.cell}) > 1]


def own_fields(family: Family[Any]) -> list[str]:
    """The fields of the family's cells that not every cell has."""
    return [field for field in family.cell.model_fields if field not in Cell.model_fields]


def label(record: Record, fields: Sequence[str]) -> str:
    """``width 8, samples 65,536``, or the cell's name where all cells are alike."""
    shown = [f"{field} {_said(record.cell[field])}" for field in fields if field in record.cell]
    return ", ".join(shown) or record.name[:8]


def _said(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def curves(queue: Queue, family: Family[Any], records: Sequence[Record], x: str) -> list[Curve]:
    """The curves of at most ``MOST`` cells that have begun, running ones first, always the same of the others."""
    begun = [record for record in records if record.number]
    chosen = sorted(begun, key=lambda record: (record.state in ENDED, record.name))[:MOST]
    fields = varied(family, records)
    made = (_curve(queue, family, record, x, label(record, fields)) for record in chosen)
    return [one for one in made if one is not None]


def spans(family: Family[Any], records: Sequence[Record], x: str) -> tuple[float | None, tuple[float, float] | None]:
    """How far along ``x`` the largest cell gets, and the compute of the smallest and the largest; None if unknown.

    Of thousands of cells some are looked at: those of a grid lie evenly between its ends.
    """
    some = [*records[:: max(len(records) // LOOKED_AT, 1)], *records[-1:]]
    sizes = [sizes_of(family, record) for record in some]
    ends = [end for size in sizes if (end := _whole(size, x))]
    compute = [size.C for size in sizes if size.C]
    return max(ends, default=None), (min(compute), max(compute)) if compute else None


def _curve(queue: Queue, family: Family[Any], record: Record, x: str, text: str) -> Curve | None:
    size, folder = sizes_of(family, record), queue.folder(record.name)
    points = _pairs(_points(folder, record), x, family.loss, size)
    if record.state == "done" and record.result is not None:
        points = _ended(points, record.result, x, family.loss, size)
    if not points:
        return None
    ends: Ends = "running" if record.state in ("running", "stopping") else "failed" if record.state == "failed" else ""
    return joined(record.name, text, points, size.C or math.nan, ends)


def _points(folder: Path, record: Record) -> Sequence[Point]:
    if record.result is None:
        return of_one_rate(curve(folder, record.number), None)
    return _kept(folder, record.number, record.created, dict(record.result.get("metrics") or {}).get("rate_used"))


@lru_cache(maxsize=1000)
def _kept(folder: Path, number: int, created: str, rate: float | None) -> tuple[Point, ...]:
    return tuple(of_one_rate(curve(folder, number), rate))


def last_said(folder: Path, record: Record) -> Point | None:
    """The last that a cell said; of what has ended it is read once."""
    if not record.number:
        return None
    return last(folder, record.number) if record.result is None else _last(folder, record.number, record.created)


@lru_cache(maxsize=40_000)
def _last(folder: Path, number: int, created: str) -> Point | None:
    return last(folder, number)


def _pairs(points: Sequence[Point], x: str, y: str, size: Sizes) -> Pairs:
    return [(at, p.values[y]) for p in points if y in p.values and (at := _at(p, x, size)) is not None]


def _at(point: Point, x: str, size: Sizes) -> float | None:
    """How far along ``x`` a point is, as the cell says it itself or by its share of all steps."""
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
    """How far along ``x`` a whole cell gets, as far as its sizes say: D as the samples that it sees, or C."""
    return size.passed if x == "D" else getattr(size, x, None)


def _ended(points: Pairs, result: Mapping[str, Any], x: str, loss: str, size: Sizes) -> Pairs:
    """The curve with what a finished cell measured at its end."""
    end = result.get("steps") if x == "step" else _whole(size, x)
    value = dict(result.get("metrics") or {}).get(loss)
    if end is None or value is None:
        return points
    return [*((at, was) for at, was in points if at < end), (float(end), float(value))]
