"""Bundled tables of the finished cells of a workspace: ``python -m isoplan.trainers.bundle FAMILY SPACE GRIDS``.

FAMILY is the name of a model family, SPACE a workspace and GRIDS a folder of grids. A table is written next to each
grid ``GRIDS/FAMILY_*.toml``. A cell (training run) can be in several tables. Grids whose names differ only after a
hyphen share one table: ``FAMILY_data-100.toml`` and ``FAMILY_data-300.toml`` give ``FAMILY_data.csv``. The curves of
all cells are written to ``FAMILY_curves.csv``, with at most ``POINTS`` points per cell. Tables can be written while a
grid is trained. An unfinished cell keeps its row in an existing table; if it has no row there, it is omitted. The same
cells give the same bytes.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.attempt_curves import curve, of_one_rate
from isoplan.trainers.backend.store.record import Record
from isoplan.trainers.cell import TableColumns, cell_name
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import cells, read_grid

POINTS = 40
Row = dict[str, Any]


def rows(queue: Queue, names: Iterable[str], columns: TableColumns) -> dict[str, Row]:
    """Return the rows of the finished cells among ``names``, by the name of the cell."""
    found = queue.scan()
    return {name: _row(found[name], columns) for name in names if name in found and found[name].state == "done"}


def _row(record: Record, columns: TableColumns) -> Row:
    result = record.result or {}
    metrics: Mapping[str, float] = result["metrics"]
    row: Row = {"run": record.name, **{field: record.cell[field] for field in columns.fields}}
    row |= {name: _short(metrics.get(name)) for name in columns.measured}
    seconds = sum(float(one.get("seconds", 0.0)) for one in record.results.values())
    return row | {"seconds": _short(seconds), "version": result.get("version", record.version)}


def points(queue: Queue, names: Iterable[str], columns: TableColumns) -> dict[str, list[Row]]:
    """Return the curves of the finished cells among ``names``, by the name of the cell.

    A curve has the steps, the samples and the measured values at points that are evenly spaced on a logarithmic scale.
    """
    found = queue.scan()
    out: dict[str, list[Row]] = {}
    for name in names:
        record = found.get(name)
        if record is None or record.state != "done":
            continue
        rate = dict((record.result or {})["metrics"]).get("rate_used")
        whole = of_one_rate(curve(queue.folder(name), record.number), rate)
        said = [point for point in whole if columns.curve[0] in point.values]
        for at in np.unique(np.geomspace(1, len(said), POINTS).round().astype(int)) if said else ():
            point = said[at - 1]
            values = {key: _short(point.values.get(key)) for key in ("samples", *columns.curve)}
            update = _short(point.values.get("updates", point.step))
            out.setdefault(name, []).append({"run": name, "update": update, **values})
    return out


def _short(value: float | None) -> str:
    """Return a number as text: integers in full, other numbers with seven significant digits, and "" for None."""
    if value is None:
        return ""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.7g}"


def there(path: Path) -> dict[str, list[Row]]:
    """Return the rows of an existing table, by the name of the run. Returns {} if the table does not exist."""
    found: dict[str, list[Row]] = {}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                found.setdefault(row["run"], []).append(row)
    return found


def write(path: Path, columns: Sequence[str], found: Sequence[Row]) -> None:
    """Write the rows ``found`` atomically as a CSV table. Columns without any value are omitted."""
    kept = [name for name in columns if any(row.get(name) not in ("", None) for row in found)]
    text = io.StringIO()
    out = csv.DictWriter(text, kept, restval="", extrasaction="ignore", lineterminator="\n")
    out.writeheader()
    out.writerows(found)

    def whole(place: Path) -> None:
        place.write_bytes(text.getvalue().encode())

    files.replace(path, whole)


def table_of(grid: Path) -> Path:
    """Return the path of the table of a grid. Grids whose names differ only after a hyphen share one table."""
    return grid.with_name(f"{grid.stem.partition('-')[0]}.csv")


def main(name: str, space: Path, grids: Path) -> None:
    """Write the tables of the family ``name`` for all grids in the folder ``grids`` that have a finished cell."""
    family, queue = find_family(name, space), Queue(space)
    columns = family.bundled
    every: dict[str, None] = {}
    tables: dict[Path, dict[str, None]] = {}
    for path in sorted(grids.glob(f"{name}_*.toml")):
        names = (cell_name(family, cell) for cell in cells(read_grid(path, space), family))
        tables.setdefault(table_of(path), {}).update(dict.fromkeys(names))
    for table, asked in tables.items():
        found = {run: said[0] for run, said in there(table).items()} | rows(queue, asked, columns)
        kept = [found[run] for run in asked if run in found]
        print(f"{table.stem}: {len(kept)} of {len(asked)} cells")
        if kept:
            every |= asked
            write(table, columns.rows, kept)
    curves = grids / f"{name}_curves.csv"
    lines = there(curves) | points(queue, every, columns)
    if said := [point for run in every for point in lines.get(run, ())]:
        write(curves, columns.points, said)


if __name__ == "__main__":
    main(sys.argv[1], *map(Path, sys.argv[2:4]))
