"""Page Story: a plan for a presentation, in five screens with one figure and one sentence each."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from html import escape
from typing import Literal

import streamlit as st

from isoplan.app import workspace
from isoplan.app.components import script
from isoplan.app.components.chart import moving_chart
from isoplan.app.figures.plans import story as picture
from isoplan.app.links import asked
from isoplan.app.reports.content import report_story
from isoplan.app.views.widgets import stories
from isoplan.app.views.widgets.markdown import escape_markdown, refuse
from isoplan.app.views.widgets.parts import CSS, copy_link, whole
from isoplan.app.views.widgets.reports import report_buttons
from isoplan.data.stories import DOMAINS, find_domain
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.drawing.cost_curve import CostCurve
from isoplan.engine.planning.story.screens import TITLES, Screen, Story
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results

STAGE_KEY = "story_stage"
"""Key of the container with the sentence, the figure and the slider.

The height of the figure is chosen so that the window shows the whole container.
"""
MONEY = "money"
"""Name of the query parameter that stores the cost at the slider."""
STAGE = """<style>
.isoplan-sentence { font-size: clamp(32px, 2.4vw, 60px); line-height: 1.3; font-weight: 600; margin: 0;
  min-height: 3.9em; text-wrap: pretty; }
.isoplan-detail { font-size: clamp(20px, 1.5vw, 36px); line-height: 1.3; margin: 0; }
[data-testid="stMain"] [data-testid="stCaptionContainer"] p { font-size: clamp(0.875rem, 0.95vw, 1.5rem); }
.st-key-story_head > [data-testid="stElementContainer"] { flex: 1 1 24rem; min-width: 0; }
[data-testid="stHeading"] h1 { font-size: clamp(1.25rem, 1.6vw, 2rem); padding: 0; }
.st-key-story_slider [data-testid="stSlider"] { display: grid; grid-template-columns: auto 1fr; align-items: center;
  column-gap: 4rem; padding-right: 3rem; }
.st-key-story_slider [data-testid="stSliderThumbValue"] { font-size: 1.5rem; }
.st-key-story_slider label p { font-size: 1.25rem; }
.st-key-story_steps button { min-width: 7.5rem; }
:fullscreen [data-testid="stSidebar"], :fullscreen [data-testid="stHeader"], :fullscreen .st-key-story_more,
:fullscreen .st-key-copy_link { display: none; }
:fullscreen [data-testid="stMainBlockContainer"] { max-width: none; padding-top: 1.5rem; padding-bottom: 1rem; }
</style>"""
FULL_CSS = """
button { font: 400 1rem var(--st-font); color: var(--st-text-color); background: var(--st-background-color);
  border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius, 0.375rem); padding: 0.45rem 0.75rem;
  cursor: pointer; white-space: nowrap; }
