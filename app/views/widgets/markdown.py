"""Escapes for user text where Streamlit reads Markdown: names, notes, and sentences that contain them."""

from __future__ import annotations

import re

import streamlit as st

from isoplan.engine.escaping import escape

_DIRECTIVE = re.compile(r":(?=[a-zA-Z:])")
_REPLACED = re.compile(
    r"(?i:https?)(?=://)|(?i:www)(?=\.)|(?<=[-.\w+])(?=@[-\w]+\.[-\w])"  # otherwise a link
    r"|:(?=[\w+-]+:|material/)"  # otherwise an emoji or an icon
    r"|(?<!\S)[<>~-](?=(?:->|[->=])(?!\S))"  # otherwise an arrow, a dash or a sign
)
"""Text that Streamlit replaces after Markdown was parsed, so that a backslash does not protect it."""
_JOINED = "\u2060"
"""A character that is invisible and has no width (word joiner)."""


def escape_markdown(text: str) -> str:
    """Return user text that Markdown shows unchanged, without links, images, formulas, lists, emoji or signs."""
    return _DIRECTIVE.sub(r"\\:", escape(_REPLACED.sub(lambda found: found[0] + _JOINED, text)))


def refuse(sentence: str, icon: str = "error") -> None:
    """Show an error that contains user input, with a Material icon."""
    st.error(escape_markdown(sentence), icon=f":material/{icon}:")
