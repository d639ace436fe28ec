"""A planner question on the page: its inputs, and the answer with its tables and charts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from isoplan.app.figures.plans.chart import draw_chart
from isoplan.app.views.planning import limiting, metrics, pricing
from isoplan.app.views.planning.asked import WAYS, budget_blank, choose_way, target_blank
from isoplan.app.views.widgets.inputs import blank, blanks, words
from isoplan.app.views.widgets.parts import (
    draw,
    escape_markdown,
    powers,
    readable,
    sentences,
    show_table,
    show_warnings,
)
from isoplan.app.views.widgets.saved_items import keep_answer, show_answers
from isoplan.app.views.widgets.state import choose_fit
from isoplan.engine.fitting.types.possible_values import sample_unit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.questions.answer import Part
from isoplan.engine.planning.questions.declaration import PlannerQuestion
from isoplan.engine.planning.questions.given import Given
from isoplan.engine.planning.questions.reading import read_given
from isoplan.engine.planning.scenario.fields import Field
from isoplan.engine.store.database.database import Database


def show(db: Database, question: PlannerQuestion) -> None:
    """Show the law, the question and its answer, which rerun alone if a field changes; then the saved answers."""
    _ask_and_answer(db, question)
    show_answers(db, question.name)


@st.fragment
def _ask_and_answer(db: Database, question: PlannerQuestion) -> None:
    with sentences():
        fit = choose_fit(db, start=metrics.usual(db))
        if fit is None:
            metrics.offer_fit(db)
            return
        given = _ask(db, fit, _name_target(question, fit.spec.y))
        if given is not None:
            _answer(db, fit, question, given)


def _ask(db: Database, fit: Fit, question: PlannerQuestion) -> Given | None:
    """Show the inputs and return them; None if the loss is empty. Raises PlannerError if an input cannot be read."""
    line = st.container()
    chosen: list[Field] = []
    if question.limits:
        with st.container(horizontal=True, vertical_alignment="center"):
            words("Limits")
            chosen = limiting.choose()
    with line, blanks(question.name):
        words(question.lead)
        loss = _loss_blank(db, fit, question)
        own = {field.name: _blank(field) for field in question.own}
        limits = limiting.blanks_of(chosen, sample_unit(fit), "with at most")
    prices = pricing.widgets() if question.prices else {}
    if question.losses and not any(loss.values()):
        return None
    given = read_given(question, {**prices, **loss, **own, **limiting.drop_empty(limits)}, "page")
    return replace(given, file=f"fit-{fit.hash}.json")


def _name_target(question: PlannerQuestion, y: str) -> PlannerQuestion:
    """Return the question with a target that is named after ``y``, the metric of the law."""
    fields = (
        replace(one, label=f"Target {escape_markdown(y)}", said=f"target {y}") if one.name == "target_loss" else one
        for one in question.fields
    )
    return replace(question, fields=tuple(fields))


def _loss_blank(db: Database, fit: Fit, question: PlannerQuestion) -> dict[str, str]:
    """Show the field of the budget or the target, and the choice between them if the question has both.

    Returns the typed text by the name of the field.
    """
    fields = {field.name: field for field in question.losses}
    if not fields:
        return {}
    way = choose_way(fit) if len(fields) > 1 else WAYS["budget" not in fields]
    if way == WAYS[0]:
        typed = budget_blank(fit)
        words(fields["budget"].after)
        return {"budget": typed}
    target = fields["target_loss"]
    return {target.name: target_blank(db, fit, target.label, fit.spec.y, target.hint)}


def _blank(field: Field) -> str:
    """Show an input field after its label and return its text."""
    words(escape_markdown(field.label))
    return blank(field.label, field.start, field.name, hint=field.hint)


def _answer(db: Database, fit: Fit, question: PlannerQuestion, given: Given) -> None:
    """Show the sentences, tables and charts, and the form to save the answer."""
    answer = question.answer(fit, given)
    with st.container(border=True):
        st.header(_shown(answer.document.sentence), anchor=False)
        for remark in answer.remarks:
            st.markdown(_shown(remark))
        if answer.conclusion:
            st.markdown(f"**{_shown(answer.conclusion)}**")
    for i, part in enumerate(answer.parts):
        _part(part, f"{question.name}_{i}")
    if answer.hint:
        st.info(answer.hint, icon=":material/query_stats:")
    st.caption(escape_markdown(f"Compute is counted by {fit.compute.text}."))
    show_warnings(answer.warnings)
    keep_answer(db, question.name, answer.name, answer.document)


def _part(part: Part, key: str) -> None:
    if part.title:
        st.subheader(part.title, anchor=False)
    if part.table is not None:
        rows = [dict(zip(part.table.head, map(powers, row), strict=True)) for row in part.table.rows]
        show_table(rows, part.table.alt)
    if part.chart is not None:
        draw(partial(draw_chart, part.chart()), key=f"{key}_picture")
    if part.caption:
        st.caption(part.caption)


def _shown(text: str) -> str:
    return powers(readable(text))
