"""Export of tables and runs as the bytes of a file."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from isoplan.engine.escaping import BEGINS, as_text
from isoplan.engine.schema import Runs
from isoplan.engine.store.columns.column import Column
from isoplan.engine.store.columns.mapping import uses
from isoplan.engine.store.database import sql
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import catalog, tables
from isoplan.engine.store.tables.catalog import rows_frame

if TYPE_CHECKING:
    import pandas as pd

_SIZES, _SAMPLES = (1e6, 4e6, 16e6, 64e6, 256e6), (4e8, 16e8, 64e8, 256e8, 1024e8)
_NOISE = (0.3, -1.0, 0.8, 0.1, -0.6, 1.0, -0.2)
"""Relative deviations of the example losses from their law, in units of 0.3 %. The runs use the deviations in turn."""


def template() -> bytes:
    """Return an example of a run table as CSV. It contains 25 invented runs, to which a law can be fitted.

    The loss is 1.7 + 200 / N^0.32 + 400 / D^0.29 with a noise of 0.3 %, for N parameters and D samples seen.
    """
    lines = ["name,params,tokens,loss"]
    for i, (N, D) in enumerate((N, D) for N in _SIZES for D in _SAMPLES):
        loss = (1.7 + 200 / N**0.32 + 400 / D**0.29) * (1 + 0.003 * _NOISE[i % len(_NOISE)])
        lines.append(f"run-{i + 1},{N:.0f},{D:.0f},{loss:.4f}")
    return "\n".join([*lines, ""]).encode()


def table(db: Database, table_id: str, kind: Literal["csv", "parquet"] = "csv") -> bytes:
    """Return the rows of a table as a CSV or Parquet file, with row ids and the original column names.

    If rows are withdrawn, the second column contains the reason. In CSV, a column name that differs from the role of
    the column is followed by this role: ``params [N]``.
    """
    return _csv(db, table_id) if kind == "csv" else _parquet(rows_frame(db, table_id))


def runs(fitted: Runs) -> bytes:
    """Return fitted runs as a CSV file with row ids, labels, and one float64 column per role in full precision."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(map(as_text, ["row id", *fitted.labels, *fitted.values]))
    columns = [fitted.ids.tolist(), *(map(as_text, x.tolist()) for x in fitted.labels.values())]
    columns += [x.tolist() for x in fitted.values.values()]
    writer.writerows(zip(*columns, strict=True))
    return buffer.getvalue().encode()


def _csv(db: Database, table_id: str) -> bytes:
    """Return the rows of a table as CSV. DuckDB writes the rows, because pandas is many times slower.

    The header is written separately, because DuckDB does not keep names that differ only in case.
    """
    known = catalog.columns(db, table_id)
    role_of = {name: role.value for role, name in uses(catalog.roles(db, table_id))}
    names = [c.name if role_of.get(c.name, c.name) == c.name else f"{c.name} [{role_of[c.name]}]" for c in known]
    fields = [_field(c, i) for i, c in enumerate(known)]
    if tables.withdrawn(db, table_id):
        names.insert(0, "withdrawn")
        reasons = f"SELECT any_value(reason) FROM withdrawn AS w WHERE w.table_id = {sql.text(table_id)}"
        fields.insert(0, _inert(f"({reasons} AND w.row_id = t.rid)"))
    header = io.StringIO()
    csv.writer(header, lineterminator="\n").writerow(map(as_text, ["row id", *names]))
    with tempfile.TemporaryDirectory() as folder, db.read() as cursor:
        target = Path(folder) / "rows.csv"
        rows = f"SELECT rid, {', '.join(fields)} FROM {sql.data(table_id)} AS t ORDER BY rid"
        cursor.execute(f"COPY ({rows}) TO {sql.text(str(target))} (FORMAT csv, HEADER false)").fetchall()
        return header.getvalue().encode() + target.read_bytes()


def _field(column: Column, position: int) -> str:
    if column.kind == "text":
        return _inert(f"c{position}")
    return sql.label(column, position) if column.whole else f"c{position}"


def _inert(cell: str) -> str:
    """Return an SQL expression that adds an apostrophe to a text cell that a spreadsheet would run as a formula.

    The expression has the same result as ``isoplan.engine.escaping.as_text``.
    """
    formula = f"left({cell}, 1) IN ({', '.join(map(sql.text, BEGINS))}) AND TRY_CAST({cell} AS DOUBLE) IS NULL"
    return f"CASE WHEN {formula} THEN '''' || {cell} ELSE {cell} END"


def _parquet(found: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    found.to_parquet(buffer, index=False)
    return buffer.getvalue()
