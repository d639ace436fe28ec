"""Home: where the workspace stands, what to do next, and the demo in one click."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from app import workspace
from app.views.demo import open_demo
from app.views.parts import heading, plain, plural, sentences
from app.views.planning.saved import link
from app.views.saved_answers import PLACES
from app.views.shelf import opener
from engine.store import answers, results, tables

STEPS = {
    "Data": "Bring a table of training runs. Roles are guessed, and yours to correct.",
    "Fit": "Fit a scaling law to the runs. Every parameter comes with intervals from refits.",
    "Explore": "See the loss surface, the iso-FLOP curves and the compute-optimal frontier.",
    "Plan": "What a budget buys, what a target costs within your limits, and which way is the cheapest.",
}
SHORT_WAYS = {
    "recommender": ("Recommender", "Every knob of a recommender for a budget and the metric that is served."),
    "amplitude": ("Precision", "What an amplitude surrogate takes, before anything big is trained."),
}
"""Pages that answer from published sweeps as well, by their address."""
RECENT = 5

db = workspace.current()
run_tables = tables.all(db)
own = [t for t in run_tables if not t.read_only]
fits, plans, kept = results.fits(db), results.plans(db), answers.all(db)


def next_step() -> None:
    """One sentence on what to do now, and the button that does it."""
    if not own:
        text = "**Start with your own runs**, or look at an example first: trained jet taggers, fitted and planned."
    elif not any(f.table_id in {t.id for t in own} for f in fits):
        text = f"**{plain(own[0].name)}** has no fit yet: check how its columns are read, then fit a law."
    elif not plans:
        text = f"**{plain(fits[0].name)}** is fitted: ask what a budget buys or what a target loss costs."
    else:
        text = f"Go on with **{plain(fits[0].name)}**, or bring more runs to narrow its intervals."
    with st.container(border=True):
        st.markdown(text)
        with st.container(horizontal=True):
            if not own:
                bring = st.button("Load a run table", type="primary", icon=":material/upload_file:")
                demo = st.button("Open the demo", icon=":material/play_arrow:")
                if bring:
                    st.switch_page("views/data.py")
                if demo:
                    with sentences():
                        open_demo(db)
                return
            go, label = ("fit", "Fit a law") if not fits else ("plan", "Make a plan")
            if st.button(label, type="primary"):
                st.switch_page(f"views/{go}.py", query_params={"fit": fits[0].hash} if go == "plan" else None)
            if st.button("Open the demo", icon=":material/play_arrow:"):
                with sentences():
                    open_demo(db)


def line(show: Callable[[], object], about: str) -> None:
    """One row of a list: what it is, as the link that ``show`` draws, and a few words."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        show()
        st.caption(plain(about), width="content")


def to_page(page: str, label: str, query: dict[str, str], icon: str) -> Callable[[], object]:
    """A link within the session."""
    address = f"views/{page}.py"
    return lambda: st.page_link(address, label=plain(label), query_params=query, icon=f":material/{icon}:")


def way(page: str, title: str, icon: str, text: str) -> None:
    """A link to a page, and what it is for."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.page_link(f"views/{page}.py", label=title, icon=f":material/{icon}:")
        st.caption(text, width="content")


def recent() -> None:
    """The newest fits, plans, answers and tables."""
    if fits:
        st.header(f"Fits ({len(fits)})", anchor=False)
        for f in fits[:RECENT]:
            line(to_page("fit", f.name, {"table": f.table_id, "fit": f.hash}, "show_chart"), f"{f.created:%d %b %H:%M}")
    if plans:
        st.header(f"Plans ({len(plans)})", anchor=False)
        for p in plans[:RECENT]:
            opens = partial(opener, "plan", p.name, link(db, results.plan(db, p.hash)), "flag")
            line(opens, f"{p.created:%d %b %H:%M}")
    if kept:
        st.header(f"Answers ({len(kept)})", anchor=False)
        for a in kept[:RECENT]:
            place = PLACES[a.kind]
            opens = partial(opener, place.page, a.name, a.query, place.icon)
            line(opens, f"{place.title}, {a.created:%d %b %H:%M}")
    st.header(f"Run tables ({len(run_tables)})", anchor=False)
    for t in [*own[:RECENT], *(t for t in run_tables if t.read_only)]:
        line(to_page("data", t.name, {"table": t.id}, "table_view"), plural(t.rows, "run"))


heading("Isoplan", "From a table of training runs to a compute budget.", link=False)
next_step()
st.header("How it goes", anchor=False)
steps = st.grid(4, min_column_width=220)
for number, (title, text) in enumerate(STEPS.items(), start=1):
    with steps.cell(), st.container(border=True, height="stretch"):
        st.markdown(f"**{number}. {title}**")
        st.caption(text)
st.caption("Two questions have answers without a table of your own:")
for page, (title, text) in SHORT_WAYS.items():
    way(page, title, "bolt", text)
st.caption("Too few runs, or none yet?")
way("train", "Train", "model_training", "Cells of a grid, launched from the page; what finishes becomes a row.")
recent()
