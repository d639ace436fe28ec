"""Show the saved plans, each with a link that repeats the question."""

from __future__ import annotations

import streamlit as st

from isoplan.app.views.planning import actual, limiting, pricing, rules
from isoplan.app.views.widgets.parts import escape_markdown
from isoplan.app.views.widgets.saved_items import deleted, manage, opener, show_answers
from isoplan.app.views.widgets.state import fit_of
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning import Plan
from isoplan.engine.quantities import as_typed
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results, saved_items

MOST_PLANS = 20


def show(db: Database) -> None:
    """Show the saved plans, each with a link that repeats the question."""
    kept = results.plans(db)
    if kept:
        st.header("Saved plans", anchor=False)
    for one in kept[:MOST_PLANS]:
        _saved(db, one)
    if len(kept) > MOST_PLANS:
        st.caption(f"{len(kept) - MOST_PLANS} older plans are not shown.")
    gone = {p.hash: p.name for p in results.plans(db, deleted=True)}
    deleted("plans", gone, lambda key: saved_items.restore(db, "plans", key))
    actual.show(db)
    show_answers(db)


def _saved(db: Database, one: results.SavedPlan) -> None:
    plan = results.plan(db, one.hash)
    with st.container(border=True):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            opener("plan", one.name, link(db, plan), "flag")
            with st.container(horizontal=True, width="content"):
                actual.form(db, one.hash, plan)
                manage(
                    one.hash,
                    one.name,
                    lambda name: saved_items.rename(db, "plans", one.hash, name),
                    lambda: saved_items.delete(db, "plans", one.hash),
                )
        st.caption(escape_markdown(plan.sentence))


def link(db: Database, plan: Plan) -> dict[str, str | list[str]]:
    """Return the query parameters of the Plan page that repeat the question of ``plan``."""
    asked = plan.question
    found: dict[str, str | list[str]] = {
        "fit": plan.fit,
        "ask": asked.kind.capitalize(),
        asked.kind: as_typed(asked.value),
    }
    if plan.maps:
        found |= {"map": plan.maps[0]} if asked.kind == "target" else {"maps": ",".join(plan.maps)}
    try:
        fit = fit_of(db, plan.fit)
    except PlannerError:  # the page shows that the fit is missing
        return found
    other = plan.restated.rule if plan.restated else None
    found |= rules.link(fit.compute, plan.compute) | rules.second_link(rules.usual_other(fit, plan.compute), other)
    return found | limiting.link(asked.limits) | pricing.link(plan.prices)
