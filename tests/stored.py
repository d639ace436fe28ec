"""Direct changes of a stored run table, for tests."""

from __future__ import annotations

import pandas as pd

from isoplan.engine.store.database import sql
from isoplan.engine.store.database.database import Cursor, Database
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.loading import count


def add_rows(db: Database, table_id: str, rows: pd.DataFrame) -> None:
    """Add rows to a table, as the app does for finished cells. Columns that ``rows`` does not have stay empty."""
    names = [column.name for column in tables.columns(db, table_id)]
    fresh = rows.rename(columns={name: f"c{i}" for i, name in enumerate(names)})
    table = sql.data(table_id)

    def change(cursor: Cursor) -> None:
        cursor.register("fresh", fresh)
        start = count(cursor, table)
        rid = f"{start} - 1 + row_number() OVER ()"
        cursor.execute(f"INSERT INTO {table} BY NAME SELECT {rid} AS rid, {', '.join(fresh.columns)} FROM fresh")
        cursor.unregister("fresh")
        cursor.execute("UPDATE tables SET nrows = ? WHERE id = ?", [count(cursor, table), table_id])

    db.write(change)
