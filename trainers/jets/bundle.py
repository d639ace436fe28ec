"""The finished cells of a workspace as the tables that come with Isoplan: ``python -m trainers.jets.bundle SPACE OUT``.

Writes a table for each grid ``data/grids/jets_*.toml`` (the same cell may be in several of them), and
``jets_curves.csv``, at most ``POINTS`` points a cell. Cells that have not finished are left out, so that tables grow
while a grid is trained. The same cells give the same bytes.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trainers.backend import files
from trainers.backend.events import curve
from trainers.backend.queue import Queue
from trainers.backend.record import Record
from trainers.cell import cell_name
from trainers.families import find_family
from trainers.grid import cells, read_grid
from trainers.jets.classes import KINDS

GRIDS = Path(__file__).parents[2] / "data" / "grids"
POINTS = 40
FIELDS = ("inputs", "width", "epochs", "schedule", "seed", "tests")
SIZES = ("N", "D", "U", "C")
MEASURED = (
    "loss",
    "accuracy",
    "batch_used",
    "rate_used",
    "n_p",
    "untrained",
    "best_epoch",
    "rise",
    "overfits",
    "censored",
)
REJECTIONS = tuple(f"{kind.metric}{end}" for kind in KINDS if kind.metric for end in ("", "_error", "_above"))
COLUMNS = ("run", *FIELDS, *SIZES, *MEASURED, *REJECTIONS, "seconds", "version")
Row = dict[str, Any]


def rows(queue: Queue, names: Sequence[str]) -> list[Row]:
    """One row for each finished cell, in the order of ``names``."""
    found = queue.scan()
    return [_row(found[name]) for name in names if name in found and found[name].state == "done"]


def _row(record: Record) -> Row:
    result = record.result or {}
    metrics: Mapping[str, float] = result["metrics"]
    row: Row = {"run": record.name, **{field: record.cell[field] for field in FIELDS}}
    row |= {name: _short(metrics.get(name)) for name in (*SIZES, *MEASURED, *REJECTIONS)}
    seconds = sum(float(one.get("seconds", 0.0)) for one in record.results.values())
    return row | {"seconds": _short(seconds), "version": result.get("version", record.version)}


def points(queue: Queue, names: Iterable[str]) -> list[Row]:
    """The curves of finished cells: update, jets seen, and the loss there, evenly in the logarithm."""
    found, out = queue.scan(), []
    for name in names:
        record = found.get(name)
        if record is None or record.state != "done":
            continue
        said = [point for point in curve(queue.folder(name), record.number) if "loss" in point.values]
        for at in np.unique(np.geomspace(1, len(said), POINTS).round().astype(int)) if said else ():
            point = said[at - 1]
            seen, loss = (_short(point.values[key]) for key in ("samples", "loss"))
            out.append({"run": name, "update": point.step, "samples": seen, "loss": loss})
    return out


def _short(value: float | None) -> str:
    """A number of at most seven digits, a whole one as it is; empty where there is none."""
    if value is None:
        return ""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.7g}"


def write(path: Path, columns: Sequence[str], found: Sequence[Row]) -> None:
    """A table, there whole or not at all; columns that hold nothing are left out."""
    kept = [name for name in columns if any(row[name] not in ("", None) for row in found)]
    text = io.StringIO()
    out = csv.DictWriter(text, kept, extrasaction="ignore", lineterminator="\n")
    out.writeheader()
    out.writerows(found)

    def whole(place: Path) -> None:
        place.write_bytes(text.getvalue().encode())

    files.replace(path, whole)


def main(space: Path, out: Path) -> None:
    """Write the tables of every grid ``jets_*.toml`` that has a finished cell."""
    family, queue = find_family("jets", space), Queue(space)
    every: dict[str, None] = {}
    for path in sorted(GRIDS.glob("jets_*.toml")):
        names = [cell_name(family, cell) for cell in cells(read_grid(path, space), family)]
        found = rows(queue, names)
        print(f"{path.stem}: {len(found)} of {len(names)} cells")
        if found:
            every |= dict.fromkeys(names)
            write(out / f"{path.stem}.csv", COLUMNS, found)
    if curves := points(queue, every):
        write(out / "jets_curves.csv", ("run", "update", "samples", "loss"), curves)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
