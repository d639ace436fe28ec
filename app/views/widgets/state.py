"""Which table, filter and fit are open: what the link says, else what this session had open, else the newest.

The link is kept in step, so that it can be copied at any moment.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import streamlit as st

from isoplan.app.bundled import task_named, task_of
from isoplan.app.views.widgets.cache import published, saved_fit
from isoplan.app.views.widgets.parts import distinct, escape_markdown
from isoplan.app.views.widgets.scopes import OPEN, belong, write_link
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.tables import TableInfo

OF_TABLE = ("fit", "where", "y")
"""What is remembered for each table."""
LAW_WIDGETS = {"law": "", "axis": ""}
"""Widgets that belong to a table; empty until one of the options of the table is chosen."""


def recall(name: str) -> str:
    """The value called ``name`` in the link, else in this session; empty where neither has one."""
    return st.query_params.get(name) or st.session_state.get(OPEN + name, "")


def remember(name: str, value: str) -> None:
    """Keep ``value`` in the session and in the link; an empty one leaves both."""
    st.session_state[OPEN + name] = value
    if not value:
        st.query_params.pop(name, None)
    elif st.query_params.get(name) != value:
        st.query_params[name] = value


def typed(name: str, start: str) -> str:
    """The value called ``name`` in the link, else in this session, else ``start``. It may be empty.

    The session keeps what a link brought, and the link shows what the session kept.
    """
    in_link = st.query_params.get(name)
    if in_link is not None:
        st.session_state[OPEN + name] = in_link
        return in_link
    value = str(st.session_state.get(OPEN + name, start))
    if value != start:
        write_link(name, value)
    return value


def remember_typed(name: str, value: str, start: str) -> None:
    """Keep ``value``, which may be empty, in the session and in the link; ``start`` leaves both.

    The app writes it and not Streamlit, so each change is an entry of the browser's history.
    """
    if value == start:
        st.session_state.pop(OPEN + name, None)
        st.query_params.pop(name, None)
        return
    st.session_state[OPEN + name] = value
    if st.query_params.get(name) != value:
        st.query_params[name] = value


def keep_possible(key: str, options: Collection[str], start: str = "") -> None:
    """Put a bound widget back to ``start`` (the first option) where its value is none of this fit or table.

    The value is set and not deleted: only so do the widget in the browser and the link follow.
    """
    if key in st.session_state and st.session_state[key] not in options:
        st.session_state[key] = start or next(iter(options))


def choose_y(label: str, options: Sequence[str], text: str) -> str:
    """What a law is to describe, the first of ``options`` where neither link nor session names one of them.

    The select is not bound to the link by Streamlit: it loses its place there when another table changes its options.
    """
    asked = recall("y")
    if asked and asked not in options:
        st.info(f"{escape_markdown(asked)} is none of {escape_markdown(', '.join(options))}.", icon=":material/info:")
        remember("y", options[0])
    st.session_state["y_choice"] = asked if asked in options else options[0]
    return str(
        st.selectbox(
            label,
            options,
            key="y_choice",
            help=text,
            on_change=lambda: remember("y", st.session_state["y_choice"]),
        )
    )


def choose_table(db: Database) -> TableInfo | None:
    """The table that is open, with a select to change it; None with a sentence where the link's table is missing."""
    _follow_opened()
    known = {t.id: t for t in tables.all(db)}
    wanted = recall("table")
    if wanted and wanted not in known:
        st.error(
            f"The table {escape_markdown(wanted)} of this link is not in this workspace: load its file below, "
            "or choose another table.",
            icon=":material/link_off:",
        )
    if not known:
        return None
    opened = wanted if wanted in known else None if wanted else _usual(db, known)
    st.session_state["table_choice"] = opened
    names = distinct({i: table.name for i, table in known.items()})
    st.selectbox(
        "Run table",
        list(known),
        index=None if opened is None else 0,
        format_func=names.__getitem__,
        key="table_choice",
        placeholder="Choose a table",
        on_change=lambda: open_table(st.session_state["table_choice"]),
    )
    if opened is None:
        return None
    enter_table(opened)
    remember("table", opened)
    return known[opened]


def enter_table(table_id: str) -> None:
    """State that what is remembered of a table now belongs to this one: its fit, filter, target and law."""
    belong("table", table_id, LAW_WIDGETS, remembered=OF_TABLE)


def _usual(db: Database, known: dict[str, TableInfo]) -> str:
    """The table to open where none is named: the fit's, else the newest of one's own, else the demo."""
    of_fit = [f.table_id for f in results.fits(db) if f.hash == recall("fit") and f.table_id in known]
    own = [t.id for t in known.values() if not t.read_only]
    return [*of_fit, *own, *known][0]


