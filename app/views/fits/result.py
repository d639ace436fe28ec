"""One fit on the page: formula, parameters with intervals, derived numbers, warnings, groups, law card."""

from __future__ import annotations

import json
from dataclasses import replace

import streamlit as st

from isoplan.app.views.fits import sections
from isoplan.app.views.planning.metrics import is_map
from isoplan.app.views.tables import questions
from isoplan.app.views.tables.growing import offer_refit
from isoplan.app.views.widgets.cache import snapshot_runs
from isoplan.app.views.widgets.parts import escape_markdown, plural, powers, show_warnings
from isoplan.app.views.widgets.state import fit_of, remember
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.cards import to_json
from isoplan.engine.fitting.types import text
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results


def show_groups(db: Database, fit: Fit) -> None:
    """Show one table row per group of the fit, and a control that opens the fit of another group.

    Nothing is shown for a fit that has no groups.
    """
    if not fit.data.group:
        return
    fits = siblings(db, fit)
    st.session_state["group_choice"] = fit.data.group
    st.segmented_control(
        f"Law of {escape_markdown(fit.data.roles.get('group', 'group'))}",
        list(fits),
        format_func=lambda name: escape_markdown(name) or "without a name",
        key="group_choice",
        required=True,
        on_change=lambda: remember("fit", fits[st.session_state["group_choice"]].hash),
    )
    if len(fits) > 1:
        st.table([_group_row(name, one) for name, one in fits.items()], border="horizontal", hide_index=True)


def siblings(db: Database, fit: Fit) -> dict[str, Fit]:
    """Return the saved fits that belong to ``fit``, by group: the same runs and specification, one fit per group."""
    try:
        runs = snapshot_runs(db, fit.data.snapshot)
    except PlannerError:
        return {fit.data.group: fit}
    named = {name: replace(fit, data=replace(fit.data, group=name)).hash for name in sorted(set(runs.labels["group"]))}
    saved = {one.hash for one in results.fits(db)} | {fit.hash}
    return {str(name): fit_of(db, key) if key != fit.hash else fit for name, key in named.items() if key in saved}


def _group_row(name: str, fit: Fit) -> dict[str, str]:
    values = {p.name: powers(text.plus_minus(p.value, p.se, p.ci68)) for p in fit.parameters}
    return {"Group": escape_markdown(name) or "without a name", "Runs": f"{fit.n:,}"} | values


def save_law_card(fit: Fit, fit_hash: str) -> None:
    """Show a button that downloads the whole fit as JSON, and a menu that downloads a smaller law card."""
    st.download_button(
        "Fit as JSON", lambda: json.dumps(to_json(fit), indent=2), f"fit-{fit_hash}.json", "application/json",
        icon=":material/download:", on_click="ignore",
    )  # fmt: skip
    with st.popover("Law card", icon=":material/id_card:", key="law_card"):
        st.caption("Source, parameters and intervals of the law. `isoplan plan` and every page can read it.")
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


def show(db: Database, fit_hash: str) -> None:
    """Show the fit or published law with the hash ``fit_hash``; without a hash, show how to make a fit."""
    if not fit_hash:
        with st.container(border=True, height=320, vertical_alignment="center", horizontal_alignment="center"):
            st.markdown("**No fit yet**", text_alignment="center")
            st.caption("Choose a law and press Fit; every fit is saved here.", text_alignment="center")
        return
    fit = fit_of(db, fit_hash)
    st.header(
        escape_markdown(f"{fit.law.title}: {fit.data.source}" if fit.data.source else fit.law.title), anchor=False
    )
    st.caption(escape_markdown(f"{fit.law.summary} {fit.law.reference}."))
    offer_refit(db, fit)
    st.latex(fit.law.latex)
    show_warnings(fit.warnings)
    questions.ask_about(db, fit)
    show_groups(db, fit)
    _parameters(fit)
    location = fit.optimum_location
    if location is not None:
        st.markdown(escape_markdown(f"The best {fit.law.axis} is {location.text}."))
    _about(fit)
    _go_on(db, fit, fit_hash)
    sections.show(db, fit)


def _parameters(fit: Fit) -> None:
    symbols = {p.name: p.latex for p in fit.law.params} | {
        d.name: d.latex.partition("=")[0].strip() for d in fit.law.derived
    }
    st.table(
        [_row(row, symbols) for row in fit.rows],
        border="horizontal",
        hide_index=True,
        alt="Parameters and derived numbers with standard errors and intervals.",
    )


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

    Trailing zeros are kept, so that the numbers of a column have the same width.
    """
    low, high = row[f"low {level} %"], row[f"high {level} %"]
    if low is None or high is None:
        return "none"
    return text.ends_in_words((low, high), lambda x: _whole(f"{x:#.4g}".removesuffix(".")))


def _about(fit: Fit) -> None:
    objective = "" if fit.objective is None else f" Objective {fit.spec.objective}: {fit.objective:.6g}, summed."
    refits = f"{plural(len(fit.resamples), 'refit')}, seed {fit.spec.seed}" if len(fit.resamples) else "no refits"
    where = f" where {escape_markdown(fit.data.where)}" if fit.data.where else ""
    made = f"{plural(fit.n, 'run')} of {escape_markdown(fit.data.source)}{where}; {refits}."
    compute = _whole(f"{fit.compute.text}.") if {"N", "D", "C"} & {*fit.law.axes, *fit.law.extra_columns} else ""
    st.caption(f"{made} {fit.interval_source}{objective} {compute}")


def _go_on(db: Database, fit: Fit, fit_hash: str) -> None:
    label = f"Set a target for {escape_markdown(fit.spec.y)}" if is_map(db, fit_hash) else "Plan"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.page_link("views/explore.py", label="Explore", query_params={"fit": fit_hash}, icon=":material/landscape:")
        st.page_link("views/plan.py", label=label, query_params={"fit": fit_hash}, icon=":material/flag:")
        save_law_card(fit, fit_hash)
