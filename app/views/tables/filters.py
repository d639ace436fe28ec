"""Which rows count: an SQL condition, typed or put together from ranges. It goes with the link and into every fit."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown, refuse, sentences
from isoplan.app.views.widgets.state import recall, remember
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import as_typed, parse_number
from isoplan.engine.schema import Role
from isoplan.engine.store.columns.column import Column
from isoplan.engine.store.tables import condition
from isoplan.engine.store.tables.tables import TableInfo


def row_filter(table: TableInfo, columns: Sequence[Column]) -> str:
    """The condition on the rows of ``table``, empty for all of them or where it cannot be used."""
    left, right = st.columns([4, 1], vertical_alignment="bottom")
    if st.session_state.get("where_box") != recall("where"):  # else what is being typed would be lost
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
    where = recall("where")
    if not where:
        return ""
    remember("where", where)
    try:
        condition.check(where, [c.name for c in columns])
    except PlannerError as error:
        refuse(f"{error} All rows are shown until it is corrected.")
        return ""
    return where


def _example(columns: Sequence[Column]) -> str:
    numeric = [c for c in columns if c.kind == "number" and c.maximum is not None]
    ranged = next((c for c in numeric if c.guess is not Role.UNUSED), next(iter(numeric), None))
    return f'all rows; for example "{ranged.name}" < {ranged.maximum:.3g}' if ranged else "all rows"


def _ranges(table: TableInfo, numeric: Sequence[Column]) -> None:
    with st.form(f"range_{table.id}", border=False), sentences():
        name = st.selectbox("Column", [c.name for c in numeric][:500], key=f"range_column_{table.id}")
        low = st.text_input("From", placeholder="no lower end; 1e8, 100M or 10^8", max_chars=100)
        high = st.text_input("To", placeholder="no upper end", max_chars=100)
        if st.form_submit_button("Add this range", type="primary") and name:
            remember("where", with_range(recall("where"), name, low or "", high or ""))
            st.rerun()


def with_range(where: str, name: str, low: str, high: str) -> str:
    """``where`` and the range; an empty end is open. Raises PlannerError where an end is not a number."""
    column = '"' + name.replace('"', '""') + '"'
    ends = [f"{column} >= {as_typed(parse_number(low, 'lower end'))}"] if low.strip() else []
    ends += [f"{column} <= {as_typed(parse_number(high, 'upper end'))}"] if high.strip() else []
    return " AND ".join([*([f"({where})"] if where and ends else [where] if where else []), *ends])


def filter_note(table: TableInfo) -> str:
    """The condition that is set for ``table``, said in a line with the way to change it."""
    where = recall("where")
    if where:
        remember("where", where)
        link = {"table": table.id, "where": where}
        st.caption(f"Only rows where {escape_markdown(where)}")
        st.page_link("views/data.py", label="Change the filter", query_params=link, icon=":material/filter_alt:")
    return where
