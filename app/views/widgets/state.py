"""The open table, filter and fit: those of the link, else the last ones of this session, else the newest.

The link is updated, so that it can be copied at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

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
"""Values that are remembered for each table."""
LAW_WIDGETS = {"law": "", "axis": ""}
"""Widgets that belong to a table; empty until one of the options of the table is chosen."""


def recall(name: str) -> str:
    """Return the value ``name`` from the link, else from this session; empty if neither has one."""
    return st.query_params.get(name) or st.session_state.get(OPEN + name, "")


def remember(name: str, value: str) -> None:
    """Store ``value`` in the session and in the link; an empty value is removed from both."""
    st.session_state[OPEN + name] = value
    if not value:
        st.query_params.pop(name, None)
    elif st.query_params.get(name) != value:
        st.query_params[name] = value


def typed(name: str, start: str) -> str:
    """Return the value ``name`` from the link, else from this session, else ``start``. It can be empty.

    A value from the link is stored in the session, and a stored value is written to the link.
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
    """Store ``value``, which can be empty, in the session and in the link; ``start`` is removed from both.

    The app, not Streamlit, writes it, so each change is an entry of the browser's history.
    """
    if value == start:
        st.session_state.pop(OPEN + name, None)
        st.query_params.pop(name, None)
        return
    st.session_state[OPEN + name] = value
    if st.query_params.get(name) != value:
        st.query_params[name] = value


def keep_possible(key: str, options: Collection[str], start: str = "") -> None:
    """Reset a bound widget to ``start`` (the first option) if its value is not possible for this fit or table.

    The value is set and not deleted, because only then the widget in the browser and the link follow.
    """
    if key in st.session_state and st.session_state[key] not in options:
        st.session_state[key] = start or next(iter(options))


def rename_choice(key: str, former: Mapping[str, str]) -> None:
    """Replace the ``former`` name of a choice in the link by the current one, before its widget is drawn."""
    if (asked := st.query_params.get(key, "")) in former:
        st.session_state[key] = st.query_params[key] = former[asked]


def select_one(
    label: str,
    names: Mapping[str, str],
    name: str,
    opened: str | None,
    change: Callable[[str], object] | None = None,
    **look: Any,
) -> None:
    """Show a selection among ``names`` by key, with ``opened`` selected.

    The selection is not bound to the link by Streamlit, because it would lose its value when its options change. A new
    choice is remembered as ``name``, or passed to ``change``. ``look`` are further arguments of the select box.
    """
    key = f"{name}_choice"

    def changed() -> None:
        (change or partial(remember, name))(st.session_state[key] or "")

    st.session_state[key] = opened
    options, index = list(names), None if opened is None else 0
    st.selectbox(label, options, index=index, format_func=names.__getitem__, key=key, on_change=changed, **look)


def choose_among(label: str, options: Sequence[str], name: str, **look: Any) -> str:
    """Return a choice among options that can change; by default the first. The link contains it as ``name``."""
    asked = recall(name)
    if asked and asked not in options:
        st.info(f"{escape_markdown(asked)} is none of {escape_markdown(', '.join(options))}.", icon=":material/info:")
    select_one(label, {option: option for option in options}, name, asked if asked in options else options[0], **look)
    return str(st.session_state[f"{name}_choice"])


def choose_y(label: str, options: Sequence[str], text: str) -> str:
    """Return the quantity that a law describes; by default the first of ``options``."""
    chosen = choose_among(label, options, "y", help=text)
    if recall("y") and recall("y") not in options:
        remember("y", options[0])
    return chosen


def choose_table(db: Database) -> TableInfo | None:
    """Show a selection of the table and return the open one; None, with a sentence, if that of the link is missing."""
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
    names = distinct({i: table.name for i, table in known.items()})
    select_one("Run table", names, "table", opened, open_table, placeholder="Choose a table")
    if opened is None:
        return None
    enter_table(opened)
    remember("table", opened)
    return known[opened]


def enter_table(table_id: str) -> None:
    """State that the remembered values of a table now belong to this one: its fit, filter, target and law."""
    belong("table", table_id, LAW_WIDGETS, remembered=OF_TABLE)


