"""Page Home: the newest plan or the demo, next steps, stories, and lists of saved plans, fits, answers and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import Literal, TypeVar

import streamlit as st

from isoplan.app import workspace
from isoplan.app.bundled import task_named
from isoplan.app.components.chart import moving_chart
from isoplan.app.figures.plans import story as picture
from isoplan.app.figures.style.theme import WEB
from isoplan.app.views.fits.fitting import open_demo
from isoplan.app.views.planning.metrics import plannable
from isoplan.app.views.planning.saved import link
from isoplan.app.views.widgets import stories
from isoplan.app.views.widgets.parts import escape_markdown, heading, plural, sentences, whole
from isoplan.app.views.widgets.saved_items import list_places, opener
from isoplan.data.catalogue import PUBLISHED
from isoplan.data.stories import DOMAINS
from isoplan.engine.store.saved import results
from isoplan.engine.store.saved.results import SavedAnswer, SavedFit, SavedPlan
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.tables import TableInfo

T = TypeVar("T")

SCREEN, HEIGHT = replace(WEB, size=15.0, scale=1.2), 400
"""Theme of the figure, and its height in pixels."""
HERO = """
.isoplan-hero { font-size: 1.6rem; line-height: 1.3; font-weight: 600; margin: 0; min-height: 2.6em; }
[data-testid="stHeading"] h3 { font-size: 1rem; padding: 0.5rem 0; }
"""
STORY = "home_story"
"""Session key of the query parameters that open the story of the figure."""
OTHERS = "Other"
"""Heading of the bundled tables that do not belong to a domain of ``DOMAINS``."""
RECENT = 5
"""Number of visible rows in each list of the page. Further rows are folded."""

db = workspace.current()
run_tables = tables.all(db)
own = [t for t in run_tables if not t.read_only]
fits, plans, kept = results.fits(db), results.plans(db), results.answers(db)
usable = plannable(db)
titles = {domain.key: domain.title for domain in DOMAINS}


@st.fragment
def hero() -> None:
    """Show the newest plan that has a story, otherwise the demo, as one sentence and one figure."""
    with sentences():
        screen, name, query = stories.first_screen(db)
        st.session_state[STORY] = query
        st.html(f'<p class="isoplan-hero">{escape(whole(screen.sentence))}</p>')
        moving_chart(picture.draw(screen.picture, SCREEN, HEIGHT), key="home_picture")
        about = (
            "A saved plan of this workspace" if "plan" in query else "An example with simulated runs and assumed prices"
        )
        st.caption(f"{about}: {escape_markdown(name)}.")


def next_step() -> None:
    """Show one sentence about the next step with the user's runs, and buttons for this step, a story and the demo."""
    text, label, query = "", "", dict[str, str]()
    if fit := next((f for f in usable if f.table_id in {t.id for t in own}), None):
        fresh = f"**{escape_markdown(fit.name)}** is fitted. Plan a budget or a target."
        more = f"Continue with **{escape_markdown(fit.name)}**, or upload more runs to narrow its intervals."
        text, label, go, query = more if plans else fresh, "Make a plan", "plan", {"fit": fit.hash}
    elif own:
        text = f"**{escape_markdown(own[0].name)}** has no fitted law. Check its columns, then fit a law."
        label, go, query = "Fit a law", "fit", {"table": own[0].id}
    if text:
        st.markdown(text)
    with st.container(horizontal=True):
        if label and st.button(label, type="primary"):
            st.switch_page(f"views/{go}.py", query_params=query)
        kind: Literal["primary", "secondary"] = "secondary" if label else "primary"
        if st.button("Upload runs", type=kind, icon=":material/upload_file:"):
            st.switch_page("views/data.py")
        if st.button("Watch the story", icon=":material/slideshow:"):
            st.switch_page("views/story.py", query_params=st.session_state.get(STORY, {}))
        if st.button("Open the demo", icon=":material/play_arrow:"):
            with sentences():
                open_demo(db)


