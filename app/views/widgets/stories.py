"""Stories of the bundled domains, of saved plans and of saved fits, and the links that open these stories."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from isoplan.app.views.widgets.cache import HASHED, runs_behind, runs_of, saved_fit
from isoplan.app.views.widgets.parts import sentences
from isoplan.app.views.widgets.saved_items import opener
from isoplan.app.views.widgets.state import fit_of
from isoplan.data.stories import DEMO, Domain, find_domain, read_fits
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.metric import Through, through
from isoplan.engine.planning.plan.start import largest_inside, usual_target
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.typed_prices import read_prices
from isoplan.engine.planning.story.screens import Screen, Story, show_plan, tell
from isoplan.engine.schema import Runs
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import tables

ICON = "slideshow"
MOST_TRIED = 5
"""Number of saved plans that Home tries, newest first."""


@dataclass(frozen=True, eq=False)
class Parts:
    """Data of a story: fit, plan, runs of the fit (None if they are not in this workspace), and map."""

    fit: Fit
    plan: Plan
    runs: Runs | None = None
    map: Through | None = None


@st.cache_resource(max_entries=8, show_spinner="Opening the story", hash_funcs=HASHED)
def bundled_parts(db: Database, key: str) -> Parts:
    """Return the parts of the bundled story ``key``. Raises PlannerError if there is no such story."""
    domain = find_domain(key)
    law, of_metric = read_fits(domain)
    map = None if of_metric is None else through(law, of_metric)
    plan = plan_target(law, domain.target, prices=read_prices(domain.prices, "python"), map=map)
    return Parts(law, plan, _bundled_runs(db, domain), map)


def _bundled_runs(db: Database, domain: Domain) -> Runs | None:
    table = next((one for one in tables.all(db) if one.name == domain.demo.name and one.read_only), None)
    return None if table is None else runs_of(db, table, domain.where)[1]


@st.cache_resource(max_entries=8, show_spinner="Opening the story", hash_funcs=HASHED)
def bundled_story(db: Database, key: str) -> Story:
    """Return the bundled story ``key``. Raises PlannerError if there is no such story."""
    domain, of = find_domain(key), bundled_parts(db, key)
    return tell(
        of.fit, of.plan, runs=of.runs, map=of.map, title=domain.story, words=domain.words, stated=domain.stated,
        assumed=domain.note,
    )  # fmt: skip


@st.cache_resource(max_entries=16, show_spinner="Opening the story", hash_funcs=HASHED)
def plan_story(db: Database, key: str, name: str) -> Story:
    """Return the story of the saved plan ``key``, with its ``name`` as the title.

    Raises PlannerError if the plan, its fit or its map is not in this workspace, or if the plan has no story.
    """
    of = plan_parts(db, results.plan(db, key))
    return tell(of.fit, of.plan, runs=of.runs, map=of.map, title=name)


@st.cache_resource(max_entries=16, show_spinner="Opening the story", hash_funcs=HASHED)
def fit_story(db: Database, key: str) -> Story:
    """Return the story of a saved fit: for the largest budget inside its runs, or for a target that its runs reach.

    Raises PlannerError if the fit is not in this workspace, or if its law does not determine a cost.
    """
    fit = fit_of(db, key)
    plan = plan_target(fit, usual_target(fit)) if fit.law.frontier is None else plan_budget(fit, largest_inside(fit))
    return tell(fit, plan, runs=runs_behind(db, fit))


def plan_parts(db: Database, plan: Plan) -> Parts:
    """Return the parts of a plan. Raises PlannerError if its fit or its map is not in this workspace."""
    fit = fit_of(db, plan.fit)
    map = through(fit, saved_fit(db, plan.maps[0])) if plan.maps else None
    return Parts(fit, plan, runs_behind(db, fit), map)


def first_screen(db: Database) -> tuple[Screen, str, dict[str, str]]:
    """Return the screen with which Home opens, its heading, and the query that opens its story.

    The screen shows the newest saved plan that has a story; if there is none, the plan of the demo.
    """
    for saved in results.plans(db)[:MOST_TRIED]:
        try:
            of = plan_parts(db, results.plan(db, saved.hash))
            return show_plan(of.fit, of.plan, runs=of.runs, map=of.map), saved.name, {"plan": saved.hash}
        except PlannerError:
            continue
    of = bundled_parts(db, DEMO.key)
    return show_plan(of.fit, of.plan, runs=of.runs, map=of.map, words=DEMO.words), DEMO.story, {"story": DEMO.key}


def story_button(db: Database, plan: Plan, name: str, key: str) -> None:
    """Show the button "Make a story of this plan". It saves the plan under ``name`` and opens its story."""
    if st.button("Make a story of this plan", icon=f":material/{ICON}:", key=key):
        with sentences():
            st.switch_page("views/story.py", query_params={"plan": results.save_plan(db, plan, name)})


def story_link(plan_hash: str) -> None:
    """Show the link "Make a story of this plan" for a saved plan."""
    opener("story", "Make a story of this plan", {"plan": plan_hash}, ICON)
