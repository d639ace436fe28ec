"""Home: state of the workspace, next steps, and the demo in one click."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import streamlit as st

from isoplan.app import workspace
from isoplan.app.views.fits.fitting import open_demo
from isoplan.app.views.planning.metrics import plannable
from isoplan.app.views.planning.saved import link
from isoplan.app.views.widgets.parts import escape_markdown, heading, plural, sentences
from isoplan.app.views.widgets.saved_items import list_places, opener
from isoplan.engine.store.saved import results
from isoplan.engine.store.saved.results import SavedAnswer, SavedFit, SavedPlan
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.tables import TableInfo

T = TypeVar("T")

STEPS = {
    "Data": "Upload a table of training runs. Isoplan suggests a role for each column, which you can change.",
    "Fit": "Fit a scaling law to the runs. Every parameter has intervals from refits.",
    "Explore": "See the loss surface, the iso-FLOP curves and the compute-optimal frontier.",
    "Plan": "Find the best model for a budget, or the cheapest way to a target within your limits.",
}
SHORT_WAYS = {
    "recommender": ("Recommender", "Recommended settings for your compute budget and serving metric."),
    "precision": ("Precision", "Data and compute for an amplitude surrogate, planned from small runs."),
}
"""Pages that can answer without a run table, from published sweeps, by the name of the page in its address."""
RECENT = 5
"""Number of rows that each list of Home shows; the other rows are folded."""

db = workspace.current()
run_tables = tables.all(db)
own = [t for t in run_tables if not t.read_only]
fits, plans, kept = results.fits(db), results.plans(db), results.answers(db)
usable = plannable(db)


def next_step() -> None:
    """Show one sentence about the next step, a button that starts this step, and a button that opens the demo."""
    if not own:
        text = "**Start with your own runs**, or open the demo first: a law that is fitted to jet taggers."
        label, go, query = "Load a run table", "data", dict[str, str]()
    elif fit := next((f for f in usable if f.table_id in {t.id for t in own}), None):
        fresh = f"**{escape_markdown(fit.name)}** is fitted. Plan a budget or a target."
        more = f"Continue with **{escape_markdown(fit.name)}**, or upload more runs to narrow its intervals."
        text, label, go, query = more if plans else fresh, "Make a plan", "plan", {"fit": fit.hash}
    else:
        text = f"**{escape_markdown(own[0].name)}** has no fitted law. Check its columns, then fit a law."
        label, go, query = "Fit a law", "fit", {"table": own[0].id}
    icon = None if own else ":material/upload_file:"
    with st.container(border=True):
        st.markdown(text)
        with st.container(horizontal=True):
            if st.button(label, type="primary", icon=icon):
                st.switch_page(f"views/{go}.py", query_params=query)
            if st.button("Open the demo", icon=":material/play_arrow:"):
                with sentences():
                    open_demo(db)


def line(show: Callable[[], object], about: str) -> None:
    """Show one row of a list: the link that ``show`` draws, and the short text ``about`` at the right edge."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        show()
        st.caption(escape_markdown(about), width="content")


def to_page(page: str, label: str, query: dict[str, str], icon: str) -> Callable[[], object]:
    """Return a function that draws a link to ``page`` with the query parameters ``query``."""
    address = f"views/{page}.py"
    return lambda: st.page_link(address, label=escape_markdown(label), query_params=query, icon=f":material/{icon}:")


def way(page: str, title: str, icon: str, text: str) -> None:
    """Show one line with a link to a page and the text ``text`` about its purpose."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.page_link(f"views/{page}.py", label=title, icon=f":material/{icon}:")
        st.caption(text, width="content")


def listed(title: str, found: Sequence[T], row: Callable[[T], None], rest: str) -> None:
    """Show the list ``found`` under its title and length, one item per call of ``row``.

    The first ``RECENT`` items are visible. The others are folded under a label such as "12 older fits".
    """
    if not found:
        return
    st.header(f"{title} ({len(found)})", anchor=False)
    for one in found[:RECENT]:
        row(one)
    if others := found[RECENT:]:
        with st.expander(f"{len(others)} {rest}"):
            for one in others:
                row(one)


def fit_row(fit: SavedFit) -> None:
    """Show a link to a saved fit and the time at which it was made."""
    query = {"table": fit.table_id, "fit": fit.hash}
    line(to_page("fit", fit.name, query, "show_chart"), f"{fit.created:%d %b %H:%M}")


def plan_row(plan: SavedPlan) -> None:
    """Show a link to a saved plan and the time at which it was made."""
    opens = partial(opener, "plan", plan.name, link(db, results.plan(db, plan.hash)), "flag")
    line(opens, f"{plan.created:%d %b %H:%M}")


def answer_row(answer: SavedAnswer) -> None:
    """Show a link to a saved answer, the name of its question, and the time at which it was made."""
    place = list_places()[answer.kind]
    opens = partial(opener, place.page, answer.name, answer.query, place.icon)
    line(opens, f"{place.title}, {answer.created:%d %b %H:%M}")


def table_row(table: TableInfo) -> None:
    """Show a link to a run table and its number of runs."""
    line(to_page("data", table.name, {"table": table.id}, "table_view"), plural(table.rows, "run"))


def recent() -> None:
    """Show all fits, plans, answers and tables; tables of the user come before bundled ones."""
    listed("Fits", fits, fit_row, "older fits")
    listed("Plans", plans, plan_row, "older plans")
    listed("Answers", kept, answer_row, "older answers")
    listed("Your run tables", own, table_row, "older tables")
    bundled = [table for table in run_tables if table.read_only]
    if bundled:
        st.header(f"Run tables that come with Isoplan ({len(bundled)})", anchor=False)
        for table in bundled:
            table_row(table)


heading("Isoplan", "From a table of training runs to a compute budget.", link=False)
next_step()
st.header("How it goes", anchor=False)
steps = st.grid(4, min_column_width=220)
for number, (title, text) in enumerate(STEPS.items(), start=1):
    with steps.cell(), st.container(border=True, height="stretch"):
        st.markdown(f"**{number}. {title}**")
        st.caption(text)
st.caption("Two pages need no run table:")
for page, (title, text) in SHORT_WAYS.items():
    way(page, title, "bolt", text)
st.caption("Too few runs, or none yet?")
way("train", "Train", "model_training", "Train a grid of models. Each finished run becomes a row of a run table.")
recent()
