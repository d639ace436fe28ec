"""Figures of the evidence for a recipe, with quotations from the paper.

The user can select Isoplan's runs instead of the evidence for the recipe.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from isoplan.app.figures.plans import evidence as figures
from isoplan.app.figures.training import curve_points
from isoplan.app.views.recommending.comparison import read_ours
from isoplan.app.views.widgets.parts import draw, escape_markdown, whole
from isoplan.data import trained
from isoplan.data.recommender import batch_runs, minima
from isoplan.engine.fitting.estimators.isoflop import parabolas
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.drawing.curves import frontier_curve
from isoplan.engine.planning.drawing.sections import updates
from isoplan.engine.planning.recommender import Evidence, Recommendation
from isoplan.engine.planning.recommender.builder import Built, of_metric
from isoplan.engine.planning.recommender.choice import Setting
from isoplan.engine.planning.recommender.recipe import lender, swept_lender
from isoplan.engine.planning.recommender.references import HEAD
from isoplan.engine.schema import Runs
from isoplan.engine.store.tables.runs import with_target

Part = Callable[[Evidence, Built, Recommendation, str], None]
"""Function that draws the figure of a setting.

The arguments are the complete evidence, the user's evidence, the recipe, and a prefix for the key of the figure. The
prefix distinguishes the figures of different runs.
"""


RECIPE = "This recipe"
"""Option that shows the evidence of the recipe instead of the evidence from Isoplan's runs."""


def choose_runs(setting: Setting) -> str:
    """Show the selection of the runs in a figure; return ``RECIPE`` or the name of a log on which Isoplan trained."""
    options = [RECIPE, *(log for log in trained.LOGS if trained.rows(trained.LOGS[log], trained.SWEEPS[setting]))]
    if len(options) == 1:
        return RECIPE
    return st.segmented_control(
        "Runs in the figure", options, default=RECIPE, required=True, key=f"runs_of_{setting}",
        format_func=lambda option: option if option == RECIPE else f"Runs trained by Isoplan on {option}",
    ) or RECIPE  # fmt: skip


def show(setting: Setting, evidence: Evidence, own: Built, answer: Recommendation, chosen: str) -> None:
    """Show the figure of the evidence for ``setting``.

    If ``chosen`` is ``RECIPE``, the figure shows the evidence for the recipe. Otherwise, the figure shows Isoplan's
    runs on the log ``chosen``.
    """
    if chosen == RECIPE:
        _draw_recipe(setting, evidence, own, answer)
        _counted(own, setting, "your runs")
        return
    ours = read_ours(chosen, answer.served)
    if ours is None or (setting not in ours.own.runs and not ours.own.references.get(setting)):
        missing = ours.missing(setting) if ours is not None else f"No run on {chosen} measures {answer.served}."
        st.info(escape_markdown(missing), icon=":material/search:")
        return
    DRAWN[setting](ours.own.evidence, ours.own, ours.answer, f"{ours.log} ")
    _counted(ours.own, setting, ours.log)


def _draw_recipe(setting: Setting, evidence: Evidence, own: Built, answer: Recommendation) -> None:
    choice = answer.recipe.choices[setting]
    if choice.value.value is None and choice.place is None:
        st.info(escape_markdown(choice.note), icon=":material/search:")
    DRAWN[setting](evidence, own, answer, "")
    if choice.quoted and setting not in own.runs:
        st.caption(escape_markdown(f"The paper: {choice.quoted}"))


def _counted(own: Built, setting: Setting, name: str) -> None:
    """Show a table that compares the training runs of a sweep with baselines that rank items by their counts."""
    if lines := own.references.get(setting):
        names = ("Cells", "Passes over the log", *HEAD[2:])
        shown = [{name: escape_markdown(whole(cell)) for name, cell in zip(names, line, strict=True)} for line in lines]
        st.table(shown, border="horizontal", hide_index=True, alt=f"Cells and baselines from item counts, {name}.")
        st.caption("Cells that are no better than these baselines are excluded from laws (docs/behavior_laws.md).")


def _swept(evidence: Evidence, own: Built, answer: Recommendation, of: str, setting: Setting) -> None:
    measured = swept_lender(evidence, setting, answer.served)
    optima = evidence.share if setting == "s" else evidence.negatives
    mine = own.evidence.share if setting == "s" else own.evidence.negatives
    drawn = tuple(one for one in mine if one.metric == measured)
    found = drawn or tuple(one for one in optima if one.metric == measured)
    if not found:
        return
    choice, cap = answer.recipe.choices[setting], answer.recipe.cap if setting == "K" else None
    runs = own.runs.get(setting) if drawn else None
    draw(lambda theme: figures.draw_sweep(found, choice, answer.budget, cap, runs, theme), key=f"{of}sweep_{setting}")


def _batch(evidence: Evidence, own: Built, answer: Recommendation, of: str) -> None:
    measured = swept_lender(evidence, "B", answer.served)
    found = evidence.batch.get(measured)
    if found is None:
        return
    counted, runs, y = updates(found), _behind(own, "B", found, measured), found.spec.y
    draw(lambda theme: curve_points.draw_batches(counted, runs, y, theme), key=f"{of}batch_law")


def _behind(own: Built, setting: Setting, fitted: Fit, metric: str) -> Runs | None:
    """Return the runs of a batch-size law: the runs of the paper, or the user's runs if the law was fitted to them.

    Returns None if the law was fitted to the user's runs but these runs cannot be drawn.
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
