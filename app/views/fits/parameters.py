"""What is known of a law's parameters before the fit: held values, priors, bounds, and what groups of runs share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown
from isoplan.engine.errors import PlannerError
from isoplan.engine.laws import Law
from isoplan.engine.quantities import parse_number
from isoplan.engine.schema import Runs

PLUS_MINUS = "\N{PLUS-MINUS SIGN}"


def choose_parameters(law: Law, runs: Runs, table_id: str, share: Sequence[str] = ()) -> dict[str, Any]:
    """The fields ``fixed``, ``prior``, ``bounds`` and ``share`` of a specification, from a box for each parameter.

    The parameters ``share`` are the same in all groups to begin with.
    """
    typed = law.name == "formula"
    ways = "Leave a parameter empty to fit it, hold it at a value (0.32), or give it a Gaussian prior (0.34 ± 0.02)"
    st.caption(f"{ways}, or bounds (0 to 5)." if typed else f"{ways}.")
    found: dict[str, Any] = {"fixed": {}, "prior": {}, "bounds": {}}
    grid = st.grid(5, min_column_width=110)
    for parameter in law.params:
        text = grid.text_input(
            escape_markdown(parameter.name), placeholder="free", help=escape_markdown(parameter.meaning), max_chars=60,
            key=f"known_{table_id}_{law.key}_{parameter.name}",
        )  # fmt: skip
        if text and text.strip():
            kind, value = read_known(text, parameter.name, bounded=typed)
            found[kind][parameter.name] = value
    if "group" in runs.labels and law.estimator == "surface":
        found["share"] = st.multiselect(
            "The same in all groups",
            law.names,
            share,
            key=f"share_{table_id}_{law.key}",
            placeholder="Nothing: the groups are fitted as one",
            help="Every group gets its own fit; these parameters have one value in all of them.",
        )
    return found


def read_known(text: str, name: str, *, bounded: bool = False) -> tuple[str, Any]:
    """What a box says of the parameter ``name``: the field of the specification, and the value it gets there.

    Raises PlannerError for anything but a number, ``mean ± sd``, and, where ``bounded``, ``low to high``.
    """
    mean, between, sd = text.replace("+-", PLUS_MINUS).replace("+/-", PLUS_MINUS).partition(PLUS_MINUS)
    if between:
        return "prior", (parse_number(mean, f"mean of {name}"), parse_number(sd, f"standard deviation of {name}"))
    low, to, high = text.partition(" to ")
    if not to:
        return "fixed", parse_number(text, f"value of {name}")
    if not bounded:
        raise PlannerError(f"{name} has bounds of its own: give a number such as 0.32, or 0.34 ± 0.02.")
    ends = (parse_number(end, f"bound of {name}") if end.strip() else None for end in (low, high))
    return "bounds", tuple(ends)
