"""Sweeps that support a recipe, one tab per setting: figure, quotation from the paper, and Isoplan's runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from isoplan.app.figures.plans import evidence as figures
from isoplan.app.figures.training import curve_points
from isoplan.app.views.recommending import evidence_form
from isoplan.app.views.recommending.recipe import Ours
from isoplan.app.views.widgets.parts import draw, escape_markdown, sentences, whole
from isoplan.data.recommender import batch_runs, minima
from isoplan.engine.fitting.estimators.isoflop import parabolas
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.drawing.curves import frontier_curve
from isoplan.engine.planning.drawing.sections import updates
from isoplan.engine.planning.recommender import Evidence, Recommendation
from isoplan.engine.planning.recommender.builder import Built, of_metric
from isoplan.engine.planning.recommender.choice import Setting
from isoplan.engine.planning.recommender.recipe import lender
from isoplan.engine.planning.recommender.references import HEAD
from isoplan.engine.schema import Runs
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables.runs import with_target

TABS: dict[Setting, str] = {"s": "Share", "B": "Batch", "N": "Model and events", "K": "Negatives"}
Part = Callable[[Evidence, Built, Recommendation, str], None]
"""Function that draws the figure of a setting.

The arguments are all evidence, the user's evidence, the recipe, and a prefix for the key of the figure, which
distinguishes the figures of different runs.
"""


def show(db: Database, evidence: Evidence, own: Built, answer: Recommendation | None, ours: Sequence[Ours]) -> None:
    """Show one tab per setting, with the figure of the page's evidence and one of each entry of ``ours``.

    Only the open tab is drawn.
    """
    st.header("Evidence", anchor=False)
    for tab, setting in zip(st.tabs(list(TABS.values()), key="sweep", bind="query-params"), TABS, strict=True):
        if tab.open:
            with tab:
                if answer is not None:
                    with sentences():
                        _picture(setting, evidence, own, answer)
                        _counted(own, setting, "your runs")
                        for one in ours:
                            if setting in one.own.runs or one.own.references.get(setting):
                                _beside(setting, one)
                evidence_form.choose(db, setting)


def _picture(setting: Setting, evidence: Evidence, own: Built, answer: Recommendation) -> None:
    choice = answer.recipe.choices[setting]
    if choice.value.value is None and choice.place is None:
        st.info(escape_markdown(choice.note), icon=":material/search:")
    DRAWN[setting](evidence, own, answer, "")
    if choice.quoted and setting not in own.runs:
        st.caption(escape_markdown(f"The paper: {choice.quoted}"))


def _beside(setting: Setting, ours: Ours) -> None:
    """Show the figure of ``setting`` for the runs that Isoplan trained on one log."""
    st.subheader(f"Runs trained by Isoplan on {ours.log}", anchor=False)
    DRAWN[setting](ours.own.evidence, ours.own, ours.answer, f"{ours.log} ")
    _counted(ours.own, setting, ours.log)


def _counted(own: Built, setting: Setting, name: str) -> None:
    """Show a table that compares the cells of a sweep with baselines, which rank items by counts without training."""
    if lines := own.references.get(setting):
        names = ("Cells", "Passes over the log", *HEAD[2:])
        shown = [{name: escape_markdown(whole(cell)) for name, cell in zip(names, line, strict=True)} for line in lines]
        st.table(shown, border="horizontal", hide_index=True, alt=f"Cells and baselines from item counts, {name}.")
        st.caption("Cells that are no better than item counts are excluded from laws (docs/behavior_laws.md).")


def _swept(evidence: Evidence, own: Built, answer: Recommendation, of: str, setting: Setting) -> None:
    optima = evidence.share if setting == "s" else evidence.negatives
    found = tuple(one for one in optima if one.metric == answer.served)
    if not found:
        return
    choice, cap = answer.recipe.choices[setting], answer.recipe.cap if setting == "K" else None
    mine = any(
        one.metric == answer.served for one in (own.evidence.share if setting == "s" else own.evidence.negatives)
    )
    runs = own.runs.get(setting) if mine else None
    draw(lambda theme: figures.draw_sweep(found, choice, answer.budget, cap, runs, theme), key=f"{of}sweep_{setting}")


def _batch(evidence: Evidence, own: Built, answer: Recommendation, of: str) -> None:
    found = evidence.batch.get(answer.served)
    if found is None:
        return
    counted, runs, y = updates(found), _behind(own, "B", found, answer.served), found.spec.y
    draw(lambda theme: curve_points.draw_batches(counted, runs, y, theme), key=f"{of}batch_law")


def _behind(own: Built, setting: Setting, fitted: Fit, metric: str) -> Runs | None:
    """Return the runs of a batch-size law: the user's runs if the law was fitted to them, otherwise those of the paper.

    Returns None if the user's law has no runs to draw.
    """
    if metric not in own.evidence.batch:
        return batch_runs(metric)
    runs = own.runs.get(setting)
    if runs is None or fitted.spec.y not in runs or fitted.data.curves:
        return None
    return of_metric(runs, metric)


def _frontier(evidence: Evidence, own: Built, answer: Recommendation, of: str) -> None:
    served = lender(evidence, answer.served)
    if not served or served not in answer.recipes:
        return
    if served != answer.served:
        st.caption(
            escape_markdown(
                f"The frontier of {served}. Its optimal model can differ from the optimal model of {answer.served}."
            )
        )
    fitted = evidence.allocation[served]
    path, choices = frontier_curve(fitted), answer.recipes[served].choices
    N, D = choices["N"].value.value, choices["D"].value.value
    chosen = None if N is None or D is None else (answer.budget, N, D)
    runs = own.runs.get("N")
    if runs is not None and fitted.spec.y in runs:
        runs = with_target(runs, fitted.spec.y)
    if served not in own.evidence.allocation:
        found = minima()
    else:
        made = parabolas(runs, fitted.spec) if runs is not None and fitted.law.estimator == "parabola" else ()
        found = tuple((p.C, p.N_star, p.D_star) for p in made if p.located)
    draw(lambda theme: figures.draw_frontier(path, chosen, served, found, theme), key=f"{of}allocation")


DRAWN: dict[Setting, Part] = {
    "s": partial(_swept, setting="s"),
    "B": _batch,
    "N": _frontier,
    "K": partial(_swept, setting="K"),
}
