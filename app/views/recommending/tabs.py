"""Tabs below a recipe: evidence of each setting, costs of other choices, all metrics, Isoplan's runs and details."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from isoplan.app.views.recommending import choices, comparison, evidence_form, narrowing, regimes, sweeps
from isoplan.app.views.widgets.parts import Hint, escape_markdown, powers, readable, sentences, show_hints
from isoplan.engine.planning.recommender import Evidence, Recommendation
from isoplan.engine.planning.recommender.builder import Built
from isoplan.engine.planning.recommender.cards import Cards
from isoplan.engine.planning.recommender.choice import LABELS, SETTINGS, Choice, Setting
from isoplan.engine.planning.recommender.joint import join_metrics
from isoplan.engine.planning.recommender.text import binding, source
from isoplan.engine.store.database.database import Database

SWEEPS: dict[str, Setting] = {"Share": "s", "Batch": "B", "Model and events": "N", "Negatives": "K"}
COSTS, METRICS, TRAINED, AGREEMENT, DETAILS = "Costs", "All metrics", "Isoplan's runs", "Metric agreement", "Details"


def show(
    db: Database,
    evidence: Evidence,
    own: Built,
    answer: Recommendation | None,
    cards: Cards | None,
    metrics: Sequence[str],
) -> None:
    """Show the tabs; only the open tab is drawn. ``answer`` and its ``cards`` are None while no recipe exists."""
    names = [*SWEEPS, COSTS, METRICS, TRAINED, AGREEMENT, DETAILS]
    for tab, name in zip(st.tabs(names, key="sweep", bind="query-params"), names, strict=True):
        if not tab.open:
            continue
        with tab, sentences():
            if name == AGREEMENT:
                regimes.show(db)
            elif name in SWEEPS:
                if answer is not None:
                    with st.container(horizontal=True, gap="medium"):
                        one = _of_metric(answer, metrics, name)
                        runs = sweeps.choose_runs(SWEEPS[name])
                    sweeps.show(SWEEPS[name], evidence, own, one, runs)
                    if runs == sweeps.RECIPE:
                        narrowing.show_button(db, SWEEPS[name], own.evidence, one)
                with st.expander(f"Other runs for {evidence_form.called(SWEEPS[name])}", icon=":material/swap_horiz:"):
                    evidence_form.choose(db, SWEEPS[name])
            elif answer is None or cards is None:
                st.info("Enter a budget to see a recipe.", icon=":material/info:")
            elif name == COSTS:
                choices.show_costs([answer.recipes[metric] for metric in metrics])
            elif name == METRICS:
                choices.show_joint(join_metrics(cards))
                comparison.show_metrics(answer)
            elif name == TRAINED:
                comparison.compare(_of_metric(answer, metrics, name))
            else:
                _show_details(_of_metric(answer, metrics, name))


def _of_metric(answer: Recommendation, metrics: Sequence[str], tab: str) -> Recommendation:
    """Return ``answer`` for one serving metric. If there are several metrics, the user selects one."""
    if len(metrics) < 2:
        return answer
    metric = st.segmented_control("Metric of this tab", metrics, default=metrics[0], required=True, key=f"of_{tab}")
    return replace(answer, served=metric if metric in metrics else metrics[0])


def _show_details(answer: Recommendation) -> None:
    """Show the value, the intervals and the source of each setting, and the limit of K (extra negatives)."""
    recipe = answer.recipe
    rows = [
        {
            "Setting": Hint(LABELS[setting]),
            "Value": comparison.value(choice),
            "68 %": comparison.interval(choice),
            "95 %": comparison.interval(choice, 95),
        }
        for setting in SETTINGS
        for choice in (recipe.choices[setting],)
    ]
    show_hints(rows, "The recipe in numbers.")
    for setting in SETTINGS:
        choice = recipe.choices[setting]
        st.markdown(f"- **{escape_markdown(LABELS[setting])}**: {powers(readable(_source(choice)))}")
    said = [binding(recipe), recipe.step.sentence if recipe.step else ""]
    if any(said):
        st.caption(escape_markdown(" ".join(text for text in said if text)))


def _source(choice: Choice) -> str:
    """Return the source of a value (or why the value is missing), then the statement of the paper on the setting."""
    text = source(choice) or choice.value.note
    return f"{text}. The paper: {choice.quoted}" if choice.quoted else text
