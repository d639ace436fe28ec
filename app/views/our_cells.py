"""Cells of our own beside a recipe: what the tables that come along say of each knob, at their own scale."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from app.views import recipe
from app.views.own_runs import Own
from app.views.parts import plain, whole
from data import trained
from engine.planning.recommender import Recommendation, recommend
from engine.planning.recommender.choice import Choice, Knob
from engine.quantities import power10

SHOWN: tuple[Knob, ...] = ("s", "B", "N", "D", "K")


@dataclass(frozen=True, eq=False)
class Ours:
    """The evidence of our own cells for one metric with the runs behind it, and the recipe at their largest budget."""

    own: Own
    answer: Recommendation


def read(metric: str) -> Ours | None:
    """What our cells say for ``metric``; None where no table comes along, or none measures it."""
    return _read(str(trained.FOLDER), metric)


@st.cache_resource(max_entries=16, show_spinner="Fitting our own cells")
def _read(folder: str, metric: str) -> Ours | None:
    place = Path(folder)
    found, budget = trained.evidence(place, metric), trained.budget(place)
    if budget is None or metric not in found.metrics:
        return None
    runs = {knob: trained.behind(place, knob, metric) for knob in trained.SWEEPS if knob not in found.missing}
    return Ours(Own(found, runs, {}), recommend(found, budget, metric))


def show(answer: Recommendation, ours: Ours) -> None:
    """A line a knob: the ``answer`` of the page, and what our own cells say at their scale."""
    st.header("Beside cells of our own", anchor=False)
    mine = f"Our cells, {power10(ours.answer.budget)} FLOPs"
    page = f"This recipe, {power10(answer.budget)} FLOPs"
    lines = [
        _line(page, mine, answer.recipe.choices[knob], ours.answer.recipe.choices[knob], _missing(ours, knob))
        for knob in SHOWN
    ]
    with st.container(key="our_cells"):
        st.table(lines, border="horizontal", hide_index=True, alt="The recipe beside that of our own cells.")
    st.caption(
        "Small cells that Isoplan trained on a log of its own, at other budgets and with another catalogue than the "
        "paper's: what both say alike is likely to hold for yours, what they do not depends on log and scale."
    )


def _line(page: str, mine: str, theirs: Choice, own: Choice, missing: str) -> dict[str, str]:
    there, here = recipe.row(theirs), recipe.row(own)
    line = {"Knob": here["Knob"], page: there["Value"], mine: here["Value"] if not missing else "not known"}
    line |= {name: here[name] for name in ("68 %", "95 %", "Sweep")} | {"From": missing or here["From"]}
    return {plain(key): plain(whole(cell)) for key, cell in line.items()}


def _missing(ours: Ours, knob: Knob) -> str:
    """Why our cells do not say ``knob``; empty where they do."""
    return ours.own.evidence.missing.get("N" if knob == "D" else knob, "")
