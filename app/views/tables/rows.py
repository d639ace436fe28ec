"""Rows and columns of a table, downloads of the rows, and an SQL condition that selects rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from isoplan.app.views.widgets.cache import runs_of
from isoplan.app.views.widgets.parts import escape_markdown, number, refuse, sentences
from isoplan.app.views.widgets.state import recall, remember
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import as_typed, parse_number
from isoplan.engine.schema import Role
from isoplan.engine.store.columns.column import Column
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.files import export
from isoplan.engine.store.tables import condition, tables
from isoplan.engine.store.tables.tables import TableInfo

PAGE = 200
MOST_COLUMNS = 60


def show(db: Database, table: TableInfo, columns: Sequence[Column], where: str) -> None:
    """Show one page of the rows of a table, with a column that marks withdrawn rows, and downloads of all rows."""
    total = len(condition.matching_rows(db, table.id, where)) if where else table.rows
    if total == 0:
        st.info("No row meets the condition.", icon=":material/filter_alt_off:")
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
        st.caption(f"{wide} The exports contain all columns.")
    _exports(db, table, where)


def _exports(db: Database, table: TableInfo, where: str) -> None:
    stem, parquet = table.name.rsplit(".", 1)[0], "application/vnd.apache.parquet"
    with st.container(horizontal=True):
        _export("All rows, CSV", lambda: export.table(db, table.id, "csv"), f"{stem}.csv", "text/csv")
        _export("All rows, Parquet", lambda: export.table(db, table.id, "parquet"), f"{stem}.parquet", parquet)
        _export(
            "Runs as used in fits, CSV",
            lambda: export.runs(runs_of(db, table, where)[1]),
            f"{stem}-runs.csv",
            "text/csv",
            "The file has one column per role, including computed roles. Conversions and the filter are applied, and "
            "withdrawn rows are left out.",
        )


def _export(label: str, content: Callable[[], bytes], name: str, mime: str, about: str | None = None) -> None:
    st.download_button(label, content, name, mime, icon=":material/download:", on_click="ignore", help=about)


def columns_table(columns: Sequence[Column]) -> None:
    """Show a list of the columns: kind, range, missing values, examples, guessed role and the reason for the guess."""
    st.dataframe(
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
        alt="Columns of the table with kind, range, missing values and guessed role.",
    )


def active_filter(columns: Sequence[Column]) -> tuple[str, str]:
    """Return the SQL condition from the page URL or the session, and an error message.

    If the condition is valid, the message is "". If it is invalid, the condition is returned as "", which selects all
    rows.
    """
    where = recall("where")
    if not where:
        return "", ""
    remember("where", where)
    try:
        condition.check(where, [c.name for c in columns])
    except PlannerError as error:
        return "", f"{error} All rows are shown until the condition is corrected."
    return where, ""


def edit_filter(table: TableInfo, columns: Sequence[Column], problem: str) -> None:
    """Show the text box for an SQL condition, a form that adds a range, and the error message ``problem``."""
    left, right = st.columns([4, 1], vertical_alignment="bottom")
    # Without this condition, a rerun of the page would delete text that is not submitted yet.
    if st.session_state.get("where_box") != recall("where"):
        st.session_state["where_box"] = recall("where")
    left.text_input(
        "Only rows where",
        key="where_box",
        placeholder=_example(columns),
        max_chars=2000,
        help='An SQL condition over the columns of this table; write column names in double quotes: "Model Size".',
        on_change=lambda: remember("where", st.session_state["where_box"].strip()),
    )
    with right.popover("Ranges", icon=":material/tune:", width="stretch"):
        _ranges(table, [c for c in columns if c.kind == "number"])
    if problem:
        refuse(problem)


def clear_filter(problem: str) -> None:
    """Show the active filter and a button that removes the filter. Without a filter, nothing is shown.

    ``problem`` is the reason why the filter is invalid, or "" for a valid filter.
    """
    where = recall("where")
    if where:
        text = f"Filter not used: {where}" if problem else f"Only rows where {where}"
        st.caption(escape_markdown(text), width="content")
        st.button(
            "Clear filter", key="clear_filter", type="tertiary", icon=":material/filter_alt_off:",
            on_click=lambda: remember("where", ""),
        )  # fmt: skip


def _example(columns: Sequence[Column]) -> str:
    numeric = [c for c in columns if c.kind == "number" and c.maximum is not None]
    ranged = next((c for c in numeric if c.guess is not Role.UNUSED), next(iter(numeric), None))
    return f'all rows; for example "{ranged.name}" < {ranged.maximum:.3g}' if ranged else "all rows"


def _ranges(table: TableInfo, numeric: Sequence[Column]) -> None:
    with st.form(f"range_{table.id}", border=False), sentences():
        name = st.selectbox("Column", [c.name for c in numeric][:500], key=f"range_column_{table.id}")
        low = st.text_input("From", placeholder="no lower end; for example 1e8, 100M or 10^8", max_chars=100)
        high = st.text_input("To", placeholder="no upper end", max_chars=100)
        if st.form_submit_button("Add this range") and name:
            remember("where", with_range(recall("where"), name, low or "", high or ""))
            st.rerun()


def with_range(where: str, name: str, low: str, high: str) -> str:
    """Return the SQL condition ``where`` combined with a range of the column ``name``.

    If ``low`` is empty, the range has no lower end. If ``high`` is empty, it has no upper end. Raises PlannerError if
    an end is not a number.
    """
    column = '"' + name.replace('"', '""') + '"'
    ends = [f"{column} >= {as_typed(parse_number(low, 'lower end'))}"] if low.strip() else []
    ends += [f"{column} <= {as_typed(parse_number(high, 'upper end'))}"] if high.strip() else []
    return " AND ".join([*([f"({where})"] if where and ends else [where] if where else []), *ends])


def filter_note(table: TableInfo) -> str:
    """Return the filter of ``table`` as an SQL condition; show the filter with a link to the page Data."""
    where = recall("where")
    if where:
        remember("where", where)
        link = {"table": table.id, "where": where}
        st.caption(f"Only rows where {escape_markdown(where)}")
        st.page_link("views/data.py", label="Change the filter", query_params=link, icon=":material/filter_alt:")
    return where
