"""Answer to a planner question on the page Plan: sentences, tables, charts, warnings, and the form that saves it."""

from __future__ import annotations

from functools import partial

import streamlit as st

from isoplan.app.figures.plans.chart import draw_chart
from isoplan.app.reports.content import report_answer
from isoplan.app.views.planning import listed_cells
from isoplan.app.views.widgets.parts import draw, escape_markdown, powers, readable, show_table, show_warnings
from isoplan.app.views.widgets.saved_items import keep_answer
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.types.unfitted import UnfittedRuns
from isoplan.engine.planning.questions.answer import Part
from isoplan.engine.planning.questions.declaration import PlannerQuestion
from isoplan.engine.planning.questions.given import Given
from isoplan.engine.store.database.database import Database


def show_answer(
    db: Database,
    fit: Fit | UnfittedRuns,
    question: PlannerQuestion,
    given: Given,
    cells: listed_cells.ListedCells | None,
) -> None:
    """Show the answer to a question, the form that trains cells, and the form that saves the answer.

    The answer consists of sentences, tables, charts and warnings. ``fit`` is the first fit of the question, and
    ``cells`` are the listed cells from which the answer chooses.
    """
    answer = question.answer(fit, given)
    with st.container(border=True):
        st.header(_shown(answer.sentence), anchor=False)
        for remark in answer.remarks:
            st.markdown(_shown(remark))
        if answer.conclusion:
            st.markdown(f"**{_shown(answer.conclusion)}**")
        if cells is not None:
            listed_cells.offer(db, cells, answer.rows)
        if question.cells is not None:
            listed_cells.download(answer, cells)
    for i, part in enumerate(answer.parts):
        if not part.folded:
            _part(part, f"{question.name}_{i}")
    if answer.hint:
        st.info(answer.hint, icon=":material/query_stats:")
    show_warnings(answer.warnings)
    with st.expander("Details", icon=":material/list:"):
        for i, part in enumerate(answer.parts):
            if part.folded:
                _part(part, f"{question.name}_{i}")
        st.caption(escape_markdown(f"Compute is counted by {fit.compute.text}."))
    if answer.document is not None:
        report = partial(report_answer, answer, tuple(given.fits.values()))
        keep_answer(db, question.name, answer.name, answer.document, report)


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
