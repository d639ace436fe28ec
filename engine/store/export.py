"""Tables and runs as files to take away."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path
from typing import Literal

import pandas as pd

from engine.schema import Runs
from engine.store import catalog, sql
from engine.store.database import Database
from engine.store.mapping import uses

_TEMPLATE = """\
run,N,D,U,epochs,C,loss,accuracy,seed,group
small-1,1000000,20000000,20000000,1,1.2e14,3.21,0.61,0,baseline
small-2,1000000,40000000,20000000,2,2.4e14,3.05,0.64,0,baseline
medium-1,4000000,20000000,20000000,1,4.8e14,2.94,0.67,0,baseline
"""


def template() -> bytes:
    """A small table to fill in: one row a run, the usual columns, all but N, D and loss optional."""
    return _TEMPLATE.encode()


def table(db: Database, table_id: str, kind: Literal["csv", "parquet"] = "csv") -> bytes:
    """All rows of a table under its own column names; ``withdrawn`` says why a row does not count (empty: it does).

    Columns that have a role other than their name are followed by it in brackets in CSV: ``params [N]``.
    """
    known = catalog.columns(db, table_id)
    role_of = {name: role.value for role, name in uses(catalog.roles(db, table_id))}
    names = [c.name if role_of.get(c.name, c.name) == c.name else f"{c.name} [{role_of[c.name]}]" for c in known]
    fields = [f"c{i}" if c.kind != "number" else sql.label(c, i) + f" AS c{i}" for i, c in enumerate(known)]
    if kind == "parquet":
        fields, names = [f"c{i}" for i in range(len(known))], [c.name for c in known]
    reason = "(SELECT any_value(reason) FROM withdrawn AS w WHERE w.table_id = ? AND w.row_id = t.rid) AS withdrawn"
    query = f"SELECT {', '.join(fields)}, {reason} FROM {sql.data(table_id)} AS t ORDER BY rid"
    with db.read() as cursor:
        found = cursor.execute(query, [table_id]).df()
    found.columns = pd.Index([*names, "withdrawn"])
    if kind == "csv":
        return found.to_csv(index=False).encode()
    return _parquet(db, found)


def runs(fitted: Runs) -> bytes:
    """The runs as a law sees them, in CSV: row id, labels, then float64 columns by role in full precision."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["row id", *fitted.labels, *fitted.values])
    columns = [fitted.ids.tolist(), *(x.tolist() for x in fitted.labels.values())]
    columns += [x.tolist() for x in fitted.values.values()]
    writer.writerows(zip(*columns, strict=True))
    return buffer.getvalue().encode()


def _parquet(db: Database, found: pd.DataFrame) -> bytes:
    with tempfile.TemporaryDirectory() as folder, db.read() as cursor:
        target = Path(folder) / "table.parquet"
        cursor.register("found", found)
        cursor.execute(f"COPY (SELECT * FROM found) TO {sql.text(str(target))} (FORMAT parquet)")
        cursor.unregister("found")
        return target.read_bytes()
