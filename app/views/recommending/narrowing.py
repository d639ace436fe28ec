"""Button that opens the page Plan with a question about the cells that narrow the interval of a setting of the recipe.

The question is "Next values" for the embedder share and for the extra negatives, and "Next cells" for N and D.
"""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.next_cells.answer import can_advise
from isoplan.engine.planning.next_cells.question import QUESTION as CELLS
from isoplan.engine.planning.next_values.answer import can_locate
from isoplan.engine.planning.next_values.question import QUESTION as VALUES
from isoplan.engine.planning.questions.declaration import PlannerQuestion
from isoplan.engine.planning.recommender import Evidence, Recommendation
from isoplan.engine.planning.recommender.choice import Setting
from isoplan.engine.planning.recommender.recipe import lender, swept_lender
from isoplan.engine.planning.recommender.sweep import at_budget, name_of
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results

LABEL = "Cells that narrow this answer"


def show_button(db: Database, setting: Setting, own: Evidence, answer: Recommendation) -> None:
    """Show the button if the user's evidence ``own`` determines ``setting`` by a fit that the question can read.

    A click saves the fit, if it is not saved yet, and opens the question on the page Plan.
    """
    fit = _fit_of(setting, own, answer)
    question = _question(fit)
    if fit is None or question is None:
        return
    if st.button(LABEL, icon=f":material/{question.icon}:", type="tertiary", key=f"narrow_{setting}"):
        asked = {"ask": "Budget", "budget": f"{answer.budget:g}"} if question is CELLS else {}
        query = {"fit": _save(db, fit), "question": question.title, **asked}
        st.switch_page("views/plan.py", query_params=query)


def _fit_of(setting: Setting, own: Evidence, answer: Recommendation) -> Fit | None:
    """Return the user's fit that determines ``setting`` at the budget of ``answer``; None if there is none.

    For a fit to a sweep, the name of the budget is appended to the source, and the hash of the rows is removed. Without
    this hash, source and parameters identify a fit, so that the fits at different budgets of one table are saved
    separately.
    """
    if setting == "N":
        return own.allocation.get(lender(own, answer.served))
    optima = {"s": own.share, "K": own.negatives}.get(setting, ())
    one = at_budget(optima, swept_lender(own, setting, answer.served), answer.budget)
    if one is None or one.fit is None:
        return None
    data = replace(one.fit.data, source=f"{one.fit.data.source}, {name_of(one)}", sha256="")
    return replace(one.fit, data=data)


def _question(fit: Fit | None) -> PlannerQuestion | None:
    """Return the question that can read ``fit``, "Next cells" or "Next values"; None if neither can."""
    if fit is None:
        return None
    return CELLS if can_advise(fit) else VALUES if can_locate(fit) else None


def _save(db: Database, fit: Fit) -> str:
    """Save ``fit``, unless it is saved already, and return its hash."""
    y = "" if fit.spec.y == "loss" else f", {fit.spec.y}"
    return results.save_fit(db, fit, name=f"{fit.law.title}, {fit.data.source}{y}")
