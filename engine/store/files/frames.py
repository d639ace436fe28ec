"""Rows of a table as a data frame to look at or to take away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoplan.engine.arrays import Ints
from isoplan.engine.store.database import sql
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import catalog

if TYPE_CHECKING:
    import pandas as pd


def rows_frame(
    db: Database, table_id: str, chosen: Ints | None = None, limit: int | None = None, offset: int = 0
) -> pd.DataFrame:
    """Rows under their original names, ``row id`` first and ``withdrawn`` (the reason) second where any row is.

    ``chosen`` are ascending row ids, None for all rows; ``limit`` and ``offset`` page through them.
    """
    import pandas as pd

    known = catalog.columns(db, table_id)
    end = None if limit is None else offset + limit
    with db.read() as cursor:
        reasons = dict(cursor.execute("SELECT row_id, reason FROM withdrawn WHERE table_id = ?", [table_id]).fetchall())
        if chosen is None:
            clause = f"rid >= {int(offset)}" + (f" AND rid < {int(end)}" if end is not None else "")
        else:
            cursor.register("chosen", pd.DataFrame({"rid": chosen[offset:end]}))
            clause = "rid IN (SELECT rid FROM chosen)"
        found = cursor.execute(f"SELECT * FROM {sql.data(table_id)} WHERE {clause} ORDER BY rid").df()
    ids = found.pop("rid")
    for i, column in enumerate(known):
        if column.kind == "number" and column.whole:
            found[f"c{i}"] = _whole(found[f"c{i}"])
    found.columns = pd.Index([c.name for c in known])
    if reasons:
        found.insert(0, _unused("withdrawn", found), ids.map(reasons).fillna(""))
    found.insert(0, _unused("row id", found), ids)
    return found


def _unused(name: str, frame: pd.DataFrame) -> str:
    """``name``, or a variant that no column of the table has."""
    while name in frame.columns:
        name = f"{name} "
    return name


def _whole(values: pd.Series[Any]) -> pd.Series[Any]:
    """Whole numbers without a decimal point; numbers beyond 2^53 and infinities stay as they are."""
    finite = np.isfinite(values.to_numpy(dtype=float, na_value=0.0))
    fits = finite.all() and not values.abs().max() >= 2**53
    return values.astype("Int64") if fits else values
