"""Section of the Fit page that shows one fit: formula, parameters with intervals, warnings, groups, law card."""

from __future__ import annotations

import json
from dataclasses import replace

import streamlit as st

from isoplan.app.figures.fits import runs as overview
from isoplan.app.views.fits import sections
from isoplan.app.views.planning.metrics import is_map
from isoplan.app.views.tables import questions
from isoplan.app.views.tables.growing import offer_refit
from isoplan.app.views.widgets.cache import drawn_runs, runs_of, snapshot_runs
from isoplan.app.views.widgets.parts import draw, escape_markdown, plural, powers, show_warnings
from isoplan.app.views.widgets.state import fit_of, recall, remember
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.cards import to_json
from isoplan.engine.fitting.types import text
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.next_cells.answer import can_advise
from isoplan.engine.planning.next_cells.question import QUESTION as NEXT
from isoplan.engine.planning.next_values.answer import can_locate
from isoplan.engine.planning.next_values.question import QUESTION as VALUES
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables.tables import TableInfo


def show_groups(fit: Fit, fits: dict[str, Fit]) -> None:
    """Show the laws ``fits`` of all groups side by side, and a control that opens the fit of another group.

    ``fits`` contains one fit per group. If it is empty, nothing is shown.
    """
    if not fits:
        return
    if len(fits) > 1:
        named = escape_markdown(fit.data.roles.get("group", "group"))
        st.subheader(f"One law for each {named}", anchor=False)
        st.caption("Value and 68 % interval of each parameter.")
        st.table(
            _side_by_side(fits),
            border="horizontal",
            hide_index=True,
            alt=f"Parameters of the law of each {named}.",
        )
    st.session_state["group_choice"] = fit.data.group
    st.segmented_control(
        f"Shown {escape_markdown(fit.data.roles.get('group', 'group'))}",
        list(fits),
        format_func=_called,
        key="group_choice",
        required=True,
        on_change=lambda: remember("fit", fits[st.session_state["group_choice"]].hash),
    )


def _called(group: str) -> str:
    return escape_markdown(group) or "without a name"


def siblings(db: Database, fit: Fit) -> dict[str, Fit]:
    """Return the saved fits with the same runs and the same specification as ``fit``, by group.

    There is one fit per group, and ``fit`` is one of them. The result is empty if ``fit`` has no group.
    """
    if not fit.data.group:
        return {}
    try:
        runs = snapshot_runs(db, fit.data.snapshot)
    except PlannerError:
        return {fit.data.group: fit}
    named = {name: replace(fit, data=replace(fit.data, group=name)).hash for name in sorted(set(runs.labels["group"]))}
    saved = {one.hash for one in results.fits(db)} | {fit.hash}
    return {str(name): fit_of(db, key) if key != fit.hash else fit for name, key in named.items() if key in saved}


def _side_by_side(fits: dict[str, Fit]) -> list[dict[str, str]]:
    """Return the rows of a table with one row per parameter and derived number, and one column per group."""
    first = next(iter(fits.values()))
    symbols = _symbols(first)
    rows = [{"": "Runs", **{_called(group): f"{one.n:,}" for group, one in fits.items()}}]
    by_group = {group: {row["parameter"]: row for row in one.rows} for group, one in fits.items()}
    for name in (row["parameter"] for row in first.rows):
        cells = {_called(group): _value_and_span(rows_of[name]) for group, rows_of in by_group.items()}
        rows.append({"": f"${symbols[name]}$", **cells})
    return rows


def _value_and_span(row: text.Row) -> str:
    value, span = _whole(row["text"]), _span(row, 68)
    return value if span == NONE else f"{value} ({span})"


def _symbols(fit: Fit) -> dict[str, str]:
    return {p.name: p.latex for p in fit.law.params} | {
        d.name: d.latex.partition("=")[0].strip() for d in fit.law.derived
    }


def save_law_card(fit: Fit, fit_hash: str) -> None:
    """Show a button that downloads the fit as JSON, and a menu that downloads a law card (a smaller JSON file)."""
    bar = st.container(horizontal=True, vertical_alignment="center")
    bar.download_button(
        "Fit as JSON", lambda: json.dumps(to_json(fit), indent=2), f"fit-{fit_hash}.json", "application/json",
        icon=":material/download:", on_click="ignore",
    )  # fmt: skip
    with bar.popover("Law card", icon=":material/id_card:", key="law_card"):
        st.caption("File with source, parameters and intervals of the law, for every page and `isoplan plan`.")
        whole = st.toggle(
            "With every refit",
            key="card_resamples",
            help="Plans from this card have the same intervals as here. The file is large.",
        )
        around = st.toggle(
            "With the covariance", True, key="card_covariance",
            help="The file is small: a plan draws the parameters from a Gaussian with this covariance. Without refits "
            "and covariance, a plan has no intervals.",
        )  # fmt: skip
        st.download_button(
            "Save the card",
            lambda: json.dumps(to_json(fit, resamples=whole, covariance=around and not whole), indent=2),
            f"{fit.law.key}-{fit_hash}.json", "application/json", icon=":material/download:", on_click="ignore",
        )  # fmt: skip


