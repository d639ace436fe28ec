"""Answer of the section "Budget or target": sentence, reliability as a chip, figure, tables and details."""

from __future__ import annotations

from functools import partial

import streamlit as st

from isoplan.app.figures.plans import plan as plan_figure
from isoplan.app.reports.content import report_plan
from isoplan.app.views.fits.sections import show_curve
from isoplan.app.views.planning import map_forms
from isoplan.app.views.planning.asked import own_target
from isoplan.app.views.planning.nearer_cells import nearer_cells
from isoplan.app.views.widgets.answers import chip, show_quantities
from isoplan.app.views.widgets.cache import runs_behind
from isoplan.app.views.widgets.parts import LEVELS, draw, escape_markdown, readable, show_table, show_warnings
from isoplan.app.views.widgets.saved_items import keep
from isoplan.app.views.widgets.state import fit_of, remember
from isoplan.app.views.widgets.stories import story_button
from isoplan.engine.fitting.diagnostics.residuals import residuals
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.types.warnings import Level
from isoplan.engine.planning.answer.format import cells, number
from isoplan.engine.planning.answer.standing import standing_of
from isoplan.engine.planning.drawing.picture import plan_curve
from isoplan.engine.planning.next_cells.answer import can_advise
from isoplan.engine.planning.next_cells.question import QUESTION as NEXT
from isoplan.engine.planning.plan.answer import Plan, reach_text
from isoplan.engine.planning.plan.document import (
    as_document,
    bill_rows,
    flatness,
    key_rows,
    rows,
    summary,
    unknown_time,
    worth_sentence,
)
from isoplan.engine.planning.plan.feasibility import floor_of
from isoplan.engine.planning.plan.metric import Through
from isoplan.engine.planning.plan.reliability import sureness_of
from isoplan.engine.planning.plan.saving import saving_rows
from isoplan.engine.planning.plan.support import Support
from isoplan.engine.planning.plan.variations import variation_rows, vary
from isoplan.engine.schema import Runs
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results


def show(db: Database, fit: Fit, plan: Plan, maps: tuple[Through, ...], runs: Runs | None) -> None:
    """Show a plan: sentence, reliability as a chip, figure, short table, warnings, and plans for other budgets."""
    with st.container(border=True):
        st.header(readable(plan.sentence), anchor=False)
        sure = sureness_of(plan)
        st.markdown(f"{chip(standing_of(plan))} {escape_markdown(sure[:1].upper() + sure[1:])}".rstrip())
        if reason := unknown_time(plan):
            colour, icon = LEVELS[Level.CAUTION]
            st.markdown(f":{colour}[:material/{icon}:] {readable(reason)}")
        if plan.answers and can_advise(fit):
            _next_cells_button(db, fit, plan)
    arrays, floor = plan_curve(plan, fit), floor_of(fit)
    draw(lambda theme: plan_figure.draw(plan, arrays, runs, floor, theme), key="plan_picture")
    if plan.answers:
        show_table(map(cells, key_rows(plan)), "The most important numbers of the plan.")
    elif plan.support is not None and (query := _nearer(db, fit, plan.support)):
        label = "Train cells nearer to this plan"
        st.page_link("views/train.py", label=label, query_params=query, icon=":material/model_training:")
    show_warnings(plan.warnings)
    if others := vary(fit, plan, maps):
        st.subheader("Plans for other budgets", anchor=False)
        show_quantities(variation_rows(plan, others), "The plan, and plans for other budgets.")


def _next_cells_button(db: Database, fit: Fit, plan: Plan) -> None:
    """Show a button that opens the section "Next cells" with the budget or target of ``plan``.

    A target of a metric is replaced by the corresponding target of the loss.
    """

    def open_section() -> None:
        loss = plan.allocation["loss"].value
        if plan.question.metric and loss is not None:
            own_target(db, fit, fit.spec.y)
            remember("target", f"{loss:.4g}")
        st.session_state["question"] = NEXT.title

    label, icon = "Cells that narrow this answer", f":material/{NEXT.icon}:"
    if st.button(label, icon=icon, type="tertiary", on_click=open_section):
        st.rerun()  # reruns the whole page; otherwise, only the fragment with the button would be rerun


def _nearer(db: Database, fit: Fit, support: Support) -> dict[str, str]:
    """Return the query of the page Train with cells nearer to a plan; {} if Isoplan cannot train such cells."""
    return nearer_cells(db, fit.hash, fit.data.ranges, support.cells)


def show_saving(plan: Plan) -> None:
    """Show the comparison of the user's own plan with the cheapest plan for the same loss: a sentence and a table."""
    if plan.saving is None:
        return
    st.markdown(f"**{readable(plan.saving.sentence)}**")
    show_quantities(saving_rows(plan.saving), "Your plan compared with the cheapest plan for the same loss.")


def show_details(db: Database, fit: Fit, plan: Plan, runs: Runs | None) -> None:
    """Show further numbers and remarks of the plan in an expander, and the form that saves the plan."""
    with st.expander("Details", icon=":material/list:", key="plan_details"):
        if plan.answers and plan.reach is not None and plan.reach.text and not reach_text(plan):
            st.markdown(escape_markdown(plan.reach.text))
        if text := summary(plan):
            st.markdown(readable(text))
        for worth in sorted(plan.worth, key=lambda one: not one.binds):
            icon = ":material/block:" if worth.binds else ":material/check:"
            st.markdown(f"{icon} {readable(worth_sentence(plan, worth))}")
        if plan.answers:
            show_table(map(cells, rows(plan)), "The plan in numbers.")
        for text in flatness(plan):
            st.markdown(readable(text))
        if plan.bill and plan.prices is not None:
            st.subheader("Cost of the plan", anchor=False)
            show_table(map(cells, bill_rows(plan)), "Cost of the plan by part.")
            st.caption(f"{escape_markdown(plan.prices.machine.text)}.")
        for name in plan.maps:
            _show_map(db, fit_of(db, name))
        other = f" {plan.restated.sentence}" if plan.restated is not None else ""
        counted = f"Compute is counted by {plan.compute.text}.{other} "
        counted += '"Decades beyond" in a note is the distance from the range of the runs.'
        st.caption(escape_markdown(counted))
    maps = tuple(fit_of(db, name) for name in plan.maps)
    make = partial(report_plan, plan, fit, _name(plan), runs, maps)
    keep("plan", _name(plan), "plan", as_document(plan), lambda name: results.save_plan(db, plan, name), make)
    if plan.answers and not plan.fails:
        story_button(db, plan, _name(plan), "plan_story")


def _show_map(db: Database, map: Fit) -> None:
    """Show the curve that predicts a metric from the loss, and the scatter of the runs around this curve."""
    metric, y = escape_markdown(map.spec.y), escape_markdown(map.law.axes[0])
    st.subheader(f"{metric} against {y}", anchor=False)
    show_curve(db, map, f"map_{map.hash}")
    if form := map_forms.caption(db, map):
        st.caption(escape_markdown(form))
    runs = runs_behind(db, map)
    if runs is not None:
        left = residuals(map, runs)
        by = f"{left.rms:.1%}" if left.log else f"{left.rms:.3g}"
        st.caption(
            f"Single runs scatter by {by} (rms) around this curve. The intervals of the plan are computed from the "
            "curve and do not contain this scatter."
        )


def _name(plan: Plan) -> str:
    asked = plan.question
    if asked.kind == "budget":
        C = f"{number(plan.allocation['C'], asked.value)} FLOPs"
        return C if asked.money is None else asked.budget(plan.prices)
    return f"{asked.metric or plan.y} {asked.value:.4g}"
