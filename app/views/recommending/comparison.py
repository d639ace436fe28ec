"""Two tables: a recipe compared with small runs trained by Isoplan, and the recipes of all metrics side by side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from isoplan.app.views.widgets.parts import Hint, escape_markdown, show_hints, whole
from isoplan.data import trained
from isoplan.engine.planning.answer.format import between
from isoplan.engine.planning.answer.format import number as of
from isoplan.engine.planning.recommender import Recommendation, recommend
from isoplan.engine.planning.recommender.builder import Built
from isoplan.engine.planning.recommender.choice import LABELS, SETTINGS, Choice, Setting
from isoplan.engine.planning.recommender.text import shown, source
from isoplan.engine.quantities import number, power10

SHOWN: tuple[Setting, ...] = ("s", "B", "N", "D", "K")


def value(choice: Choice, missing: str = "") -> Hint:
    """Return the value of a setting as a table cell; without a value, return the reason.

    If the value was determined for another metric, the cell names this metric. ``missing`` is the reason why runs do
    not determine the setting, or "".
    """
    q = shown(choice)
    if missing or q.value is None:
        return Hint("", missing or choice.note or q.note)
    return Hint(whole(f"{of(q)} {q.unit}{f' (by {choice.borrowed})' if choice.borrowed else ''}".strip()))


def interval(choice: Choice, level: int = 68, missing: str = "") -> Hint:
    """Return the interval of a setting at ``level`` per cent (68 or 95) as a table cell.

    Without an interval, the cell contains the reason. ``missing`` is the reason why runs do not determine the setting,
    or "".
    """
    q = shown(choice)
    ends = q.ci68 if level == 68 else q.ci95
    if missing or q.value is None or ends is None:
        return Hint("", missing or q.note or "no interval is known")
    return Hint(whole(between(q, ends)))


@dataclass(frozen=True, eq=False)
class Ours:
    """Results of Isoplan's runs on one log of events, for one metric.

    ``log`` describes the training data in words. ``own`` contains the evidence and the runs. ``answer`` is the recipe
    at the largest budget of the runs.
    """

    log: str
    own: Built
    answer: Recommendation

    def missing(self, setting: Setting) -> str:
        """Return the reason why these runs do not determine ``setting``; "" if they determine it."""
        return self.own.evidence.missing.get("N" if setting == "D" else setting, "")


def read_ours(log: str, metric: str) -> Ours | None:
    """Return the results of Isoplan's runs on ``log`` for ``metric``; None if no run measures ``metric``."""
    return _read(log, str(trained.LOGS[log]), metric)


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
    return Ours(log, Built(found, runs, references=references), recommend(found, budget, metric))


def compare(answer: Recommendation) -> None:
    """Show a table with the recipe of the serving metric and the results of Isoplan's runs on each log of events."""
    ours = [one for log in trained.LOGS if (one := read_ours(log, answer.served)) is not None]
    if not ours:
        st.info(
            f"No run trained by Isoplan measures {escape_markdown(answer.served)}. Choose another metric.",
            icon=":material/search:",
        )
        return
    rows = []
    for setting in SHOWN:
        row = {"Setting": Hint(LABELS[setting])}
        row[f"This recipe, {power10(answer.budget)} FLOPs"] = value(answer.recipe.choices[setting])
        for one in ours:
            choice, missing = one.answer.recipe.choices[setting], one.missing(setting)
            row[f"Runs on {one.log}, {power10(one.answer.budget)} FLOPs"] = value(choice, missing)
            row[f"68 %, {one.log}"] = interval(choice, missing=missing)
        rows.append(row)
    show_hints(rows, "The recipe compared with runs trained by Isoplan.")
    st.caption(
        "The runs trained by Isoplan are small and have other budgets and catalogues than the recipe. A value of the "
        "recipe that agrees with them probably also holds for your log."
    )
    for one in ours:
        with st.expander(f"Evidence for each setting, {one.log}", icon=":material/info:"):
            for setting in SHOWN:
                said = one.missing(setting) or source(one.answer.recipe.choices[setting])
                st.markdown(f"- **{escape_markdown(LABELS[setting])}**: {escape_markdown(whole(said))}")


def show_metrics(answer: Recommendation) -> None:
    """Show the recipes of all metrics side by side, and a sentence about the setting with the largest difference."""
    rows = [
        {"Setting": Hint(LABELS[setting])} | {m: value(each.choices[setting]) for m, each in answer.recipes.items()}
        for setting in SETTINGS
    ]
    for metric, each in answer.recipes.items():
        if each.binds == "sweep":
            row = rows[SETTINGS.index("K")]
            row[metric] = Hint(f"at least {row[metric].text}")
    unknown = Hint("", "K is not determined, so its limit is not known")
    limits = {m: unknown if one.binds == "unknown" else Hint(one.binds) for m, one in answer.recipes.items()}
    show_hints([*rows, {"Setting": Hint("Limit of K")} | limits], "The recipe of every metric, side by side.")
    st.caption(_changes(answer))


def _changes(answer: Recommendation) -> str:
    """Return a sentence about the setting whose value differs most between the serving metric and another metric."""
    found = [
        (max(x, 1 / x), x, setting, metric)
        for setting, others in answer.changes.items()
        for metric, x in others.items()
        if x > 0 and setting != "lr"
    ]
    if not found:
        return "No setting has values for both the serving metric and another metric, so there is no comparison."
    _, x, setting, metric = max(found)
    times = f"{number(x, 2)} times" if x >= 1 else f"{x:.2g} of"
    return escape_markdown(
        f"The largest difference is in {setting}: its value for {metric} is {times} the value for {answer.served}."
    )
