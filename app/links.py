"""Links to a page in its current state: the page, the hashes of the table and the fit, and the values of the widgets.

Streamlit writes the values of bound widgets to the address (URL) and reads them from the address. This module returns
the address for copying, shortens long links, and shows a message for each value that the page cannot use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from isoplan.app import workspace
from isoplan.app.views.widgets.markdown import escape_markdown, refuse
from isoplan.engine.errors import PlannerError
from isoplan.engine.store.saved import results

LONGEST = 1500
"""Maximum length of a query in characters.

Mail and chat programs can cut longer queries, so longer queries are replaced by a saved view.
"""
PAGES = {"": "home", "amplitude": "precision"} | {
    name: name for name in ("story", "data", "fit", "explore", "plan", "train", "recommender", "precision")
}
"""Name of the script in ``views`` by the path of the page. ``amplitude`` is an older path of the page Precision."""


def here() -> str:
    """Return the address of this page with its current state.

    If the query is longer than ``LONGEST``, it is saved in the workspace, and the query becomes ``?view=hash``.
    """
    base = (st.context.url or workspace.settings().url).partition("?")[0]
    query = asked()
    text = urlencode(query, doseq=True)
    if len(text) > LONGEST:
        page = base.rstrip("/").rpartition("/")[2]
        text = urlencode({"view": results.save_view(workspace.current(), {"page": page, "query": query})})
    return f"{base}?{text}" if text else base


def asked() -> dict[str, list[str]]:
    """Return the query of this page's current address: a list of values for each parameter."""
    return {name: st.query_params.get_all(name) for name in st.query_params}


def follow_view() -> None:
    """Open the saved view that the address names (``?view=hash``).

    If the view is not in this workspace, a message is shown. Without ``?view=``, nothing happens.
    """
    asked = st.query_params.pop("view", "")
    if not asked:
        return
    try:
        view = results.view(workspace.current(), asked)
    except PlannerError as error:
        refuse(str(error), "link_off")
        return
    st.switch_page(f"views/{PAGES.get(view['page'], 'home')}.py", query_params=view["query"])


RENAMED = "choices_renamed"
"""Session key of the link parameters whose value was the old name of an option.

The page has replaced this value by the new name.
"""


@contextmanager
def named_faults() -> Iterator[None]:
    """Show, above the page, a message for each value of the link that the page could not use.

    The messages appear only at the first run of the session.
    """
    first = "link_read" not in st.session_state
    place, given = st.container(), asked() if first else {}
    try:
        yield
    finally:
        st.session_state["link_read"] = True
        renamed = st.session_state.pop(RENAMED, ())
        given = {name: values for name, values in given.items() if name not in renamed}
        for sentence in _faults(given, st.query_params.to_dict(), st.session_state):
            place.warning(sentence, icon=":material/link_off:")


def _faults(given: Mapping[str, list[str]], left: Mapping[str, str], state: Any) -> list[str]:
    """Return a sentence for each value of the link that a widget refused or changed.

    ``given`` is the query of the link. ``left`` is the query after the page has run. ``state`` contains the widget
    values. A refused value is not in ``left``. An accepted value that equals the default is not in ``left`` either, but
    no sentence is returned for this value.
    """
    found = []
    for name, values in given.items():
        if name not in state or len(values) != 1 or _same(values[0], left.get(name, state[name])):
            continue
        used = escape_markdown(str(left.get(name, state[name]) or "nothing"))
        found.append(
            f"The link asks for {name} = {_code(values[0])}, which is not possible here: {used} is used instead."
        )
    return found


def _code(text: str) -> str:
    """Return at most 80 characters of a text from a link as Markdown code. Markdown in the text then has no effect."""
    return f"`{text[:80].replace('`', '').strip() or ' '}`"


def _same(given: str, used: object) -> bool:
    if isinstance(used, bool):
        return given.lower() in ({"true", "1"} if used else {"false", "0"})
    try:
        return float(given) == float(str(used))
    except ValueError:
        return given == str(used)
