"""Page Data: upload a table, view its runs, check how its columns are read, answer questions, and start a fit."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from isoplan.app import workspace
from isoplan.app.views.fits.fitting import REQUESTED
from isoplan.app.views.tables import combining, growing, layouts, questions, rows, runs, upload
from isoplan.app.views.tables.mapping import ask_readings, edit_mapping, show_roles
from isoplan.app.views.tables.tracked import offer_renewal
from isoplan.app.views.tables.upload import add_table
from isoplan.app.views.widgets.cache import runs_of
from isoplan.app.views.widgets.parts import escape_markdown, heading, plural, sentences, show_warnings
from isoplan.app.views.widgets.saved_items import deleted, manage
from isoplan.app.views.widgets.state import choose_table, open_table, recall, remember, rename_choice
from isoplan.engine.fitting.types.warnings import ABOUT_RUNS, FitWarning
from isoplan.engine.mixtures import COPIED
from isoplan.engine.schema import Runs
from isoplan.engine.store.columns.column import Column
from isoplan.engine.store.columns.mapping import UNIQUE_OR_SEEN
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import condition, tables
from isoplan.engine.store.tables.tables import TableInfo

MOST_DRAWN = 200_000
"""If a table has more rows than this, the page draws and checks the runs only when the user asks for it.

