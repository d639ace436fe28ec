"""Escapes for text of users that Streamlit would read as Markdown: names, notes, and sentences that contain them."""

from __future__ import annotations

import re

import streamlit as st

from isoplan.engine.escaping import escape

_DIRECTIVE = re.compile(r":(?=[a-zA-Z:])")
_REPLACED = re.compile(
    r"(?i:https?)(?=://)|(?i:www)(?=\.)|(?<=[-.\w+])(?=@[-\w]+\.[-\w])"  # would become a link
    r"|:(?=[\w+-]+:|material/)"  # would become an emoji or an icon
    r"|(?<!\S)[<>~-](?=(?:->|[->=])(?!\S))"  # would become an arrow, a dash or a sign
)
"""Patterns that Streamlit replaces after Markdown was parsed. A backslash does not prevent this, but ``_JOINED`` does.
"""
_JOINED = "\u2060"
"""The word joiner, an invisible character without width. It breaks up the patterns of ``_REPLACED``."""


def escape_markdown(text: str) -> str:
    """Return ``text`` of a user such that Markdown shows it unchanged: no links, formulas, lists, emoji or icons."""
    return _DIRECTIVE.sub(r"\\:", escape(_separated(text)))


def code(text: str) -> str:
    """Return ``text`` of a user as inline code. Text that contains a backtick, or is blank, is shown as plain text."""
    return escape_markdown(text) if "`" in text or not text.strip() else f"`{_separated(text)}`"


def _separated(text: str) -> str:
    return _REPLACED.sub(lambda found: found[0] + _JOINED, text)


def refuse(sentence: str, icon: str = "error") -> None:
    """Show an error with a Material icon. ``sentence`` is escaped, because it can contain text of users."""
    st.error(escape_markdown(sentence), icon=f":material/{icon}:")
