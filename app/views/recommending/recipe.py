"""A recipe on the page: the sentence, the table, the changes for other metrics, and the files.

It is compared with the results of runs that Isoplan trained at a small scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown, number, show_warnings, whole
from isoplan.app.views.widgets.saved_items import keep_answer
from isoplan.data import trained
from isoplan.engine.planning.answer.format import between, decades
from isoplan.engine.planning.answer.format import number as of
from isoplan.engine.planning.questions.answer import Answer
from isoplan.engine.planning.recommender import Evidence, Recommendation, recommend, side_by_side
from isoplan.engine.planning.recommender.builder import Built
from isoplan.engine.planning.recommender.choice import SETTINGS, Alternative, Choice, Setting
from isoplan.engine.planning.recommender.text import LABELS, binding, short, shown, source
from isoplan.engine.quantities import power10
from isoplan.engine.store.database.database import Database

MISSING = "not known, see below"
SHOWN: tuple[Setting, ...] = ("s", "B", "N", "D", "K")


def show(db: Database, reply: Answer, own: Evidence) -> None:
    """Show the answer, the most important parts first. ``own`` is the evidence from the user's runs."""
    answer: Recommendation = reply.result
    with st.container(border=True):
        st.header(escape_markdown(whole(reply.sentence)), anchor=False)
    recipe = answer.recipe
    rows = [row(recipe.choices[setting], _owner(own, setting, answer.served)) for setting in SETTINGS]
    with st.container(key="recipe_table"):
        st.table(_plain(rows), border="horizontal", hide_index=True, alt="The recipe in numbers.")
    said = [binding(recipe), recipe.step.sentence if recipe.step else ""]
    if any(said):
        st.caption(escape_markdown(" ".join(text for text in said if text)))
    show_warnings(recipe.warnings)
    keep_answer(db, "recipe", reply.name, reply.file)
    _others(answer)


def row(choice: Choice, owner: str = "") -> dict[str, str]:
    """Return the table row of a setting: value, intervals, position in its sweep, cost of other values, and source.

    ``owner`` states whose runs determine the setting, as ``_owner`` returns it.
    """
    q = shown(choice)
    known = q.value is not None
    return {
        "Setting": LABELS[choice.setting],
        "Value": whole(f"{of(q)} {q.unit}".strip()) if known else _no_value(choice),
        "68 %": whole(between(q, q.ci68)),
        "95 %": whole(between(q, q.ci95)),
        "Sweep": _place(choice),
        "Otherwise": "; ".join(_cost(choice, other) for other in choice.otherwise),
        "From": _from(choice, owner) if known or choice.place is not None else _missing(choice),
    }


def _owner(own: Evidence, setting: Setting, metric: str) -> str:
    """Return whose runs determine ``setting`` for ``metric``: "Your runs", "Paper", or "" for the learning rate."""
    optima = {"s": own.share, "K": own.negatives}.get(setting, ())
    laws = own.batch if setting == "B" else own.allocation if setting in ("N", "D") else {}
    mine = metric in laws or any(one.metric == metric for one in optima)
    return "" if setting == "lr" else "Your runs" if mine else "Paper"


def _from(choice: Choice, owner: str) -> str:
    return f"{owner}: {source(choice)}" if owner and not choice.borrowed else source(choice)


def _no_value(choice: Choice) -> str:
    if choice.withheld:
        return "not stated"
    return MISSING if choice.place is None else "none"


def _missing(choice: Choice) -> str:
    """Return why a setting has no value, if the reason is short enough for the table; otherwise "".

    Values that the papers do not report are explained below the table.
    """
    withheld = [choice.note] if choice.withheld else []
    return "; ".join([*withheld, *choice.remarks])


def _place(choice: Choice) -> str:
    if choice.place is None:
        return ""
    if choice.place == "inside" and choice.value.beyond > 0.005:
        return f"the budget is {decades(choice.value.beyond)} beyond"
    return f"outside, {choice.place.split()[1]}" if choice.place.startswith("outside") else choice.place


def _cost(choice: Choice, other: Alternative) -> str:
    at = f"{100 * other.x:g} %" if choice.setting == "s" else number(other.x)
    amount = other.amount
    sure = f" ({between(amount, amount.ci68)})" if amount.ci68 else ""
    if amount.unit.startswith("times"):
        return whole(f"{at}: {of(amount)}{sure} {amount.unit}")
    return whole(f"{at}: {amount.unit} worse by {of(amount)}{sure}")


def _others(answer: Recommendation) -> None:
    """Show the recipes for the other metrics side by side, and a sentence on the setting that differs most."""
    head, *lines = side_by_side(answer)
    st.header("Under the other metrics", anchor=False)
    table = [dict(zip(("Setting", *head[1:]), map(whole, line), strict=True)) for line in lines]
    st.table(_plain(table), border="horizontal", hide_index=True, alt="The recipe of every metric, side by side.")
    st.caption(_changes(answer))


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


def _plain(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{escape_markdown(key): escape_markdown(cell) for key, cell in line.items()} for line in rows]


@dataclass(frozen=True, eq=False)
class Ours:
    """Results of runs that Isoplan trained on one log, for one metric: evidence, runs, recipe at the largest budget.

    ``log`` describes the training data in words.
    """

    log: str
    own: Built
    answer: Recommendation


def read_ours(metric: str) -> tuple[Ours, ...]:
    """Return the results of Isoplan's runs for ``metric``, one entry per log that has a table with this metric."""
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
    return Ours(log, Built(found, runs, references=references), recommend(found, budget, metric))


def compare(answer: Recommendation, ours: Sequence[Ours]) -> None:
    """Show one table per log, with one row per setting.

    A row compares the ``answer`` of the page with the result of Isoplan's runs on this log.
    """
    if not ours:
        return
    st.header("Compared with runs trained by Isoplan", anchor=False)
    page = f"This recipe, {power10(answer.budget)} FLOPs"
    for one in ours:
        mine = f"Our cells, {power10(one.answer.budget)} FLOPs"
        lines = [
            _line(
                page, mine, answer.recipe.choices[setting], one.answer.recipe.choices[setting], _lacking(one, setting)
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
        "Small runs trained by Isoplan, with other budgets and catalogues than the paper. A setting with the same "
        "value in all tables probably applies to your log. The other settings depend on the log and its scale."
    )


def _reasons(one: Ours) -> None:
    """Show the full texts of the column From, which the table shortens."""
    with st.expander("Evidence for each setting", icon=":material/info:"):
        for setting in SHOWN:
            choice = one.answer.recipe.choices[setting]
            said = _lacking(one, setting) or row(choice)["From"]
            st.markdown(f"- **{escape_markdown(LABELS[setting])}**: {escape_markdown(whole(said))}")


def _line(page: str, mine: str, theirs: Choice, own: Choice, missing: str) -> dict[str, str]:
    there, here = row(theirs), row(own)
    line = {"Setting": here["Setting"], page: there["Value"], mine: here["Value"] if not missing else "not known"}
    line |= {name: here[name] for name in ("68 %", "95 %", "Sweep")} | {"From": short(missing or here["From"])}
    return {escape_markdown(key): escape_markdown(whole(cell)) for key, cell in line.items()}


def _lacking(ours: Ours, setting: Setting) -> str:
    """Return why Isoplan's runs do not determine ``setting``; "" if they do."""
    return ours.own.evidence.missing.get("N" if setting == "D" else setting, "")
