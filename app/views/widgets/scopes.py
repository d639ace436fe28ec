"""The owner of remembered values: a page, a table, a family of cells, a device, a target quantity.

A value that belongs to one table (or family, or device) does not apply to another one. A page calls ``belong`` before
it draws the widgets. When the owner changes, the values of the old owner are kept aside, and the values of the new
owner come back, or the start values. A link, a reload and the back button set the values that are in the address.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitAPIException
from streamlit.runtime.scriptrunner import get_script_run_ctx

OPEN = "open_"
"""Session prefix of values that the app, not Streamlit, writes to the link."""
OF_PAGE = ("hour_price", "device", "devices", "precision")
"""Widgets of several pages with the same name in the link but different meanings."""
TYPED_OF_PAGE = ("reach",)
"""The same for values that the app, not Streamlit, writes to the link."""
_KEPT, _OWNERS, _PAGE = "values_kept", "value_owners", "page_drawn"
_FROM_LINK, _LINK, _TAKEN = "values_from_link", "names_in_link", "names_taken"


def arrive(page: str) -> None:
    """State that ``page`` is drawn next. Call it once in each run of the whole script, before the page.

    After the back button on the same page, values that are not in the address are reset to their start.
    """
    back, same = _is_back(), st.session_state.get(_PAGE) == page
    arrived = back or not same
    st.session_state[_PAGE] = page
    st.session_state[_FROM_LINK] = set(st.query_params) if arrived else set()
    st.session_state[_LINK] = frozenset(st.session_state[_FROM_LINK])
    st.session_state[_TAKEN] = set()
    if back and same:
        names = [str(key).removeprefix(OPEN) for key in st.session_state if str(key).startswith(OPEN)]
        for name in names:
            if name not in st.query_params:
                del st.session_state[OPEN + name]
    belong("page", page, remembered=TYPED_OF_PAGE, unmounted=OF_PAGE)


def belong(
    scope: str,
    owner: str,
    starts: Mapping[str, Any] | None = None,
    *,
    remembered: Collection[str] = (),
    unmounted: Collection[str] = (),
) -> None:
    """State that values belong to ``owner`` (the id of a table, the name of a device) in a ``scope``.

    ``starts`` are the widgets by key with the value that each starts with. ``remembered`` are the names that
    ``state.remember`` writes; they start empty. ``unmounted`` are keys of widgets that are not drawn yet, whose start
    is the default of the widget. Without an owner before, all values stay. An empty owner before (no device chosen
    yet) hands its values to the new one.
    """
    owners = st.session_state.setdefault(_OWNERS, {})
    keys = [*(starts or {}), *(OPEN + name for name in remembered), *unmounted]
    from_link = _take_from_link(scope, {key.removeprefix(OPEN) for key in keys})
    before = owners.get(scope)
    owners[scope] = owner
    if before is None or before == owner:
        return
    kept = st.session_state.setdefault(_KEPT, {})
    old_link = {OPEN + name: st.query_params[name] for name in remembered if name in {*st.query_params} - from_link}
    now = old_link | {key: st.session_state[key] for key in keys if key in st.session_state}
    if before:
        kept[scope, before] = now
    values = kept.get((scope, owner), {})
    for key, start in (starts or {}).items():
        typed = start if before else now.get(key, start)
        value = typed if typed != start else values.get(key, start)
        # The value is set and not deleted, because only then the browser and the link follow. A widget that was never
        # drawn needs no start.
        if key in now or value != start:
            st.session_state[key] = value
    for name in remembered:
        if name not in from_link:
            _set_remembered(name, values.get(OPEN + name))
    for key in unmounted:
        if key in values:
            st.session_state[key] = values[key]
            if values[key] not in (None, ""):
                write_link(key, str(values[key]))
        else:
            st.session_state.pop(key, None)


def _set_remembered(name: str, value: str | None) -> None:
    if value is None:
        st.session_state.pop(OPEN + name, None)
        st.query_params.pop(name, None)
    else:
        st.session_state[OPEN + name] = value
        write_link(name, value)


def write_link(name: str, value: str) -> None:
    """Write a restored value to the link. Streamlit refuses it while the previous page owns the name."""
    with suppress(StreamlitAPIException):
        if st.query_params.get(name) != value:
            st.query_params[name] = value


def link_names() -> frozenset[str]:
    """Return the names in the link with which the page was opened; empty once the page has been changed."""
    return frozenset(st.session_state.get(_LINK, ()))


def _take_from_link(scope: str, names: set[str]) -> set[str]:
    """Return those of ``names`` that the link has just set.

    A scope takes each once: a later change of owner clears it.
    """
    brought: set[str] = st.session_state.get(_FROM_LINK, set())
    taken: set[tuple[str, str]] = st.session_state.setdefault(_TAKEN, set())
    new = {name for name in brought & names if (scope, name) not in taken}
    taken |= {(scope, name) for name in new}
    return new


def _is_back() -> bool:
    """Return whether the browser's back or forward button started this run."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation
