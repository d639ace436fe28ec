"""Text that somebody else wrote, shown as it is where Streamlit reads Markdown: names, notes, sentences about them."""

from __future__ import annotations

import re

import streamlit as st

from isoplan.engine.markdown import escape

_DIRECTIVE = re.compile(r":(?=[a-zA-Z:])")
_REPLACED = re.compile(
    r"(?i:https?)(?=://)|(?i:www)(?=\.)|(?<=[-.\w+])(?=@[-\w]+\.[-\w])"  # would become a link
    r"|:(?=[\w+-]+:|material/)"  # an emoji or an icon
    r"|(?<!\S)[<>~-](?=(?:->|[->=])(?!\S))"  # an arrow, a dash or a sign
)
"""What Streamlit replaces in text after Markdown has been read, so that no backslash keeps it."""
_JOINED = "\u2060"
"""A character that shows nothing and takes no room."""


def escape_markdown(text: str) -> str:
    """Text of a user's that Markdown leaves as it is: no link, picture, formula, list, emoji or sign comes of it."""
    return _DIRECTIVE.sub(r"\\:", escape(_REPLACED.sub(lambda found: found[0] + _JOINED, text)))


def refuse(sentence: str, icon: str = "error") -> None:
    """Show an error that names what somebody typed or uploaded, with a Material icon."""
    st.error(escape_markdown(sentence), icon=f":material/{icon}:")
