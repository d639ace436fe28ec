"""A question as a sentence with fields: words and small widgets in one line that wraps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown
from isoplan.app.views.widgets.state import recall, remember, remember_typed, typed


@contextmanager
def blanks(key: str) -> Iterator[None]:
    """Open the line that contains the words and fields."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"blanks_{key}"):
        yield


def words(text: str) -> None:
    """Show the words between two fields."""
    st.markdown(text, width="content")


def blank(label: str, start: str, key: str, width: int = 130, hint: str = "") -> str:
    """Show a text field; ``label`` is its name for screen readers.

    The text is in the link as ``key``, and each change is an entry of the browser's history.
    """
    st.session_state[key] = typed(key, start)
    return str(
        st.text_input(
            label, key=key, max_chars=100, width=width, placeholder=hint, label_visibility="collapsed",
            on_change=lambda: remember_typed(key, st.session_state[key] or "", start),
        )
    )  # fmt: skip


def named_blank(label: str, options: Sequence[str], name: str, width: int = 180) -> str:
    """Show a selection whose options can change with the evidence; the link contains the choice as ``name``."""
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
