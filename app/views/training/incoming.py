"""A box for one file at a time, read as it comes in: empty again afterwards, and a file that is refused says why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown
from isoplan.engine.errors import PlannerError

Take = Callable[[Any], None]


def box(name: str, label: str, types: Sequence[str], megabytes: int, take: Take, text: str | None = None) -> None:
    """The box called ``name``; ``take`` gets the file, and may raise PlannerError, which ``refused`` says."""
    count = st.session_state.setdefault(f"{name}_read", 0)
    key = f"{name}_file_{count}"
    st.file_uploader(
        label, type=list(types), key=key, max_upload_size=megabytes, on_change=_read, args=(name, key, take), help=text
    )


def refused(name: str) -> None:
    """Why the file that was given last to the box called ``name`` was not taken."""
    if reason := st.session_state.pop(f"{name}_refused", ""):
        st.error(escape_markdown(reason), icon=":material/error:")


def _read(name: str, key: str, take: Take) -> None:
    sent = st.session_state[key]
    if sent is None:
        return
    st.session_state[f"{name}_read"] += 1
    try:
        take(sent)
    except PlannerError as error:
        st.session_state[f"{name}_refused"] = str(error)
