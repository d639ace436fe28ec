"""Widgets that select a law, and fixed values, priors and bounds of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown
from isoplan.app.views.widgets.state import choose_named, keep_possible, recall
from isoplan.data.catalogue import Demo
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.law_suggestions import Suggestion, columns_for, offered_laws, suggest_law
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.laws import ONE_AXIS, Law
from isoplan.engine.laws.expression import EXAMPLE
from isoplan.engine.quantities import parse_number
from isoplan.engine.schema import Runs

TYPED = "formula"


def suggested(runs: Runs, y: str, opening: Demo | None = None) -> Suggestion | None:
    """Return the suggested law for the column ``y`` with the reason; None if the table allows no law.

    ``opening`` is the catalogue entry of a bundled table. If this entry describes ``y``, its law is suggested.
    """
    found = suggest_law(runs, y)
    if opening is None or opening.spec.y != y:
        return found
    law = opening.spec.find_law()
    return (
        found if found is not None and found.law.key == law.key else Suggestion(law, "this table was made for this law")
    )


def choose_law(runs: Runs, y: str, start: Suggestion | None) -> Law | None:
    """Show the selection of laws and return the law to fit to the column ``y``.

    The initial selection is the law in the page URL, or else the suggestion ``start``. If the table allows no law, a
    message states the reason and the result is None.
    """
    laws, others = offered_laws(runs, y)
    over = {law.name: law for law in ONE_AXIS if columns_for(law, runs, y)}
    if not laws and not over:
        st.info(
            f"No law can be fitted to this table yet: {escape_markdown(others[0][1])}. Change the mapping on the "
            "Data page.",
            icon=":material/info:",
        )
        return None
    by_key = {law.key: law for law in laws}
    _say_why(others)
    keys = [*by_key, *over, TYPED]
    name, axis = (start.law.name, start.law.axis) if start else ("", None)
    first = next((keys.index(key) for key in (f"{name}-{axis}", name) if key in keys), 0)
    titles = {_name(law): title_of(law) for law in (*laws, *over.values())} | {TYPED: "Your own formula"}
    key = choose_named("Law", titles, "law", keys[first], help=_help([*laws, *over.values()], others))
    law = _typed(runs, y) if key == TYPED else _along(over[key], runs, y, axis) if key in over else by_key[key]
    st.caption(f"{escape_markdown(_names(law))}  \n${law.latex}$" if key == TYPED else f"${law.latex}$")
    return law


def _along(law: Law, runs: Runs, y: str, start: str | None) -> Law:
    """Show the selection of the column that is the axis of ``law``, and return the law for this column.

    The initial selection is the column ``start`` if ``law`` can use this column.
    """
    columns = columns_for(law, runs, y)
    first = columns.index(start) if start in columns else 0
    keep_possible("axis", columns, columns[first])
    axis = st.selectbox("Axis", columns, first, key="axis", bind="query-params", help=escape_markdown(law.needs))
    if law.with_axis is None:
        raise PlannerError(f"Law {law.name} can only be fitted over {law.axis}.")
    return law.with_axis(axis)


def _typed(runs: Runs, y: str) -> Law:
    """Show the text field for a formula and return the law of the formula.

    Raises PlannerError if the formula is invalid.
    """
    text = st.text_input(
        "Formula", EXAMPLE, key="formula", bind="query-params", max_chars=2000,
        help="N, D, C, U, epochs and the names of metrics and hyperparameters are columns. Every other name is a "
        "parameter.",
    )  # fmt: skip
    return FitSpec(law=TYPED, formula=text or "", y=y).read_from(runs).find_law()


def _names(law: Law) -> str:
    """Return a text for the page: which names in a typed formula are columns, and which are parameters."""
    return (
        "; ".join(
            f"{kind}{'s' if len(names) > 1 else ''} {', '.join(names)}"
            for kind, names in (("Column", law.axes), ("parameter", law.names))
        )
        + "."
    )


def _say_why(others: list[tuple[Law, str]]) -> None:
    """If the page URL names a law that the table does not allow, show why this law is not allowed."""
    requested = recall("law")
    for law, why in others:
        if requested == _name(law):
            st.info(f"{title_of(law)} cannot be fitted to this table: {escape_markdown(why)}.", icon=":material/info:")


def _help(laws: list[Law], others: list[tuple[Law, str]]) -> str:
    """Return help for the selection of laws, as a Markdown list.

    The list states which columns each of ``laws`` needs, and why each law in ``others`` cannot be selected.
    """
    lines = [f"- **{title_of(law)}**: {escape_markdown(law.needs)}" for law in laws]
    lines.append(f"- **Your own formula**: such as `{EXAMPLE}`.")
    return "\n".join([*lines, *(f"- {title_of(law)} is not offered: {escape_markdown(why)}." for law, why in others)])


def _name(law: Law) -> str:
    """Return the name that identifies ``law`` in the selection and in the page URL."""
    return law.name if law in ONE_AXIS else law.key


def title_of(law: Law) -> str:
    """Return the title that the selection shows for ``law``."""
    return law.family_title if law in ONE_AXIS else law.title


PLUS_MINUS = "\N{PLUS-MINUS SIGN}"


def choose_parameters(law: Law, runs: Runs, table_id: str, share: Sequence[str] = ()) -> dict[str, Any]:
    """Show one text box per parameter; return ``fixed``, ``prior``, ``bounds`` and ``share`` of a ``FitSpec``.

    If the runs have groups, a further selection lists the parameters that all groups share, initially ``share``.
    """
    typed = law.name == "formula"
    ways = "An empty parameter is fitted. Enter a value to fix it (0.32), or a Gaussian prior (0.34 ± 0.02)"
    st.caption(f"{ways}, or bounds (0 to 5)." if typed else f"{ways}.")
    choices: dict[str, Any] = {"fixed": {}, "prior": {}, "bounds": {}}
    grid = st.grid(5, min_column_width=110)
    for parameter in law.params:
        text = grid.text_input(
            escape_markdown(parameter.name), placeholder="free", help=escape_markdown(parameter.meaning), max_chars=60,
            key=f"known_{table_id}_{law.key}_{parameter.name}",
        )  # fmt: skip
        if text and text.strip():
            kind, value = read_known(text, parameter.name, bounded=typed)
            choices[kind][parameter.name] = value
    if "group" in runs.labels and law.estimator == "surface":
        choices["share"] = st.multiselect(
            "Parameters shared by all groups",
            law.names,
            share,
            key=f"share_{table_id}_{law.key}",
            placeholder="None: one law is fitted to all groups",
            help="These parameters have the same value in all groups. The other parameters differ between groups.",
        )
    return choices


def read_known(text: str, name: str, *, bounded: bool = False) -> tuple[str, Any]:
    """Parse the text of a parameter box; return a field of ``FitSpec`` and the value of ``name`` in that field.

    The field is "fixed" for a number, "prior" for ``mean ± sd`` and, if ``bounded``, "bounds" for ``low to high``.
    Raises PlannerError for every other text.
    """
    mean, between, sd = text.replace("+-", PLUS_MINUS).replace("+/-", PLUS_MINUS).partition(PLUS_MINUS)
    if between:
        return "prior", (parse_number(mean, f"mean of {name}"), parse_number(sd, f"standard deviation of {name}"))
    low, to, high = text.partition(" to ")
    if not to:
        return "fixed", parse_number(text, f"value of {name}")
    if not bounded:
        raise PlannerError(f"{name} already has bounds. Enter a number such as 0.32, or 0.34 ± 0.02.")
    ends = (parse_number(end, f"bound of {name}") if end.strip() else None for end in (low, high))
    return "bounds", tuple(ends)
