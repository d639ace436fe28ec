"""The open table, filter and fit of a page, and other values that the link contains.

The link has priority over the session, and the session over a default. The link is always updated, so it can be copied
at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from isoplan.app.bundled import task_named, task_of
from isoplan.app.links import RENAMED
from isoplan.app.views.widgets.cache import published, saved_fit
from isoplan.app.views.widgets.parts import distinct, escape_markdown
from isoplan.app.views.widgets.scopes import OPEN, belong, write_link
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.tables import TableInfo

OF_TABLE = ("fit", "where", "y", "law")
"""Names of values that are stored separately for each table."""
LAW_WIDGETS = {"axis": ""}
"""Keys and initial values of widgets that are stored separately for each table; "" selects the default column."""


def recall(name: str) -> str:
    """Return the value ``name`` from the link, or otherwise from the session; "" if neither contains it."""
    return st.query_params.get(name) or st.session_state.get(OPEN + name, "")


def remember(name: str, value: str) -> None:
    """Store ``value`` in the session and in the link; an empty value is removed from both."""
    st.session_state[OPEN + name] = value
    if not value:
        st.query_params.pop(name, None)
    elif st.query_params.get(name) != value:
        st.query_params[name] = value


def typed(name: str, start: str) -> str:
    """Return the typed value ``name`` from the link, otherwise from the session, otherwise ``start``.

    An empty text is a valid value. A value from the link is stored in the session, and a value from the session is
    written to the link.
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
    """Store a typed ``value`` in the session and in the link; if it equals ``start``, remove it from both.

    An empty text is a valid value. The app itself writes the link, so each change is an entry in the browser's history.
    """
    if value == start:
        st.session_state.pop(OPEN + name, None)
        st.query_params.pop(name, None)
        return
    st.session_state[OPEN + name] = value
    if st.query_params.get(name) != value:
        st.query_params[name] = value


def keep_possible(key: str, options: Collection[str], start: str = "") -> None:
    """Reset the widget ``key`` if its value is not in ``options``, for example after a change of the table.

    The widget is set to ``start``, or to the first option. The value must not be deleted: without a new value, the
    browser and the link would keep the old value.
    """
    if key in st.session_state and st.session_state[key] not in options:
        st.session_state[key] = start or next(iter(options))


def rename_choice(key: str, former: Mapping[str, str]) -> None:
    """If the link contains the former name of an option, replace the former name by the present name.

    ``former`` maps former names to present names. Call this function before the widget ``key`` is drawn.
    """
    if (asked := st.query_params.get(key, "")) in former:
        st.session_state[key] = st.query_params[key] = former[asked]
        st.session_state[RENAMED] = {*st.session_state.get(RENAMED, ()), key}


def select_one(
    label: str,
    names: Mapping[str, str],
    name: str,
    opened: str | None,
    change: Callable[[str], object] | None = None,
    **look: Any,
) -> None:
    """Show a selection box for ``names`` (texts by key) in which the key ``opened`` is selected.

    A new choice is stored as ``name``, or passed to ``change``. The box is not bound to the link by Streamlit, because
    a bound box loses its value when its options change. ``look`` are further arguments of the selection box.
    """
    key = f"{name}_choice"

    def changed() -> None:
        (change or partial(remember, name))(st.session_state[key] or "")

    st.session_state[key] = opened
    options, index = list(names), None if opened is None else 0
    st.selectbox(label, options, index=index, format_func=names.__getitem__, key=key, on_change=changed, **look)


def choose_among(label: str, options: Sequence[str], name: str, **look: Any) -> str:
    """Show a selection whose options can change, and return the choice. The link contains the choice under ``name``.

    The default is the first option. If the link contains a choice that is not available, a message names this choice.
    """
    asked = recall(name)
    if asked and asked not in options:
        st.info(
            f"{escape_markdown(asked)} is not available here. Available: {escape_markdown(', '.join(options))}.",
            icon=":material/info:",
        )
    select_one(label, {option: option for option in options}, name, asked if asked in options else options[0], **look)
    return str(st.session_state[f"{name}_choice"])


def choose_named(label: str, names: Mapping[str, str], name: str, start: str, **look: Any) -> str:
    """Show a selection of texts by key and return the chosen key, by default ``start``.

    The link contains the chosen key under ``name``. A key in the link that is not an option is removed.
    """
    asked = recall(name)
    if asked and asked not in names:
        remember(name, asked := "")
    select_one(label, names, name, asked or start, **look)
    return str(st.session_state[f"{name}_choice"])


def choose_y(label: str, options: Sequence[str], text: str) -> str:
    """Show the selection of the quantity that a law describes, and return its column; by default the first option."""
    chosen = choose_among(label, options, "y", help=text)
    if recall("y") and recall("y") not in options:
        remember("y", options[0])
    return chosen


