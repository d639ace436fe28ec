"""What takes seconds and is asked for with a button: kept by the hash of what it is made from, for every session."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from isoplan.app.views.widgets.parts import progress_bar, sentences

MOST = 32
Key = tuple[str, ...]
Made = TypeVar("Made")


@st.cache_resource(show_spinner=False)
def _kept() -> OrderedDict[Key, object]:
    return OrderedDict()


def asked(
    key: Key, button: str, doing: str, make: Callable[[Callable[[float], None]], Made], kind: type[Made]
) -> Made | None:
    """What is kept under ``key``; else a button that makes it with a progress bar, and None until it was pressed."""
    found = _kept().get(key)
    if isinstance(found, kind):
        return found
    place = st.empty()
    if not place.button(button, key="_".join(("ask", *key)), icon=":material/play_arrow:"):
        return None
    place.empty()
    with progress_bar(doing) as progress, sentences():
        made = make(progress)
        _kept()[key] = made
        while len(_kept()) > MOST:
            _kept().popitem(last=False)
        return made
    return None