def cards() -> None:
    """Show one card per domain with a link that opens the story of the domain."""
    row = st.grid(len(DOMAINS), min_column_width=180)
    for domain in DOMAINS:
        with row.cell(), st.container(border=True, height="stretch"):
            st.markdown(f"**:material/{domain.icon}: {domain.title}**")
            st.caption(domain.text)
            query = {"story": domain.key}
            st.page_link(
                "views/story.py", label=f"Watch {domain.title}", query_params=query, icon=":material/slideshow:"
            )


def line(show: Callable[[], object], about: str) -> None:
    """Show one row of a list: the link that the function ``show`` draws, and the text ``about`` at the right edge."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        show()
        st.caption(escape_markdown(about), width="content")


def to_page(page: str, label: str, query: dict[str, str], icon: str) -> Callable[[], object]:
    """Return a function that draws a link to ``page`` with the query parameters ``query``."""
    address = f"views/{page}.py"
    return lambda: st.page_link(address, label=escape_markdown(label), query_params=query, icon=f":material/{icon}:")


def listed(title: str, found: Sequence[T], row: Callable[[T], None], rest: str) -> None:
    """Show the list ``found`` with its title and length. The function ``row`` draws one item.

    The first ``RECENT`` items are visible. Further items are folded under a label such as "12 older fits".
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
    """Show a link to a saved fit and the time when it was saved."""
    query = {"table": fit.table_id, "fit": fit.hash}
    line(to_page("fit", fit.name, query, "show_chart"), f"{fit.created:%d %b %H:%M}")


def plan_row(plan: SavedPlan) -> None:
    """Show a link to a saved plan and the time when it was saved."""
    opens = partial(opener, "plan", plan.name, link(db, results.plan(db, plan.hash)), "flag")
    line(opens, f"{plan.created:%d %b %H:%M}")


def answer_row(answer: SavedAnswer) -> None:
    """Show a link to a saved answer, the title of its question, and the time when it was saved."""
    place = list_places()[answer.kind]
    opens = partial(opener, place.page, answer.name, answer.query, place.icon)
    line(opens, f"{place.title}, {answer.created:%d %b %H:%M}")


def table_row(table: TableInfo) -> None:
    """Show a link to a run table and its number of runs."""
    line(to_page("data", table.name, {"table": table.id}, "table_view"), plural(table.rows, "run"))


def bundled() -> None:
    """Show the bundled tables by domain. Tables of published runs are folded."""
    found = {table.name: table for table in run_tables if table.read_only}
    folded = [table for demo in PUBLISHED if (table := found.pop(demo.name, None)) is not None]
    groups: dict[str, list[TableInfo]] = {}
    for table in found.values():
        groups.setdefault(titles.get(task_named(table.name), OTHERS), []).append(table)
    for title in (*titles.values(), OTHERS):
        if tables_of := groups.get(title):
            st.subheader(title, anchor=False)
            for table in tables_of:
                table_row(table)
    if folded:
        with st.expander(f"{len(folded)} published run tables"):
            for table in folded:
                table_row(table)


def recent() -> None:
    """Show all plans, fits, answers and tables of the user, then the bundled tables."""
    listed("Plans", plans, plan_row, "older plans")
    listed("Fits", fits, fit_row, "older fits")
    listed("Answers", kept, answer_row, "older answers")
    if own:
        st.header(f"Your run tables ({len(own)})", anchor=False)
        for table in own:
            table_row(table)
    if any(table.read_only for table in run_tables):
        st.header(f"Run tables that come with Isoplan ({sum(table.read_only for table in run_tables)})", anchor=False)
        bundled()


heading("Isoplan", "From a table of training runs to a compute budget.", link=False)
st.html(f"<style>{HERO}</style>")
hero()
next_step()
st.header("Stories in five screens", anchor=False)
cards()
recent()
