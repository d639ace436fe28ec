"""Limits of a planner question, such as a maximum memory. Each selected limit adds an input field to the question.

The URL of the page stores the value of each limit under the name of its input field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from isoplan.app.views.widgets.inputs import blank, words
from isoplan.app.views.widgets.parts import escape_markdown
from isoplan.engine.planning.scenario.fields import EUR, FIELDS, LIMITS, Field
from isoplan.engine.planning.scenario.limits import Limits
from isoplan.engine.planning.scenario.prices import GIGABYTE
from isoplan.engine.quantities import as_typed


def choose() -> list[Field]:
    """Show one button per limit; return the selected limits in the order of ``LIMITS``."""
    chosen = st.pills(
        "Limits", [limit.label for limit in LIMITS], selection_mode="multi", key="limits", bind="query-params",
        width="content", label_visibility="collapsed",
    )  # fmt: skip
    return [limit for limit in LIMITS if limit.label in (chosen or ())]


def blanks_of(chosen: Sequence[Field], unit: str, first: str) -> dict[str, str]:
    """Show the input fields of the ``chosen`` limits and return their texts by field name.

    The text ``first`` appears before the first field. ``unit`` is the name of a training sample, such as "tokens".
    """
    after = {
        "unique": f"unique {unit}",
        "memory": "GB of memory on each device",
        "money": str(st.session_state.get("currency", EUR)),
    }
    typed: dict[str, str] = {}
    for i, limit in enumerate(chosen):
        what = escape_markdown(after.get(str(limit.limit), limit.label))
        words("and at most" if i else first)
        typed[limit.name] = blank(f"Maximum: {what}", "", limit.name, 100, hint=limit.hint)
        words(what)
    return typed


def drop_empty(typed: Mapping[str, str]) -> dict[str, str]:
    """Return the limits that have a value, and show a warning for each selected limit whose field is empty."""
    for name in (name for name, text in typed.items() if not text.strip()):
        st.warning(f"The {FIELDS[name].said} is empty. Enter a maximum or remove this limit.",
                   icon=":material/block:")  # fmt: skip
    return {name: text for name, text in typed.items() if text.strip()}


def link(limits: Limits) -> dict[str, str | list[str]]:
    """Return the query parameters of a link that selects ``limits`` and sets their values."""
    most = limits.given
    given = [field for field in LIMITS if field.limit in most]
    if not given:
        return {}
    values = {field.name: most[field.limit] for field in given if field.limit is not None}
    texts = {name: as_typed(x / GIGABYTE if name == "max_memory" else x) for name, x in values.items()}
    return {"limits": [field.label for field in given], **texts}
