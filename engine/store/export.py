"""Tables and runs as files to take away."""

from __future__ import annotations

import csv
import io
from typing import Literal

import pandas as pd

from engine.schema import Runs
from engine.store import catalog
from engine.store.condition import matching_rows
from engine.store.database import Database
from engine.store.frames import rows_frame
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


def table(db: Database, table_id: str, kind: Literal["csv", "parquet"] = "csv", where: str | None = None) -> bytes:
    """The rows of a table (that meet an SQL condition) under its own column names, after their row ids.

    In CSV a column whose role is not its name is followed by it: ``params [N]``.
    """
    mapping = catalog.roles(db, table_id)
    chosen = matching_rows(db, table_id, where, mapping.conversions) if where and where.strip() else None
    found = rows_frame(db, table_id, chosen)
    if kind == "parquet":
        return _parquet(found)
    role_of = {name: role.value for role, name in uses(mapping)}
    names = [str(name) for name in found.columns]
    found.columns = pd.Index([n if role_of.get(n, n) == n else f"{n} [{role_of[n]}]" for n in names])
    return found.to_csv(index=False).encode()


def runs(fitted: Runs) -> bytes:
    """The runs as a law sees them, in CSV: row id, labels, then float64 columns by role in full precision."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["row id", *fitted.labels, *fitted.values])
    columns = [fitted.ids.tolist(), *(x.tolist() for x in fitted.labels.values())]
    columns += [x.tolist() for x in fitted.values.values()]
    writer.writerows(zip(*columns, strict=True))
    return buffer.getvalue().encode()


def _parquet(found: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    found.to_parquet(buffer, index=False)
    return buffer.getvalue()
