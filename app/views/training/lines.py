"""Curves of cells for the figure, read from their folders; those of finished cells are read once."""

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
from isoplan.trainers.families import read_cell

AXES = {"Samples": "D", "Compute": "C", "Training steps": "step"}
"""Axes of the curves, by name on the page and in the link."""
LOOKED_AT = 500
"""Number of cells whose sizes determine the ends of the axes."""
Pairs = list[tuple[float, float]]


def sizes_of(family: Family[Any], record: Record) -> Sizes:
    """Return N, D, U and C of a cell; empty if its program has changed so that they are unknown."""
    return _sizes(family, tuple(record.cell.items()))


@lru_cache(maxsize=40_000)
def _sizes(family: Family[Any], fields: tuple[tuple[str, Any], ...]) -> Sizes:
    try:
        return family.sizes(read_cell(family, dict(fields)))
    except PlannerError:
        return Sizes()


def varied(family: Family[Any], records: Sequence[Record]) -> list[str]:
    """Return the fields in which the cells differ, those of the family first."""
    known = [*own_fields(family), *Cell.model_fields]
    return sorted(differing_fields(records), key=lambda field: known.index(field) if field in known else 0)


def own_fields(family: Family[Any]) -> list[str]:
    """Return the fields of the family's cells that are not common to all cells."""
    return [field for field in family.cell.model_fields if field not in Cell.model_fields]


def label(record: Record, fields: Sequence[str]) -> str:
    """Return ``width 8, samples 65,536``, or the cell's name if all cells are alike."""
    shown = [f"{field} {_said(record.cell[field])}" for field in fields if field in record.cell]
    return ", ".join(shown) or record.name[:8]


def _said(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def curves(queue: Queue, family: Family[Any], records: Sequence[Record], x: str) -> list[Curve]:
    """Return the curves of at most ``MOST`` started cells, running ones first; the sample of the others is fixed."""
    begun = [record for record in records if record.number]
    chosen = sorted(begun, key=lambda record: (record.state in ENDED, record.name))[:MOST]
    fields = varied(family, records)
    made = (_curve(queue, family, record, x, label(record, fields)) for record in chosen)
    return [one for one in made if one is not None]


def spans(family: Family[Any], records: Sequence[Record], x: str) -> tuple[float | None, tuple[float, float] | None]:
    """Return the final ``x`` of the largest cell, and the compute of the smallest and the largest; None if unknown.

    Of thousands of cells only a sample is used: the cells of a grid are evenly distributed.
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
    """Return the last logged point of a cell; for an ended cell it is read once."""
    if not record.number:
        return None
    return last(folder, record.number) if record.result is None else _last(folder, record.number, record.created)


@lru_cache(maxsize=40_000)
def _last(folder: Path, number: int, created: str) -> Point | None:
    return last(folder, number)


def _pairs(points: Sequence[Point], x: str, y: str, size: Sizes) -> Pairs:
    return [(at, p.values[y]) for p in points if y in p.values and (at := _at(p, x, size)) is not None]


def _at(point: Point, x: str, size: Sizes) -> float | None:
    """Return the position of a point along ``x``, from its own values or from its fraction of all steps."""
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
    """Return the final ``x`` of a cell, as far as its sizes determine it: samples seen for D, or C."""
    return size.passed if x == "D" else getattr(size, x, None)


def _ended(points: Pairs, result: Mapping[str, Any], x: str, loss: str, size: Sizes) -> Pairs:
    """Return the curve with the final result of a finished cell as its end."""
    end = result.get("steps") if x == "step" else _whole(size, x)
    value = dict(result.get("metrics") or {}).get(loss)
    if end is None or value is None:
        return points
    return [*((at, was) for at, was in points if at < end), (float(end), float(value))]