The page Fit checks the runs of tables of every size.
"""
WIDE, NARROW = 600, 340
"""Widths in pixels: the figure of the runs, and the list of roles. A narrow page shows the list below the figure."""
TABS = ["Rows", "Columns", "Curves", "Agreement", "Source"]
FORMER = {"Runs": "Rows"}
"""Current names of renamed tabs, by former name. Old links can contain the former names."""


def show(table: TableInfo, columns: Sequence[Column], where: str, found: tuple[str, Runs] | None) -> None:
    """Show the runs of ``table``, the roles of its columns, the unanswered questions, and a button that starts a fit.

    ``where`` is the filter. ``found`` contains the hash of a snapshot and its runs; None if the runs are not read.
    """
    both = st.container(horizontal=True, gap="medium")
    with both.container(width=WIDE, key="runs_drawn"):
        if found is not None:
            runs.show(db, table, *found)
        else:
            growing.choosing(table.id, ())
    with both.container(width=NARROW, key="columns_read"):
        st.subheader("Columns as read", anchor=False)
        show_roles(columns, tables.roles(db, table.id))
        asked_below = () if table.read_only else (COPIED, UNIQUE_OR_SEEN)
        texts = [*table.notes, *(found[1].notes if found else ())]
        kept = [text for text in texts if not any(part in text for part in asked_below)]
        show_warnings([FitWarning(ABOUT_RUNS, text) for text in kept])
        layouts.choose(db, table)
        unread = ask_readings(db, table, columns)
        mixed = questions.ask(db, table, found[1]) if found else 0
        go_on(table, where, unread, mixed, len(found[1]) if found else 0)


def read(table: TableInfo, where: str) -> tuple[str, Runs] | None:
    """Return the hash of a snapshot of ``table`` and the runs of this snapshot.

    Returns None if the table is large and the user has not asked for its runs. Also returns None, and shows a message,
    if the runs cannot be read.
    """
    large = table.rows > MOST_DRAWN
    if large and not st.toggle(f"Draw {plural(table.rows, 'row')} and check them", key=f"draw_{table.id}"):
        return None
    with sentences():
        return runs_of(db, table, where)
    return None


def about(table: TableInfo, where: str, problem: str, found: Runs | None) -> None:
    """Show the number of runs of ``table``, its filter, and the progress of its cells (training runs of Isoplan).

    ``problem`` is the reason why the filter is invalid, or "".
    """
    with sentences(), st.container(horizontal=True, vertical_alignment="center"):
        st.badge(counted(table, where, found), color="blue")
        rows.clear_filter(problem)
        offer_renewal(db, table)
    if growing.grows(table):
        growing.follow(db, table)
    if st.session_state.pop("known_table", "") == table.id:
        st.info(f"This file is already in the workspace, as {escape_markdown(table.name)}.", icon=":material/info:")


def counted(table: TableInfo, where: str, found: Runs | None) -> str:
    """Return the number of runs as text, such as ``104 runs``, or ``52 of 104 runs`` if a filter excludes runs.

    If a run can have several rows, the text also contains the number of rows. ``found`` are the runs, or None if they
    have not been read.
    """
    if tables.roles(db, table.id).rows != "all":
        runs_read = f"{plural(len(found), 'run')} of " if found is not None else ""
        return f"{runs_read}{plural(table.rows, 'row')}"
    n = len(found) if found is not None else len(condition.matching_rows(db, table.id, where)) if where else table.rows
    return plural(n, "run") if n == table.rows else f"{n:,} of {plural(table.rows, 'run')}"


def go_on(table: TableInfo, where: str, unread: int, mixed: int, n: int) -> None:
    """Show the button that fits a law to the table on the page Fit, or the reason why this is not possible yet.

    ``where`` is the filter. ``unread`` is the number of unanswered questions about columns. ``mixed`` is the number of
    unanswered questions about the ``n`` runs.
    """
    roles = tables.roles(db, table.id)
    ready = roles.loss is not None or bool(roles.metrics) or "loss" in roles.derived
    label, icon = "Fit law", ":material/show_chart:"
    st.session_state.pop(REQUESTED, None)  # remove a request that the page Fit did not complete
    if st.button(label, type="primary", icon=icon, disabled=not ready, key="fit_law", width="stretch"):
        st.session_state[REQUESTED] = table.id
        link = {"table": table.id} | ({"where": where} if where else {})
        st.switch_page("views/fit.py", query_params=link)
    if not ready:
        st.caption("No column is read as the loss. Answer the question above.")
    elif unread:
        st.caption("Answer the question above first, so that the law can use the columns in this question.")
    elif mixed:
        st.caption(f"{plural(mixed, 'open question')}. Without an answer, one law is fitted to {plural(n, 'run')}.")


def details(table: TableInfo, columns: Sequence[Column], where: str) -> None:
    """Show the tabs ``TABS`` of ``table``. Only the open tab is computed."""
    rename_choice("show", FORMER)
    for name, tab in zip(TABS, st.tabs(TABS, key="show", on_change="rerun", bind="query-params"), strict=True):
        if not tab.open:
            continue
        with tab, sentences():
            if name == "Rows":
                rows.show(db, table, columns, where)
            elif name == "Columns":
                rows.columns_table(columns)
            elif name == "Curves":
                upload.show_curves(db, table, where)
            elif name == "Agreement":
                runs.show_agreement(db, table, where)
            else:
                source(table)


def source(table: TableInfo) -> None:
    """Show the origin of ``table``, the time of its import, and the hash of its file."""
    if table.read_only:
        st.markdown("Comes with Isoplan, read-only.")
    if table.provenance:
        st.markdown(escape_markdown(table.provenance))
    st.markdown(f"File: {escape_markdown(table.source)}")
    st.markdown(f"Imported {table.created:%d %b %Y %H:%M} UTC. SHA-256 {table.sha256[:12]}.")


def bring_back(db: Database, table_id: str) -> None:
    """Restore a deleted table and open it. For a deleted curve table, open the run table to which it belongs."""
    table = tables.restore(db, table_id)
    open_table(table.runs_id or table.id)


def put_away(db: Database, table_id: str) -> None:
    """Delete a table and close it. The page then opens another table."""
    tables.delete(db, table_id)
    remember("table", "")


db = workspace.current()
heading("Data", "Upload runs, check how they are read, and fit a law.")
own = [t for t in tables.all(db) if not t.read_only]
with st.expander("Upload runs", expanded=not own, icon=":material/upload_file:"):
    add_table(db, "data")
left, right = st.columns([4, 1], vertical_alignment="bottom")
with left:
    table = choose_table(db)
if table is not None:
    if not table.read_only:
        with right.container(horizontal=True, horizontal_alignment="right"):
            table_id = table.id
            manage(table_id, table.name, lambda name: tables.rename(db, table_id, name), lambda: put_away(db, table_id))
    columns = tables.columns(db, table.id)
    where, problem = rows.active_filter(columns)
    count = st.container()
    found = read(table, where)
    with count:
        about(table, where, problem, found[1] if found else None)
    show(table, columns, where, found)
    with st.expander("Change columns and units", icon=":material/edit:"):
        edit_mapping(db, table, columns)
    combining.offer(db, table)
    with st.expander("Filter runs", expanded=bool(recall("where")), icon=":material/filter_alt:"):
        rows.edit_filter(table, columns, problem)
    details(table, columns, where)
gone = {t.id: t.name for t in tables.all(db, deleted=True) if not t.read_only}
deleted("tables", gone, lambda key: bring_back(db, key))