NONE = "none"
"""Text of a table cell whose interval is unknown."""


def show(db: Database, fit_hash: str, table: TableInfo | None) -> None:
    """Show the fit or published law with the hash ``fit_hash``; without a hash, show the runs of ``table``."""
    if not fit_hash:
        if table is not None:
            _runs_to_fit(db, table)
        return
    fit = fit_of(db, fit_hash)
    with st.container(key="fit_head"):
        st.header(escape_markdown(fit.data.source or fit.law.title), anchor=False)
        st.caption(escape_markdown(_what(fit)))
    _go_on(db, fit, fit_hash)
    offer_refit(db, fit)
    show_warnings(fit.warnings)
    questions.ask_about(db, fit)
    groups = siblings(db, fit)
    show_groups(fit, groups)
    sections.show(db, fit, groups)
    _parameters(fit)
    save_law_card(fit, fit_hash)


def _runs_to_fit(db: Database, table: TableInfo) -> None:
    """Draw the runs of ``table`` while no fit is open."""
    where = recall("where")
    snapshot, runs = runs_of(db, table, where)
    st.caption(f"No fit is open. These are the runs of {escape_markdown(table.name)}.")
    draw(lambda theme: overview.draw(runs, theme=theme), "to_fit", drawn_runs(snapshot, str(db.folder), runs))


def _what(fit: Fit) -> str:
    """Return one line that states the law, the fitted quantity and the runs of a fit."""
    if fit.objective is None:
        return f"{fit.law.title}. Published: {fit.law.reference}."
    where = f" where {fit.data.where}" if fit.data.where else ""
    group = f" of {fit.data.group}" if fit.data.group else ""
    return f"{fit.law.title}: {fit.spec.y} of {plural(fit.n, 'run')}{group}{where}."


def _parameters(fit: Fit) -> None:
    st.subheader("Parameters", anchor=False)
    st.latex(fit.law.latex)
    symbols = _symbols(fit)
    st.table(
        [_row(row, symbols) for row in fit.rows],
        border="horizontal",
        hide_index=True,
        alt="Parameters and derived numbers with their intervals.",
    )
    location = fit.optimum_location
    if location is not None:
        st.markdown(escape_markdown(f"The best {fit.law.axis} is {location.text}."))
    _about(fit)


def _row(row: text.Row, symbols: dict[str, str]) -> dict[str, str]:
    unit = f" [{row['unit']}]" if row["unit"] else ""
    return {
        "Symbol": f"${symbols[row['parameter']]}$",
        "Value": _whole(row["text"]),
        "68 %": _span(row, 68),
        "95 %": _span(row, 95),
        "What it is": escape_markdown(row["meaning"] + unit),
    }


def _whole(words: str) -> str:
    """Return ``words`` with powers of ten as superscripts, and with no-break spaces instead of spaces."""
    return powers(words).replace(" ", "\u00a0")


def _span(row: text.Row, level: int) -> str:
    """Return the interval of a table row at ``level`` percent as text, with four digits as in the terminal.

    The text includes trailing zeros, so all numbers of a column have the same width.
    """
    low, high = row[f"low {level} %"], row[f"high {level} %"]
    if low is None or high is None:
        return NONE
    return text.ends_in_words((low, high), lambda x: _whole(f"{x:#.4g}".removesuffix(".")))


def _about(fit: Fit) -> None:
    objective = (
        "" if fit.objective is None else f" Objective {fit.spec.objective}: {fit.objective:.6g} (sum over the runs)."
    )
    refits = f"{plural(len(fit.resamples), 'resample')}, seed {fit.spec.seed}" if len(fit.resamples) else "No resamples"
    compute = _whole(f"{fit.compute.text}.") if {"N", "D", "C"} & {*fit.law.axes, *fit.law.extra_columns} else ""
    st.caption(f"{refits}. {fit.interval_source}{objective} {compute}")
    st.caption(escape_markdown(f"{fit.law.summary} {fit.law.reference}."))


def _go_on(db: Database, fit: Fit, fit_hash: str) -> None:
    """Show a button that opens the page Plan with this fit, and a link to the page Explore."""
    label = ""
    if is_map(db, fit_hash):
        label = f"Set a target for {escape_markdown(fit.spec.y)}"
    elif fit.law.least_compute is not None:
        label = "Plan with this fit"
    with st.container(horizontal=True, vertical_alignment="center"):
        if label and st.button(label, type="primary", icon=":material/flag:", key="plan_with_fit"):
            st.switch_page("views/plan.py", query_params={"fit": fit_hash})
        st.page_link("views/explore.py", label="Explore", query_params={"fit": fit_hash}, icon=":material/landscape:")
        question = NEXT if can_advise(fit) else VALUES if can_locate(fit) else None
        if question is not None:
            query = {"fit": fit_hash, "question": question.title}
            st.page_link("views/plan.py", label=question.title, query_params=query, icon=f":material/{question.icon}:")
