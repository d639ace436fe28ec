"""Cells to train first, shown on the page Plan if the runs of the open table do not determine the law of a question."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from isoplan.app.views.planning import listed_cells
from isoplan.app.views.planning.asked import as_budget, own_blank
from isoplan.app.views.planning.opening import opened_table, usual_quantity
from isoplan.app.views.planning.planner_answer import show_answer
from isoplan.app.views.widgets.cache import runs_of
from isoplan.app.views.widgets.inputs import blank, blanks, words
from isoplan.app.views.widgets.parts import escape_markdown
from isoplan.app.views.widgets.state import recall
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.single import find_undetermined
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.fitting.types.unfitted import UnfittedRuns
from isoplan.engine.planning.next_cells.question import QUESTION as NEXT
from isoplan.engine.planning.questions.declaration import PlannerQuestion
from isoplan.engine.planning.questions.reading import read_given
from isoplan.engine.schema import Runs
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables.tables import TableInfo

BEYOND = 10.0
"""Initial budget of the target run, as a multiple of the compute of the largest run."""
FIELDS = ("spend", "max_cells")
"""Names of the input fields that limit the first cells."""


def unfitted_runs(runs: Runs, law: str, y: str) -> UnfittedRuns | None:
    """Return ``runs`` with the reason why they do not determine ``law``: too few runs, or N or D hardly varies.

    The result is None if the runs determine the law. It is also None if more runs would not help, because the table has
    no N, no D or no ``y``, or because the fit is impossible for another reason.
    """
    if not y or any(runs.lacks(axis) for axis in ("N", "D")) or not len(runs):
        return None
    try:
        return find_undetermined(FitSpec(law=law, y=y), runs)
    except PlannerError:
        return None


def link(table: TableInfo, runs: Runs, y: str) -> None:
    """Show a link to the cells to train first, if ``runs`` do not determine the law of "Next cells" for ``y``."""
    if unfitted_runs(runs, NEXT.fits[0].law, y) is None:
        return
    query = {"table": table.id, "question": NEXT.title} | ({"where": where} if (where := recall("where")) else {})
    st.page_link("views/plan.py", label="Cells to train first", query_params=query, icon=f":material/{NEXT.icon}:")


def show(db: Database, question: PlannerQuestion) -> bool:
    """Show the cells to train first, if the runs of the open table do not determine the law of ``question``.

    Returns whether the cells are shown.
    """
    table, law = opened_table(db), question.fits[0].law
    if table is None or not law or question.cells is None:
        return False
    runs = runs_of(db, table, recall("where"))[1]
    unfitted = unfitted_runs(runs, law, usual_quantity(runs))
    if unfitted is None:
        return False
    with blanks("first_cells"):
        words(question.lead.format(y=escape_markdown(unfitted.spec.y)))
        (budget,) = (field for field in question.losses if field.name == "budget")
        texts = {"budget": blank(budget.label, _far(runs), "budget", 150, hint=budget.hint)}
        words("FLOPs")
        for field in question.own:
            if field.name in FIELDS:
                texts[field.name] = own_blank(field, "samples")
        cells = listed_cells.choose(db, table.id, runs, unfitted.compute, question.cells)
    if texts["budget"]:
        given = read_given(question, texts, "page")
        candidates = None if cells is None else cells.candidates
        show_answer(db, unfitted, question, replace(given, candidates=candidates), cells)
    return True


def _far(runs: Runs) -> str:
    """Return the initial budget as text."""
    return as_budget(BEYOND * float(runs["C"].max())) if "C" in runs else ""
