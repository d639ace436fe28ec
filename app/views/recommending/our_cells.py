"""Isoplan's own cells compared with a recipe: the results of the bundled tables for each setting, at their scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from isoplan.app.views.recommending import recipe
from isoplan.app.views.recommending.evidence_form import Own
from isoplan.app.views.widgets.parts import escape_markdown, whole
from isoplan.data import trained
from isoplan.engine.planning.recommender import Recommendation, recommend
from isoplan.engine.planning.recommender.choice import Choice, Setting
from isoplan.engine.planning.recommender.text import LABELS, short
from isoplan.engine.quantities import power10

SHOWN: tuple[Setting, ...] = ("s", "B", "N", "D", "K")


@dataclass(frozen=True, eq=False)
class Ours:
    """Evidence of Isoplan's cells on one log for one metric, their runs, and the recipe at their largest budget.

    ``log`` is a description of the training data.
    """

    log: str
    own: Own
    answer: Recommendation


def read(metric: str) -> tuple[Ours, ...]:
    """Return the evidence of Isoplan's cells for ``metric``, by log; logs without tables or without it are left out."""
    found = (_read(log, str(folder), metric) for log, folder in trained.LOGS.items())
    return tuple(one for one in found if one is not None)


@st.cache_resource(max_entries=16, show_spinner="Fitting runs trained by Isoplan")
def _read(log: str, folder: str, metric: str) -> Ours | None:
    place = Path(folder)
    found, budget = trained.evidence(place, metric), trained.budget(place)
    if budget is None or metric not in found.metrics:
        return None
    runs = {
        setting: trained.behind(place, setting, metric) for setting in trained.SWEEPS if setting not in found.missing
    }
    references = {setting: trained.counted(place, setting) for setting in trained.SWEEPS}
    return Ours(log, Own(found, runs, references=references), recommend(found, budget, metric))


def show(answer: Recommendation, ours: Sequence[Ours]) -> None:
    """Show a table per log with a line per setting: the ``answer`` of the page and the result of Isoplan's cells."""
    if not ours:
        return
    st.header("Compared with runs trained by Isoplan", anchor=False)
    page = f"This recipe, {power10(answer.budget)} FLOPs"
    for one in ours:
        mine = f"Our cells, {power10(one.answer.budget)} FLOPs"
        lines = [
            _line(
                page, mine, answer.recipe.choices[setting], one.answer.recipe.choices[setting], _missing(one, setting)
            )
            for setting in SHOWN
        ]
        st.markdown(f"On {one.log}:")
        st.table(
            lines,
            border="horizontal",
            hide_index=True,
            alt=f"The recipe compared with runs trained by Isoplan on {one.log}.",
        )
        _reasons(one)
    st.caption(
        "Small runs trained by Isoplan, with other budgets and catalogues than the paper. Settings on which all agree "
        "probably apply to your log. The others depend on log and scale."
    )


def _reasons(one: Ours) -> None:
    """Show the full texts of the last column, which are shortened in the table."""
    with st.expander("Evidence for each setting", icon=":material/info:"):
        for setting in SHOWN:
            choice = one.answer.recipe.choices[setting]
            said = _missing(one, setting) or recipe.row(choice)["From"]
            st.markdown(f"- **{escape_markdown(LABELS[setting])}**: {escape_markdown(whole(said))}")


def _line(page: str, mine: str, theirs: Choice, own: Choice, missing: str) -> dict[str, str]:
    there, here = recipe.row(theirs), recipe.row(own)
    line = {"Setting": here["Setting"], page: there["Value"], mine: here["Value"] if not missing else "not known"}
    line |= {name: here[name] for name in ("68 %", "95 %", "Sweep")} | {"From": short(missing or here["From"])}
    return {escape_markdown(key): escape_markdown(whole(cell)) for key, cell in line.items()}


def _missing(ours: Ours, setting: Setting) -> str:
    """Return why Isoplan's cells do not determine ``setting``; empty if they do."""
    return ours.own.evidence.missing.get("N" if setting == "D" else setting, "")
