"""Comparison of a recipe with the results of runs that Isoplan trained at a small scale, and of all metrics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown, number, show_reasons, whole
from isoplan.data import trained
from isoplan.engine.planning.answer.format import between
from isoplan.engine.planning.answer.format import number as of
from isoplan.engine.planning.recommender import Recommendation, recommend
from isoplan.engine.planning.recommender.builder import Built
from isoplan.engine.planning.recommender.choice import SETTINGS, Choice, Setting
from isoplan.engine.planning.recommender.text import LABELS, shown, source
from isoplan.engine.quantities import power10

SHOWN: tuple[Setting, ...] = ("s", "B", "N", "D", "K")
Cell = tuple[str, str]
"""Text of a table cell, and the reason that the page shows on hover; "" for no reason."""


def value(choice: Choice, missing: str = "") -> Cell:
    """Return the value of a setting as a table cell; without a value, "-" with the reason.

    ``missing`` is a reason why runs do not determine the setting.
    """
    q = shown(choice)
    if missing or q.value is None:
        return "-", missing or choice.note or q.note
    borrowed = f"borrowed from {choice.borrowed}" if choice.borrowed else ""
    return whole(f"{of(q)} {q.unit}".strip()), borrowed


def interval(choice: Choice, missing: str = "") -> Cell:
    """Return the 68 % interval of a setting as a table cell."""
    q = shown(choice)
    if missing or q.value is None or q.ci68 is None:
        return "-", missing or q.note or "no interval is known"
    return whole(between(q, q.ci68)), ""


@dataclass(frozen=True, eq=False)
class Ours:
    """Results of runs that Isoplan trained on one log, for one metric: evidence, runs, recipe at the largest budget.

    ``log`` describes the training data in words.
    """

    log: str
    own: Built
    answer: Recommendation

    def missing(self, setting: Setting) -> str:
        """Return why these runs do not determine ``setting``; "" if they do."""
        return self.own.evidence.missing.get("N" if setting == "D" else setting, "")


def read_ours(log: str, metric: str) -> Ours | None:
    """Return the results of Isoplan's runs on ``log`` for ``metric``; None if its tables do not have this metric."""
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
    """Show a table with the recipe of the serving metric and the results of Isoplan's runs, one column per log."""
    ours = [one for log in trained.LOGS if (one := read_ours(log, answer.served)) is not None]
    if not ours:
        st.info(
            f"No run trained by Isoplan measures {escape_markdown(answer.served)}. Choose another metric.",
            icon=":material/search:",
        )
        return
    head = ["Setting", f"This recipe, {power10(answer.budget)} FLOPs"]
    for one in ours:
        head += [f"Runs on {one.log}, {power10(one.answer.budget)} FLOPs", "68 %"]
    lines: list[list[Cell]] = []
    for setting in SHOWN:
        line = [(LABELS[setting], ""), value(answer.recipe.choices[setting])]
        for one in ours:
            choice, missing = one.answer.recipe.choices[setting], one.missing(setting)
            line += [value(choice, missing), interval(choice, missing)]
        lines.append(line)
    show_reasons(head, lines, "The recipe compared with runs trained by Isoplan.")
    st.caption("Small runs, with other budgets and catalogues than yours. Equal values probably apply to your log.")
    for one in ours:
        with st.expander(f"Evidence for each setting, {one.log}", icon=":material/info:"):
            for setting in SHOWN:
                said = one.missing(setting) or source(one.answer.recipe.choices[setting])
                st.markdown(f"- **{escape_markdown(LABELS[setting])}**: {escape_markdown(whole(said))}")


def show_metrics(answer: Recommendation) -> None:
    """Show the recipes of all metrics side by side, and a sentence on the setting that differs most."""
    head = ["Setting", *answer.recipes]
    lines = [
        [(LABELS[setting], ""), *(value(each.choices[setting]) for each in answer.recipes.values())]
        for setting in SETTINGS
    ]
    lines.append([("Limit of K", ""), *_limits(answer)])
    show_reasons(head, lines, "The recipe of every metric, side by side.")
    st.caption(_changes(answer))


def _limits(answer: Recommendation) -> list[Cell]:
    unknown = "no sweep or memory determines K"
    return [("-", unknown) if each.binds == "unknown" else (each.binds, "") for each in answer.recipes.values()]


def _changes(answer: Recommendation) -> str:
    """Return a sentence on the setting that changes by the largest factor for another metric."""
    found = [
        (max(x, 1 / x), x, setting, metric)
        for setting, others in answer.changes.items()
        for metric, x in others.items()
        if x > 0 and setting != "lr"
    ]
    if not found:
        return "No other metric determines the same settings."
    _, x, setting, metric = max(found)
    times = f"{number(x, 2)} times" if x >= 1 else f"{x:.2g} of"
    return escape_markdown(
        f"The largest difference is in {setting}: its value for {metric} is {times} the value for {answer.served}."
    )