def open_table(table_id: str) -> None:
    """Open another table; what belonged to the one before is left."""
    st.session_state["open_table"] = table_id
    # The link follows in the page's own run: after two changes in a callback it would miss the values of widgets.
    st.session_state["table_opened"] = True


def _follow_opened() -> None:
    """Bring the link in step with a table that was opened."""
    if st.session_state.pop("table_opened", False):
        remember("table", st.session_state["open_table"])


def choose_fit(
    db: Database,
    name: str = "fit",
    label: str = "Fit",
    laws: Collection[str] = (),
    start: str | None = "",
    free: bool = False,
    only: Collection[str] | None = None,
) -> Fit | None:
    """The fit that is open as ``name``, with a select over saved fits and published laws; None where there is none.

    Only fits of ``laws`` are offered, where these are named, and only those with a hash in ``only``. It opens with
    ``start``, else with the first; with none where ``start`` is None or it is ``free`` to be left out.
    """
    names = {key: text for key, text in fit_names(db, laws).items() if only is None or key in only}
    wanted = recall(name)
    if wanted and wanted not in names and wanted in (every := fit_names(db)):
        names[wanted] = every[wanted]  # what the link names is opened, and says itself what it cannot be used for
    if wanted and wanted not in names:
        st.error(
            f"The fit {escape_markdown(wanted)} of this link is not in this workspace: load its table on the Data "
            "page and fit "
            "it again, or choose another fit.",
            icon=":material/link_off:",
        )
    usual = None if free or start is None else start if start in names else next(iter(names), None)
    opened = wanted if wanted in names else None if wanted else usual
    key = f"{name}_choice"
    st.session_state[key] = opened
    st.selectbox(
        label,
        list(names),
        index=None if opened is None else 0,
        format_func=names.__getitem__,
        key=key,
        placeholder="None" if free else "Choose a fit",
        help="A saved fit, or a law as its paper printed it.",
        on_change=lambda: remember(name, st.session_state[key] or ""),
    )
    if opened is None:
        return None
    if name == "fit":
        _follow_fit(db, opened)
    remember(name, opened)
    return fit_of(db, opened)


def follow_link(db: Database) -> None:
    """Where a link names a fit and no table, open the table of that fit."""
    fit = st.query_params.get("fit")
    if fit and "table" not in st.query_params:
        _follow_fit(db, fit)


def _follow_fit(db: Database, fit_hash: str) -> None:
    """Open the table of a saved fit, so that other pages show a table and a fit that belong together."""
    table = table_of_fit(db, fit_hash)
    if table is not None and recall("table") != table:
        enter_table(table)
        st.session_state["open_table"] = table
        if "table" in st.query_params:
            remember("table", table)


def table_of_fit(db: Database, fit_hash: str) -> str | None:
    """The id of the table of a saved fit; None for a published law, and where the table is not in this workspace."""
    table = next((f.table_id for f in results.fits(db) if f.hash == fit_hash), "")
    return table if table in {t.id for t in tables.all(db)} else None


def task_of_fit(db: Database, fit_hash: str) -> str:
    """The task of a saved fit or a published law; empty where it is not known."""
    if fit_hash in published():
        return task_named(published()[fit_hash][0])
    return task_of(db, table_of_fit(db, fit_hash) or "")


def owner_of_fit(db: Database, fit_hash: str) -> str:
    """The owner of values that belong to the task of a fit: its task, else its table, else the fit alone."""
    return task_of_fit(db, fit_hash) or table_of_fit(db, fit_hash) or fit_hash


def newest_fit(db: Database, table_id: str) -> str:
    """The hash of the newest saved fit of a table; empty where it has none."""
    return next((f.hash for f in results.fits(db) if f.table_id == table_id), "")


def fit_names(db: Database, laws: Collection[str] = ()) -> dict[str, str]:
    """The saved fits and the published laws by hash, those of ``laws`` where some are named: names of their own."""
    names = {f.hash: f.name for f in results.fits(db) if not laws or f.law in laws}
    printed = published().items()
    names |= {key: f"{name} (published)" for key, (name, fit) in printed if not laws or fit.law.name in laws}
    return distinct(names)


def fit_of(db: Database, fit_hash: str) -> Fit:
    """The saved fit or the published law with that hash."""
    known = published()
    return known[fit_hash][1] if fit_hash in known else saved_fit(db, fit_hash)
