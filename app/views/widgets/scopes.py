"""Owners of stored input values: the table, device, page or family of cells to which a value belongs.

A value that was entered for one table does not apply to another table. A page calls ``belong`` before it draws the
widgets. If the owner has changed, ``belong`` stores the values of the old owner. It then restores the values of the new
owner, or sets them to their initial values. Values in the link have priority, also after a reload or the back button.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitAPIException
from streamlit.runtime.scriptrunner import get_script_run_ctx

OPEN = "open_"
"""Prefix of session keys for values that the app itself writes to the link. Streamlit writes the other values."""
OF_PAGE = ("hour_price", "device", "devices", "precision")
"""Keys of widgets. The links of several pages contain the same key, but the key has another meaning on each page."""
TYPED_OF_PAGE = ("reach",)
"""Names of values that the app itself (not Streamlit) writes to the link. A name has another meaning on each page."""
_KEPT, _OWNERS, _PAGE = "values_kept", "value_owners", "page_drawn"
_FROM_LINK, _LINK, _TAKEN = "values_from_link", "names_in_link", "names_taken"


def arrive(page: str) -> None:
    """Prepare the session for drawing ``page``. Call this function once per script run, before the page is drawn.

    If the user goes back within the same page, values that are not in the link are reset.
    """
    back, same = is_back(), st.session_state.get(_PAGE) == page
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
    """State that the values of a ``scope`` ("table", "device", ...) belong to ``owner``, such as the id of a table.

    ``starts`` contains initial values of widgets by key. ``remembered`` are names of values that ``state.remember``
    writes; they are initially empty. ``unmounted`` are keys of widgets that are not drawn yet and start with their own
    default.

    The first call for a scope changes no values. If the previous owner was "" (for example, no device), the new owner
    gets the current values.
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
        # Set the value even if it is the initial value: if the entry were deleted, the browser and the link would keep
        # the old value. A widget that was never drawn and has its initial value needs no entry.
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
    """Write a restored value to the link. Streamlit refuses this if the name still belongs to the previous page."""
    with suppress(StreamlitAPIException):
        if st.query_params.get(name) != value:
            st.query_params[name] = value


def link_names() -> frozenset[str]:
    """Return the names of the parameters in the link that opened the page; empty in later runs of the page."""
    return frozenset(st.session_state.get(_LINK, ()))


def _take_from_link(scope: str, names: set[str]) -> set[str]:
    """Return those ``names`` that the link contained when the page was opened in this run.

    Within one run, each name is returned only once for a scope. If the owner of the scope changes again in this run,
    the new owner does not get the value from the link.
    """
    brought: set[str] = st.session_state.get(_FROM_LINK, set())
    taken: set[tuple[str, str]] = st.session_state.setdefault(_TAKEN, set())
    new = {name for name in brought & names if (scope, name) not in taken}
    taken |= {(scope, name) for name in new}
    return new


def is_back() -> bool:
    """Return whether the back or forward button of the browser started this run of the script."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation
