"""A plan on the page: the sentence, the active limits, the tables, the figure, and the controls to save it."""

from __future__ import annotations

import streamlit as st

from isoplan.app.figures.plans import plan as plan_figure
from isoplan.app.views.widgets.cache import runs_behind
from isoplan.app.views.widgets.parts import draw, escape_markdown, readable, show_table, show_warnings
from isoplan.app.views.widgets.saved_items import keep
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning import Plan, flatness, floor_of
from isoplan.engine.planning.answer.document import Document
from isoplan.engine.planning.answer.format import cells, number
from isoplan.engine.planning.drawing.picture import plan_curve
from isoplan.engine.planning.plan.answer import reach_text
from isoplan.engine.planning.plan.document import document
from isoplan.engine.planning.plan.text import bill_rows, rows, summary, worth_sentence
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results


def show(db: Database, fit: Fit, plan: Plan) -> None:
    """Show the answer, the most important parts first."""
    plan = plan.shown
    with st.container(border=True):
        st.header(readable(plan.sentence), anchor=False)
        if plan.answers and plan.reach is not None and plan.reach.text and not reach_text(plan):
            st.markdown(escape_markdown(plan.reach.text))
        if said := summary(plan):
            st.markdown(readable(said))
        for worth in sorted(plan.worth, key=lambda one: not one.binds):
            icon = ":material/block:" if worth.binds else ":material/check:"
            st.markdown(f"{icon} {readable(worth_sentence(plan, worth))}")
    if plan.answers:
        show_table(map(cells, rows(plan)), "The plan in numbers.")
    if plan.bill and plan.prices is not None:
        st.subheader("What it costs", anchor=False)
        show_table(map(cells, bill_rows(plan)), "Cost of the plan by part.")
        st.caption(f"{escape_markdown(plan.prices.machine.text)}.")
    _rules(plan)
    _picture(db, fit, plan)
    show_warnings(plan.warnings)
    keep("plan", _name(plan), "plan", written(plan), lambda name: results.save_plan(db, plan, name))


def _rules(plan: Plan) -> None:
    other = f" {plan.restated.sentence}" if plan.restated is not None else ""
    st.caption(
        escape_markdown(f"Compute is counted by {plan.compute.text}.{other} Decades beyond are counted from the runs.")
    )


def _picture(db: Database, fit: Fit, plan: Plan) -> None:
    runs, arrays, floor = runs_behind(db, fit), plan_curve(plan, fit), floor_of(fit)
    draw(lambda theme: plan_figure.draw(plan, arrays, runs, floor, theme), key="plan_picture")
    for said in flatness(plan):
        st.caption(readable(said))


def written(plan: Plan) -> Document:
    """Return the plan as a document that refers to its fit and maps by the file names of the Fit page."""
    return document(plan, f"fit-{plan.fit}.json", maps=tuple(f"fit-{one}.json" for one in plan.maps))


def _name(plan: Plan) -> str:
    asked = plan.question
    if asked.kind == "budget":
        return f"{number(plan.allocation['C'], asked.value)} FLOPs"
    return f"{asked.metric or plan.y} {asked.value:.4g}"
