"""Figures of the page Explore, shown one at a time. A moved slider redraws the figure without a rerun of the page."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from isoplan.app.figures.fits import frontier, isoflop, slices, surface
from isoplan.app.figures.plans import plan as plan_figure
from isoplan.app.figures.style.theme import Drawing, Theme
from isoplan.app.figures.training import curve_points
from isoplan.app.views.planning.opening import best_fit, offer_fit
from isoplan.app.views.widgets.cache import curves, envelope_of, parabolas_of, runs_behind
from isoplan.app.views.widgets.inputs import compute_steps, slide, target_steps
from isoplan.app.views.widgets.parts import draw, escape_markdown, sentences
from isoplan.app.views.widgets.state import choose_fit, keep_possible, newest_fit, recall
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer.format import between, decades, number
from isoplan.engine.planning.drawing.curves import isoflop_curves
from isoplan.engine.planning.drawing.picture import Picture
from isoplan.engine.planning.drawing.sections import updates
from isoplan.engine.planning.plan.answer import Plan, reach_text
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.feasibility import floor_of
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.quantities import power10
from isoplan.engine.schema import Runs
from isoplan.engine.store.database.database import Database

TITLES = {"C": "C", "N": "N*", "D": "D*", "loss": "L*", "D/N": "D* / N*"}
WORDS = {"C": "Compute C", "N": "Best size N*", "D": "Best data D*", "loss": "L*"}
"""Names of the numbers that are shown above the figure, by symbol."""


def readouts(plan: Plan) -> None:
    """Show the numbers of ``plan`` with their 68 % intervals, and how many decades they lie beyond the runs.

    If the runs do not support the plan, the sentence of the plan is shown instead of numbers.
    """
    if not plan.answers:
        st.info(escape_markdown(plan.sentence), icon=":material/block:")
        return
    shown = {**plan.allocation, **plan.derived}
    grid = st.grid(4, min_column_width=140)
    for name, title in TITLES.items():
        q = shown.get(name)
        if q is None or q.value is None or q.note == "given":
            continue
        unit = escape_markdown(plan.y if name == "loss" else "" if name == "D/N" else q.unit)
        spread = between(q, q.ci68) if q.ci68 else None
        words = f"{WORDS[name]} [{unit}]" if unit else title
        grid.metric(words, number(q), spread, delta_color="off", delta_arrow="off")
    st.caption(_small_print(plan))


def _small_print(plan: Plan) -> str:
    """Return the caption below the numbers: intervals, distance from the runs, and whether a target can be reached."""
    has_intervals = any(q.ci68 for q in plan.allocation.values())
    missing = next((q.note for q in plan.allocation.values() if q.note.startswith("no interval")), "no interval")
    parts = ["The 68 % interval is shown under each number" if has_intervals else missing.capitalize()]
    far = [f"{TITLES[n]} {decades(q.beyond)}" for n, q in plan.allocation.items() if q.beyond >= 0.05]
    parts += [f"beyond the runs: {', '.join(far)}"] if far else []
    return escape_markdown(f"{'; '.join(parts)}. {reach_text(plan)}".strip())


# Options of widgets are readable words, because Streamlit writes the selected options into the page URL.


@st.fragment
def pictures(db: Database) -> None:
    """Show the selection of a fit and of a view (a type of figure), and the selected view with its sliders."""
    bar = st.container(horizontal=True, vertical_alignment="bottom", key="explore_bar")
    fit = None
    with bar, sentences():
        fit = choose_fit(db, start=_usual(db))
    if fit is not None:
        _show(db, fit, bar)
    else:
        offer_fit(db)


def _usual(db: Database) -> str | None:
    """Return the hash of the initial fit of Explore; None if the open table has no fit.

    The result is the initial fit of the page Plan. If the open table has no fit for plans, the result is its newest
    fit, which can be a map between two measured quantities.
    """
    usual = best_fit(db)
    return newest_fit(db, recall("table")) or None if usual is None else usual


def _show(db: Database, fit: Fit, bar: DeltaGenerator) -> None:
    views = available(fit)
    if not views:
        st.info(
            f"This law has the axes {escape_markdown(' and '.join(fit.law.axes))}. Explore shows laws over N and D, or "
            'over one column. On the Fit page, the tab "Runs and law" shows this law over each of its axes.',
            icon=":material/info:",
        )
        return
    keep_possible("figure", views)
    view = bar.segmented_control(
        "View",
        views,
        default=views[0],
        required=True,
        key="figure",
        bind="query-params",
    )
    plan = None
    with sentences():
        plan = _highlight(fit, bar)
    if plan is not None:
        readouts(plan)
    with sentences():
        runs = runs_behind(db, fit)
        redraw = DRAWN[str(view)](fit, runs, plan, str(db.folder))
        draw(redraw, key=f"picture_{view}")


def available(fit: Fit) -> list[str]:
    """Return the names of the views (types of figures) that the law of ``fit`` allows. The first is the default."""
    if fit.law.axis:
        return ["Axis"]
    if set(fit.law.axes) == {"N", "D"}:
        return ["Surface", "Iso-FLOP", "Frontier"]
    isoflop = ["Iso-FLOP"] if fit.law.estimator == "parabola" else []
    return [*isoflop, *(["Frontier"] if fit.law.frontier is not None else [])]


def _highlight(fit: Fit, bar: DeltaGenerator) -> Plan | None:
    """Show the sliders and return the plan at their position; None if the law does not support plans.

    The plan is the optimum for a compute budget, or the least compute that reaches a target.
    """
    if fit.law.least_compute is None:
        return None
    ways = ["Budget", "Target"] if fit.law.frontier is not None else ["Target"]
    along = ways[0]
    if len(ways) > 1:
        along = bar.segmented_control(
            "Optimum for",
            ways,
            default=along,
            required=True,
            key="at",
            bind="query-params",
        )
    if along == "Budget":
        budgets, start = compute_steps(fit)
        return plan_budget(fit, slide("Compute budget C [FLOPs]", budgets, start, "C", lambda C: power10(C, 2))).shown
    targets = target_steps(fit)
    target = slide(f"Target {escape_markdown(fit.spec.y)}", targets, targets[len(targets) // 4], "target", _text)
    return plan_target(fit, target).shown


def _text(value: float) -> str:
    return f"{value:g}"


Redraw = Callable[[Theme], Drawing]


def _surface(fit: Fit, runs: Runs | None, plan: Plan | None, folder: str) -> Redraw:
    arrays = curves("surface", fit.hash, folder, fit)
    return lambda theme: surface.draw(arrays, runs, fit.spec.y, plan, theme)


def _isoflop(fit: Fit, runs: Runs | None, plan: Plan | None, folder: str) -> Redraw:
    path = curves("frontier", fit.hash, folder, fit)
    if fit.law.estimator == "parabola":
        fitted = parabolas_of(fit, runs) if runs is not None else ()
        return lambda theme: isoflop.draw((), runs, fit.spec.y, path, fitted, theme)
    arrays = curves("isoflop", fit.hash, folder, fit)
    if plan is not None and plan.allocation["C"].value is not None:
        arrays = (*arrays, *isoflop_curves(fit, (plan.allocation["C"].value,)))
    return lambda theme: isoflop.draw(arrays, runs, fit.spec.y, path, theme=theme)


def _frontier(fit: Fit, runs: Runs | None, plan: Plan | None, folder: str) -> Redraw:
    path = curves("frontier", fit.hash, folder, fit)
    if fit.law.estimator == "envelope" and runs is not None:
        runs = envelope_of(fit, runs).runs(fit.spec.y)
    if plan is None:
        return lambda theme: frontier.draw(path, runs, fit.spec.y, floor_of(fit), theme)
    return lambda theme: plan_figure.draw(plan, Picture(path, None, None), runs, floor_of(fit), theme)


def _axis(fit: Fit, runs: Runs | None, plan: Plan | None, folder: str) -> Redraw:
    if fit.law.name == "critical-batch" and fit.law.axis in fit.data.ranges:
        counted = updates(fit)
        return lambda theme: curve_points.draw_batches(counted, runs, fit.spec.y, theme)
    curve = curves("axis", fit.hash, folder, fit)
    if plan is None:
        return lambda theme: slices.draw_line(curve, runs, fit.spec.y, theme)
    return lambda theme: plan_figure.draw(plan, Picture(None, None, curve), runs, None, theme)


DRAWN = {"Surface": _surface, "Iso-FLOP": _isoflop, "Frontier": _frontier, "Axis": _axis}
