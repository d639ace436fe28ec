"""The rows of a table, a page at a time, its columns, and its exports."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from isoplan.app.views.widgets.cache import runs_of
from isoplan.app.views.widgets.parts import number, plural
from isoplan.engine.store.columns.column import Column
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.files import export
from isoplan.engine.store.tables import condition, tables
from isoplan.engine.store.tables.tables import TableInfo

PAGE = 200
MOST_COLUMNS = 60


def show(db: Database, table: TableInfo, columns: Sequence[Column], where: str) -> None:
    """One page of rows, withdrawn ones marked, and the downloads of all of them."""
    total = len(condition.matching_rows(db, table.id, where)) if where else table.rows
    if total == 0:
        st.info("No row fits the condition.", icon=":material/filter_alt_off:")
        return
    page = 1
    if total > PAGE:
        page = st.pagination(-(-total // PAGE), key=f"page_{table.id}_{where}")
    first = (page - 1) * PAGE
    st.caption(f"Rows {first + 1:,} to {min(first + PAGE, total):,} of {total:,}")
    frame = tables.frame(db, table.id, limit=PAGE, offset=first, where=where or None)
    wide = f" The first {MOST_COLUMNS} of {len(columns)} columns." if len(columns) > MOST_COLUMNS else ""
    st.dataframe(
        frame.iloc[:, : MOST_COLUMNS + 1],
        hide_index=True,
        height=420,
        alt=f"Rows of {table.name}.{wide}",
    )
    if wide:
        st.caption(f"{wide} The exports hold all of them.")
    _exports(db, table, where)


def _exports(db: Database, table: TableInfo, where: str) -> None:
    stem = table.name.rsplit(".", 1)[0]
    icon = ":material/download:"
    with st.container(horizontal=True):
        st.download_button(
            "All rows, CSV",
            lambda: export.table(db, table.id, "csv"),
            f"{stem}.csv",
            "text/csv",
            icon=icon,
            on_click="ignore",
        )
        st.download_button(
            "All rows, Parquet",
            lambda: export.table(db, table.id, "parquet"),
            f"{stem}.parquet",
            "application/vnd.apache.parquet",
            icon=icon,
            on_click="ignore",
        )
        st.download_button(
            "Runs as a law sees them, CSV",
            lambda: export.runs(runs_of(db, table, where)[1]),
            f"{stem}-runs.csv",
            "text/csv",
            icon=icon,
            on_click="ignore",
            help="Columns by role after conversions, filter and withdrawn rows, with what was derived.",
        )


def columns_table(columns: Sequence[Column]) -> None:
    """Every column with its kind, range, gaps and the role that was guessed, and why."""
    place = st.expander(f"All {plural(len(columns), 'column')}, with the reason for each guess", on_change="rerun")
    if not place.open:
        return
    place.dataframe(
        [
            {
                "Column": c.name,
                "Kind": c.kind,
                "From": "" if c.minimum is None else number(c.minimum),
                "To": "" if c.maximum is None else number(c.maximum),
                "Missing": c.missing,
                "Examples": ", ".join(c.examples),
                "Guess": c.guess.value,
                "Why": c.why,
            }
            for c in columns
        ],
        hide_index=True,
        height=min(36 + 35 * len(columns), 420),
        alt="Columns of the table with kind, range, missing cells and guessed role.",
    )