button:hover { border-color: var(--st-primary-color); color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }
"""
_full_screen = st.components.v2.component(
    "isoplan_full_screen",
    html='<button type="button">Full screen</button>',
    css=FULL_CSS,
    js=script("full_screen.js"),
)


def asked_story(db: Database) -> tuple[Story, str]:
    """Return the story that the page URL selects, and the key of this story.

    The story belongs to a saved plan, a saved fit, or a bundled domain. Without a selection, the result is the story of
    the first domain. Raises PlannerError if the selected story does not exist.
    """
    if plan := st.query_params.get("plan", ""):
        name = next((one.name for one in results.plans(db) if one.hash == plan), "")
        return stories.plan_story(db, plan, name), plan
    if fit := st.query_params.get("fit", ""):
        return stories.fit_story(db, fit), fit
    key = st.query_params.get("story", "") or DOMAINS[0].key
    return stories.bundled_story(db, key), key


def asked_screen() -> int:
    """Return the number of the screen in the page URL, from 1. For an invalid number, show a warning and return 1."""
    text = st.query_params.get("screen", "") or "1"
    if text.isdecimal() and 1 <= int(text) <= len(TITLES):
        return int(text)
    st.warning(f"Screen: {escape_markdown(text[:40])} is not a number from 1 to {len(TITLES)}. Screen 1 is shown.")
    return 1


def go_to(screen: int) -> None:
    """Store the number of the screen in the page URL, and remove the cost: the slider then starts at the plan."""
    query = {name: values for name, values in asked().items() if name != MONEY}
    st.query_params.from_dict({**query, "screen": str(screen)})


def asked_step(screen: Screen) -> int:
    """Return the slider position that is nearest to the cost in the page URL.

    Without a cost, the result is the position of the plan. For an invalid cost, a warning is shown and the result is
    also the position of the plan.
    """
    text = st.query_params.get(MONEY, "")
    if not text:
        return screen.start
    costs = [step.mark.x for step in screen.steps]
    try:
        cost = float(text)
    except ValueError:
        cost = math.nan
    if costs[0] * 0.99 <= cost <= costs[-1] * 1.01:
        return min(range(len(costs)), key=lambda i: abs(math.log(costs[i] / cost)))
    ends = f"{screen.steps[0].label} to {screen.steps[-1].label}"
    st.warning(f"Money: {escape_markdown(text[:40])} is not a number from {ends}. The plan is shown.")
    return screen.start


def store_money(screen: Screen, at: int) -> None:
    """Store the cost at the slider position ``at`` in the URL. At the position of the plan, remove the cost."""
    if at == screen.start:
        st.query_params.pop(MONEY, None)
    else:
        st.query_params[MONEY] = f"{screen.steps[at].mark.x:.10g}"


def steps(title: str, screen: int) -> None:
    """Show the title and the buttons "Previous" and "Next". The left and right arrow keys press these buttons."""
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="story_head"
    ):
        st.title(escape_markdown(title), anchor=False, width="content")
        with st.container(horizontal=True, width="content", vertical_alignment="center", key="story_steps"):
            back, on = max(screen - 1, 1), min(screen + 1, len(TITLES))
            st.button("Previous", on_click=go_to, args=(back,), shortcut="Left", disabled=screen == 1)
            st.markdown(f"{screen} of {len(TITLES)}", width="content")
            # On the last screen, the button is secondary, because a disabled primary button has too little contrast.
            last = screen == on
            kind: Literal["primary", "secondary"] = "secondary" if last else "primary"
            st.button("Next", type=kind, on_click=go_to, args=(on,), shortcut="Right", disabled=last, key="next")
            _full_screen(data={"screen": screen}, key="full_screen")


@st.fragment
def stage(screen: Screen, key: str) -> None:
    """Show the sentence, the figure and the slider of a screen. A moved slider reruns only this function."""
    with st.container(key=STAGE_KEY):
        above, below = st.container(), st.container(key="story_slider")
    shown, sentence, caption = screen.picture, screen.sentence, screen.caption
    if screen.steps and isinstance(shown, CostCurve):
        positions = range(len(screen.steps))
        with below:
            at = st.select_slider(
                "Money to spend" if shown.cost == "money" else f"{shown.unit} to spend",
                positions,
                asked_step(screen),
                format_func=lambda i: screen.steps[i].label,
                key=f"spend_{key}",
            )
        step = screen.steps[int(str(at))]
        store_money(screen, int(str(at)))
        shown, sentence, caption = replace(shown, plan=step.mark), step.sentence, step.caption
    with above:
        st.html(f'<p class="isoplan-sentence">{escape(whole(sentence))}</p>')
        if caption:
            st.html(f'<p class="isoplan-detail">{escape(whole(caption))}</p>')
        moving_chart(picture.draw(shown), key=f"picture_{screen.title}", visible=STAGE_KEY)


def open_story(key: str) -> None:
    """Store the bundled story ``key`` in the page URL instead of the current story. The page then shows screen 1."""
    st.query_params.from_dict({"story": key})


def more(key: str, story: Story) -> None:
    """Show buttons for other stories, for reports of this story, and for the link to this story."""
    with st.container(key="story_more"), st.container(horizontal=True, vertical_alignment="center"):
        for one in DOMAINS:
            if one.key != key:  # other stories; a link to the open page would not change the address
                st.button(f"Story: {one.title}", icon=f":material/{one.icon}:", on_click=open_story, args=(one.key,))
        report_buttons("story", partial(report_story, story))
        copy_link()


db = workspace.current()
st.html(CSS + STAGE)
try:
    story, key = asked_story(db)
except PlannerError as error:
    st.title("Story", anchor=False)
    refuse(str(error))
    story, key = stories.bundled_story(db, DOMAINS[0].key), DOMAINS[0].key
    st.caption(f"Shown instead: {find_domain(key).story}.")
number = asked_screen()
steps(story.title, number)
stage(story.screens[number - 1], key)
if story.assumed:
    st.caption(escape_markdown(story.assumed))
more(key, story)
