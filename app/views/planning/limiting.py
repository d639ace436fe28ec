"""Limits: each that is added is a further blank of the question, kept in the link under its name in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown
from isoplan.app.views.widgets.sentence_form import blank, words
from isoplan.engine.planning.scenario.limits import LimitName, Limits
from isoplan.engine.planning.scenario.prices import GIGABYTE
from isoplan.engine.planning.scenario.typed_prices import read_limits
from isoplan.engine.quantities import as_typed

OPTIONS: dict[str, LimitName] = {
    "unique samples": "unique",
    "parameters": "parameters",
    "epochs": "epochs",
    "hours": "hours",
    "memory": "memory",
    "money": "money",
}
"""What the link holds as ``limits``."""
KEYS: dict[LimitName, str] = {
    "unique": "max_unique",
    "parameters": "max_params",
    "epochs": "max_epochs",
    "hours": "max_hours",
    "memory": "max_memory",
    "money": "max_money",
}
HINTS: dict[LimitName, str] = {
    "unique": "2 M",
    "parameters": "100 M",
    "epochs": "4",
    "hours": "24",
    "memory": "80",
    "money": "1000",
}
SAID: dict[LimitName, str] = {
    "unique": "number of unique samples",
    "parameters": "number of parameters",
    "epochs": "number of epochs",
    "hours": "number of hours",
    "memory": "memory of each device",
    "money": "sum of money",
}
"""What each limit is called within a sentence."""


def choose() -> list[LimitName]:
    """The limits that the question has, in their order."""
    chosen = st.pills(
        "Limits", list(OPTIONS), selection_mode="multi", key="limits", bind="query-params", width="content",
        label_visibility="collapsed",
    )  # fmt: skip
    return [name for option, name in OPTIONS.items() if option in (chosen or ())]


def blanks_of(chosen: Sequence[LimitName], unit: str, first: str) -> dict[LimitName, str]:
    """The blanks of the limits that are ``chosen``, after the words ``first``; ``unit`` is what a sample is called."""
    after: dict[LimitName, str] = {
        "unique": f"unique {unit}",
        "parameters": "parameters",
        "epochs": "epochs",
        "hours": "hours",
        "memory": "GB of memory on each device",
        "money": _currency(),
    }
    typed: dict[LimitName, str] = {}
    for i, name in enumerate(chosen):
        words("and at most" if i else first)
        typed[name] = blank(f"At most so many {escape_markdown(after[name])}", "", KEYS[name], 100, hint=HINTS[name])
        words(escape_markdown(after[name]))
    return typed


def read(typed: dict[LimitName, str]) -> Limits:
    """The limits that are filled in, after a sentence on those that are not. Raises PlannerError for what cannot be."""
    for name in (name for name, text in typed.items() if not text.strip()):
        st.warning(f"The {SAID[name]} is empty and limits nothing: type one, or take the limit away.",
                   icon=":material/block:")  # fmt: skip
    return read_limits({name: text for name, text in typed.items() if text.strip()}, SAID, _currency())


def _currency() -> str:
    return str(st.session_state.get("currency", "EUR"))


def link(limits: Limits) -> dict[str, str | list[str]]:
    """What the address of the page holds to set ``limits`` again."""
    given = limits.given
    if not given:
        return {}
    words = {name: option for option, name in OPTIONS.items()}
    texts = {KEYS[name]: as_typed(most / GIGABYTE if name == "memory" else most) for name, most in given.items()}
    return {"limits": [words[name] for name in given], **texts}
