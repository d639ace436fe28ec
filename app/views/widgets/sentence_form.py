"""A question as a sentence with blanks: words and small widgets in one line that wraps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown
from isoplan.app.views.widgets.state import recall, remember, remember_typed, typed


@contextmanager
def blanks(key: str) -> Iterator[None]:
    """The line that the words and blanks stand in."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"blanks_{key}"):
        yield


def words(text: str) -> None:
    """The words between two blanks."""
    st.markdown(text, width="content")


def blank(label: str, start: str, key: str, width: int = 130, hint: str = "") -> str:
    """A blank to type in; ``label`` is what it is called where it cannot be seen.

    What is typed stands in the link as ``key`` and is an entry of the browser's history.
    """
    st.session_state[key] = typed(key, start)
    return str(
        st.text_input(
            label, key=key, max_chars=100, width=width, placeholder=hint, label_visibility="collapsed",
            on_change=lambda: remember_typed(key, st.session_state[key] or "", start),
        )
    )  # fmt: skip


def named_blank(label: str, options: Sequence[str], name: str, width: int = 180) -> str:
    """A blank to choose in whose options may change with the evidence; the link holds the choice as ``name``."""
    asked = recall(name)
    if asked and asked not in options:
        st.info(f"{escape_markdown(asked)} is none of {escape_markdown(', '.join(options))}.", icon=":material/info:")
    key = f"{name}_choice"
    st.session_state[key] = asked if asked in options else options[0]
    return str(
        st.selectbox(
            label, options, key=key, width=width, label_visibility="collapsed",
            on_change=lambda: remember(name, st.session_state[key]),
        )
    )  # fmt: skip
