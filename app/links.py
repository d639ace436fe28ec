"""What a link holds: the page, the table and the fit by short hash, and the values of the bound widgets.

Streamlit writes bound values into the address and reads them back; here are the rest: the address to copy, links that
would be too long, and a sentence for a value that the page cannot take.
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
"""Characters of a query that every mail client and chat leaves whole; longer ones become a saved view."""
PAGES = {"": "home", "amplitude": "precision"} | {
    name: name for name in ("data", "fit", "explore", "plan", "train", "recommender", "precision")
}
"""The script of each page in ``views`` by its address; ``amplitude`` is an older address of Precision."""


def here() -> str:
    """The address of this page with what is open on it; a long one is saved and becomes ``?view=hash``."""
    base = (st.context.url or workspace.settings().url).partition("?")[0]
    query = asked()
    text = urlencode(query, doseq=True)
    if len(text) > LONGEST:
        page = base.rstrip("/").rpartition("/")[2]
        text = urlencode({"view": results.save_view(workspace.current(), {"page": page, "query": query})})
    return f"{base}?{text}" if text else base


def asked() -> dict[str, list[str]]:
    """What the address of this page holds now."""
    return {name: st.query_params.get_all(name) for name in st.query_params}


def follow_view() -> None:
    """Go where a saved view (``?view=hash``) points; a sentence where it is not in this workspace."""
    asked = st.query_params.pop("view", "")
    if not asked:
        return
    try:
        view = results.view(workspace.current(), asked)
    except PlannerError as error:
        refuse(str(error), "link_off")
        return
    st.switch_page(f"views/{PAGES.get(view['page'], 'home')}.py", query_params=view["query"])


@contextmanager
def named_faults() -> Iterator[None]:
    """Around a page's first run: above the page, name the values of its link that it could not take."""
    first = "link_read" not in st.session_state
    place, given = st.container(), asked() if first else {}
    try:
        yield
    finally:
        st.session_state["link_read"] = True
        for sentence in _faults(given, st.query_params.to_dict(), st.session_state):
            place.warning(sentence, icon=":material/link_off:")


def _faults(given: Mapping[str, list[str]], left: Mapping[str, str], state: Any) -> list[str]:
    """A sentence for each value of a widget that was dropped or changed; a default that only went unwritten is none."""
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
    """Text from a link, as code so that nothing in it is read as Markdown."""
    return f"`{text[:80].replace('`', '').strip() or ' '}`"


def _same(given: str, used: object) -> bool:
    if isinstance(used, bool):
        return given.lower() in ({"true", "1"} if used else {"false", "0"})
    try:
        return float(given) == float(str(used))
    except ValueError:
        return given == str(used)