def choose_table(db: Database) -> TableInfo | None:
    """Show the selection of a run table and return the open table.

    Returns None if there are no tables. If the table of the link does not exist, shows a message and returns None.
    """
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
    """State that ``table_id`` is the open table, so that its own stored fit, filter, quantity and law apply."""
    belong("table", table_id, LAW_WIDGETS, remembered=OF_TABLE)


def _usual(db: Database, known: dict[str, TableInfo]) -> str:
    """Return the id of the default table: the table of the open fit.

    Without an open fit, it is the table that was used last, which is the table of the newest fit or the newest upload.
    If no table was used yet, it is the first table.
    """
    fits = [f for f in results.fits(db) if f.table_id in known]
    opened = [f.table_id for f in fits if f.hash == recall("fit")]
    used = [(f.created, f.table_id) for f in fits] + [(t.created, t.id) for t in known.values() if not t.read_only]
    return [*opened, *([max(used)[1]] if used else []), *known][0]


def open_table(table_id: str) -> None:
    """Open another table in the next run of the page; values of the previous table then no longer apply."""
    st.session_state["open_table"] = table_id
    # The link is updated in the next run of the page. If one callback changed both the table and the link, the link
    # would not contain the values of the widgets.
    st.session_state["table_opened"] = True


def _follow_opened() -> None:
    """Write the table to the link if it was opened in the previous run."""
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
    """Show the selection of saved fits and published laws; return the fit that is open as ``name``, or None.

    If ``laws`` or ``only`` (hashes) are given, only fits with these laws or hashes are options. The default is
    ``start``, or the first option. If ``start`` is None, or if the choice is ``free`` (optional), there is no default.
    """
    names = {key: text for key, text in fit_names(db, laws).items() if only is None or key in only}
    wanted = recall(name)
    if wanted and wanted not in names and wanted in (every := fit_names(db)):
        names[wanted] = every[wanted]  # the fit of a link is always an option; the page states if it cannot be used
    if wanted and wanted not in names:
        st.error(
            f"The fit {escape_markdown(wanted)} of this link is not in this workspace: load its table on the Data "
            "page and fit "
            "it again, or choose another fit.",
            icon=":material/link_off:",
        )
    usual = None if free or start is None else start if start in names else next(iter(names), None)
    opened = wanted if wanted in names else None if wanted else usual
    text = "A saved fit, or a published law with the parameters of its paper."
    select_one(label, names, name, opened, placeholder="None" if free else "Choose a fit", help=text)
    if opened is None:
        return None
    if name == "fit":
        _follow_fit(db, opened)
    remember(name, opened)
    return fit_of(db, opened)


def follow_link(db: Database) -> None:
    """If the link contains a fit but no table, open the table of this fit."""
    fit = st.query_params.get("fit")
    if fit and "table" not in st.query_params:
        _follow_fit(db, fit)


def _follow_fit(db: Database, fit_hash: str) -> None:
    """Open the table of a saved fit, so that table and fit match on all pages."""
    table = table_of_fit(db, fit_hash)
    if table is not None and recall("table") != table:
        enter_table(table)
        st.session_state["open_table"] = table
        if "table" in st.query_params:
            remember("table", table)


def table_of_fit(db: Database, fit_hash: str) -> str | None:
    """Return the id of the table of a saved fit; None for a published law, or if the table is not in this workspace."""
    table = next((f.table_id for f in results.fits(db) if f.hash == fit_hash), "")
    return table if table in {t.id for t in tables.all(db)} else None


def task_of_fit(db: Database, fit_hash: str) -> str:
    """Return the task of a saved fit or a published law; "" if it is not known."""
    if fit_hash in published():
        return task_named(published()[fit_hash][0])
    return task_of(db, table_of_fit(db, fit_hash) or "")


def owner_of_fit(db: Database, fit_hash: str) -> str:
    """Return the owner of the settings of a fit: the task of the fit.

    If the task is not known, return the table of the fit. If the table is not known either, return ``fit_hash``.
    """
    return task_of_fit(db, fit_hash) or table_of_fit(db, fit_hash) or fit_hash


def newest_fit(db: Database, table_id: str) -> str:
    """Return the hash of the newest saved fit of a table; "" if there is none."""
    return next((f.hash for f in results.fits(db) if f.table_id == table_id), "")


def fit_names(db: Database, laws: Collection[str] = ()) -> dict[str, str]:
    """Return distinct names of the saved fits and published laws, by hash; only of ``laws`` if any are given."""
    names = {f.hash: f.name for f in results.fits(db) if not laws or f.law in laws}
    printed = published().items()
    names |= {key: f"{name} (published)" for key, (name, fit) in printed if not laws or fit.law.name in laws}
    return distinct(names)


def fit_of(db: Database, fit_hash: str) -> Fit:
    """Return the saved fit or the published law with the hash ``fit_hash``."""
    known = published()
    return known[fit_hash][1] if fit_hash in known else saved_fit(db, fit_hash)