def _usual(db: Database, known: dict[str, TableInfo]) -> str:
    """Return the default table: that of the fit, else the user's newest, else the demo."""
    of_fit = [f.table_id for f in results.fits(db) if f.hash == recall("fit") and f.table_id in known]
    own = [t.id for t in known.values() if not t.read_only]
    return [*of_fit, *own, *known][0]


def open_table(table_id: str) -> None:
    """Open another table; the values of the previous one no longer apply."""
    st.session_state["open_table"] = table_id
    # The link is updated in the page's own run: after two changes in a callback it would not contain the widgets'
    # values.
    st.session_state["table_opened"] = True


def _follow_opened() -> None:
    """Update the link after a table was opened."""
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
    """Return the fit that is open as ``name``, with a selection of saved fits and published laws; None without any.

    Only fits of ``laws``, if given, and with a hash in ``only``, if given, are offered. The default is ``start``, else
    the first. There is no default if ``start`` is None or if the choice is ``free`` (optional).
    """
    names = {key: text for key, text in fit_names(db, laws).items() if only is None or key in only}
    wanted = recall(name)
    if wanted and wanted not in names and wanted in (every := fit_names(db)):
        names[wanted] = every[wanted]  # a fit in the link is opened in any case, and shows itself if it cannot be used
    if wanted and wanted not in names:
        st.error(
            f"The fit {escape_markdown(wanted)} of this link is not in this workspace: load its table on the Data "
            "page and fit "
            "it again, or choose another fit.",
            icon=":material/link_off:",
        )
    usual = None if free or start is None else start if start in names else next(iter(names), None)
    opened = wanted if wanted in names else None if wanted else usual
    text = "A saved fit, or a law as its paper printed it."
    select_one(label, names, name, opened, placeholder="None" if free else "Choose a fit", help=text)
    if opened is None:
        return None
    if name == "fit":
        _follow_fit(db, opened)
    remember(name, opened)
    return fit_of(db, opened)


def follow_link(db: Database) -> None:
    """Open the table of the link's fit, if the link names no table."""
    fit = st.query_params.get("fit")
    if fit and "table" not in st.query_params:
        _follow_fit(db, fit)


def _follow_fit(db: Database, fit_hash: str) -> None:
    """Open the table of a saved fit, so that other pages show a matching table and fit."""
    table = table_of_fit(db, fit_hash)
    if table is not None and recall("table") != table:
        enter_table(table)
        st.session_state["open_table"] = table
        if "table" in st.query_params:
            remember("table", table)


def table_of_fit(db: Database, fit_hash: str) -> str | None:
    """Return the table id of a saved fit; None for a published law, or if the table is not in this workspace."""
    table = next((f.table_id for f in results.fits(db) if f.hash == fit_hash), "")
    return table if table in {t.id for t in tables.all(db)} else None


def task_of_fit(db: Database, fit_hash: str) -> str:
    """Return the task of a saved fit or a published law; empty if unknown."""
    if fit_hash in published():
        return task_named(published()[fit_hash][0])
    return task_of(db, table_of_fit(db, fit_hash) or "")


def owner_of_fit(db: Database, fit_hash: str) -> str:
    """Return the owner of values that belong to the task of a fit: its task, else its table, else the fit itself."""
    return task_of_fit(db, fit_hash) or table_of_fit(db, fit_hash) or fit_hash


def newest_fit(db: Database, table_id: str) -> str:
    """Return the hash of the newest saved fit of a table; empty if there is none."""
    return next((f.hash for f in results.fits(db) if f.table_id == table_id), "")


def fit_names(db: Database, laws: Collection[str] = ()) -> dict[str, str]:
    """Return unique names of the saved fits and published laws by hash, limited to ``laws`` if given."""
    names = {f.hash: f.name for f in results.fits(db) if not laws or f.law in laws}
    printed = published().items()
    names |= {key: f"{name} (published)" for key, (name, fit) in printed if not laws or fit.law.name in laws}
    return distinct(names)


def fit_of(db: Database, fit_hash: str) -> Fit:
    """Return the saved fit or the published law with this hash."""
    known = published()
    return known[fit_hash][1] if fit_hash in known else saved_fit(db, fit_hash)
