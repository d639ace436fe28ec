"""The figures of Explore, one at a time, redrawn by their sliders without running the rest of the page."""

from __future__ import annotations

import math

import streamlit as st

from app.figures import surface as surface_picture
from app.views.cached import curves, runs_behind
from app.views.parts import draw, sentences
from app.views.readouts import readouts
from app.views.sliders import compute_steps, slide, target_steps
from engine.fitting.result import Fit
from engine.planning import Plan, plan_budget, plan_target
from engine.planning.curves import UNKNOWN_C
from engine.quantities import power10
from engine.store.database import Database

ALONG = {"C": "A compute budget", "loss": "A target"}


@st.fragment
def pictures(db: Database, fit: Fit, fit_name: str) -> None:
    """The views that the law allows, with the sliders that move through them."""
    views = available(fit)
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    view = left.segmented_control(
        "View",
        list(views),
        default=next(iter(views)),
        format_func=views.__getitem__,
        required=True,
        key="view",
        bind="query-params",
    )
    with right:
        plan = None
        with sentences():
            plan = _highlight(fit)
    if plan is not None:
        readouts(plan)
    runs = runs_behind(db, fit)
    arrays = curves(str(view), fit_name, str(db.folder), fit)
    if view == "surface":
        draw(lambda theme: surface_picture.draw(arrays, runs, fit.spec.y, plan, theme), key="surface")


def available(fit: Fit) -> dict[str, str]:
    """The views by key, with their names."""
    two = set(fit.law.axes) == {"N", "D"}
    views = {"surface": "Loss surface", "isoflop": "Iso-FLOP curves"} if two else {}
    if fit.law.frontier is not None and not fit.law.axis:
        views["frontier"] = "Frontier"
    return views | ({"axis": f"Loss against {fit.law.axis}"} if fit.law.axis else {})


def _highlight(fit: Fit) -> Plan | None:
    """What the sliders point at: the best use of a budget, or the least compute for a target."""
    ways = {k: v for k, v in ALONG.items() if k == "loss" or fit.law.frontier is not None}
    along = next(iter(ways))
    if len(ways) > 1:
        along = st.segmented_control(
            "Point at",
            list(ways),
            default=along,
            format_func=ways.__getitem__,
            required=True,
            key="along",
            bind="query-params",
        )
    if along == "C":
        budgets = compute_steps(fit)
        top = fit.data.ranges.get("C", UNKNOWN_C)[1]
        start = min(budgets, key=lambda C: abs(math.log(C / top)))
        C = slide("Compute budget C [FLOPs]", budgets, start, "C", lambda C: power10(C, 2))
        return plan_budget(fit, C)
    targets = target_steps(fit)
    return plan_target(fit, slide(f"Target {fit.spec.y}", targets, targets[len(targets) // 4], "target", _text))


def _text(value: float) -> str:
    return f"{value:g}"
