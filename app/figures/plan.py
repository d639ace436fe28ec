"""The picture of a plan: the optimum on its iso-FLOP curve, or where a target crosses the frontier."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from app.figures import frontier, marks, one_axis
from app.figures.axes import extent, log_axis, padded, title, value_axis
from app.figures.drawing import Drawing
from app.figures.palette import ACCENT, PLAN
from app.figures.theme import WEB, Theme, blank
from engine.planning.curves import Curve, Picture
from engine.planning.plan import Flat, Plan
from engine.planning.quantity import Quantity
from engine.quantities import count, power10, power10_html
from engine.schema import Runs

HEIGHT = 420


def draw(
    plan: Plan, picture: Picture, runs: Runs | None = None, floor: Quantity | None = None, theme: Theme = WEB
) -> Drawing:
    """A budget: loss against N around the optimum. A target: the curve that reaches it, and its cost's interval."""
    if plan.question.kind == "budget" and picture.isoflop is not None:
        return _budget(theme, plan, picture.isoflop)
    if picture.axis is not None and picture.frontier is None:
        return _crossing(theme, plan, one_axis.draw(picture.axis, runs, plan.y, theme), picture.axis.axis)
    if picture.frontier is not None:
        return _crossing(theme, plan, frontier.draw(picture.frontier, runs, plan.y, floor, theme), "C")
    raise ValueError("a picture needs a frontier, an iso-FLOP curve or one axis")


def _budget(theme: Theme, plan: Plan, curve: Curve) -> Drawing:
    """Loss against N at the plan's compute, the optimum with its intervals, and how flat it is."""
    y, best = plan.y, (curve.N_best, curve.loss_best)
    values = _near(plan, curve)
    window = _window(plan, curve)
    figure = blank(
        theme, HEIGHT, "plan", xaxis=log_axis(theme, title("N"), *window), yaxis=value_axis(theme, y, *values)
    )
    text = [count(float(D), 3) for D in curve.D]
    hover = f"N  %{{x:.3~s}}<br>D  %{{text}}<br>{marks.literal(y)}  %{{y:.4~g}}<extra></extra>"
    figure.add_traces([
        *marks.bands(curve.N, curve.band, ACCENT),
        *marks.law(theme, curve.N, curve.loss, curve.inside, ACCENT, 2.4, text=text, hovertemplate=hover),
        _optimum(theme, plan, *best),
    ])  # fmt: skip
    _flat(figure, theme, plan.flat, window)
    compute = power10_html(curve.C, 3)
    figure.add_annotation(marks.note(theme, f"<i>C</i> = {compute} FLOPs", x=1, xanchor="right", y=1, yanchor="top",
                                     xshift=-6))  # fmt: skip
    return Drawing(figure, _alt_budget(plan, curve), _frame(curve), "plan")


def _window(plan: Plan, curve: Curve) -> tuple[float, float]:
    """The N around the optimum: the flat stretch and the 95 % interval with room, else the whole curve."""
    ends = [curve.N_best, *(plan.flat.N if plan.flat else ()), *(plan.allocation["N"].ci95 or ())]
    known = [e for e in ends if math.isfinite(e) and e > 0]
    low, high = padded(min(known), max(known), 0.45)
    return max(low, float(curve.N[0])), min(high, float(curve.N[-1]))


def _near(plan: Plan, curve: Curve) -> tuple[float, float]:
    """The losses that the window shows."""
    low, high = _window(plan, curve)
    seen = (curve.N >= low) & (curve.N <= high)
    b = curve.band
    ends = (b.low95, b.high95) if np.any(np.isfinite(b.low95[seen])) else (curve.loss, curve.loss)
    return extent(curve.loss[seen], *(e[seen] for e in ends), room=0.1)


def _optimum(theme: Theme, plan: Plan, N: float, loss: float) -> go.Scatter:
    """The optimum as a star with the 68 % intervals of N* and of the loss."""
    error: dict[str, Any] = {}
    for axis, value, q in (("x", N, plan.allocation["N"]), ("y", loss, plan.allocation["loss"])):
        if q.ci68 is not None and all(math.isfinite(e) for e in q.ci68):
            error[f"error_{axis}"] = {
                "type": "data", "symmetric": False, "array": [q.ci68[1] - value], "arrayminus": [value - q.ci68[0]],
                "color": PLAN, "thickness": theme.line(1.6), "width": 4,
            }  # fmt: skip
    D = plan.allocation["D"].value
    hover = f"<b>Plan</b><br>N*  {count(N, 3)}" + (f"<br>D*  {count(D, 3)}" if D is not None else "")
    return marks.plan_point(theme, N, loss, f"{hover}<br>{marks.literal(plan.y)}  {loss:.4g}").update(error)


def _flat(figure: go.Figure, theme: Theme, flat: Flat | None, window: tuple[float, float]) -> None:
    """The N within a percent of the best, as a tint with its meaning above it."""
    if flat is None:
        return
    low, high = max(flat.N[0], window[0]), min(flat.N[1], window[1])
    figure.add_shape(type="rect", x0=low, x1=high, y0=0, y1=1, yref="y domain", fillcolor=PLAN, opacity=0.10,
                     line={"width": 0}, layer="below")  # fmt: skip
    middle = (math.log10(low) + math.log10(high)) / 2
    figure.add_annotation(
        marks.note(
            theme, f"within {100 * flat.tolerance:g} % of the best", xref="x", x=middle, xanchor="center", xshift=0
        )
    )


def _crossing(theme: Theme, plan: Plan, drawn: Drawing, axis: str) -> Drawing:
    """The target as a horizontal line on ``drawn``, and the interval of what it costs as vertical tints."""
    figure, q = drawn.figure, plan.allocation[axis]
    ends = 10.0 ** np.asarray(figure.layout.xaxis.range, float)
    for interval, tint in ((q.ci95, marks.TINT95), (q.ci68, marks.TINT68)):
        if interval is not None and math.isfinite(interval[0]) and plan.question.kind == "target":
            low, high = (float(np.clip(end, *ends)) for end in interval)
            figure.add_shape(type="rect", x0=low, x1=high, y0=0, y1=1, yref="y domain", fillcolor=PLAN, opacity=tint,
                             line={"width": 0}, layer="below")  # fmt: skip
    loss = plan.allocation["loss"].value
    if plan.question.kind == "target" and loss is not None:
        figure.add_shape(type="line", x0=0, x1=1, xref="x domain", y0=loss, y1=loss,
                         line={"color": PLAN, "width": theme.line(1.6)})  # fmt: skip
    if q.value is not None and loss is not None:
        figure.add_trace(marks.plan_point(theme, q.value, loss, f"<b>Plan</b><br>{axis}  {power10(q.value)}"))
    place = {"x": 1, "xanchor": "right", "xshift": -6, "y": 0.9, "yanchor": "top", "align": "right"}
    figure.add_annotation(marks.note(theme, _words(plan, q, axis), **place))
    figure.update_layout(uirevision="plan", height=HEIGHT if theme.width is None else figure.layout.height)
    return Drawing(figure, f"{_alt_target(plan, q, axis)} {drawn.alt}", drawn.data, "plan")


def _words(plan: Plan, q: Quantity, axis: str) -> str:
    """The answer beside the crossing, with the probability that the target can be reached."""
    found = "not reachable" if q.value is None else f"<i>{axis}</i> = {power10_html(q.value)}"
    chance = "" if plan.p_reach is None else f"<br>reachable with probability {_percent(plan.p_reach)}"
    return found + chance


def _percent(share: float) -> str:
    return "above 99.9 %" if share > 0.999 else f"{100 * share:.3g} %"


def _frame(curve: Curve) -> pd.DataFrame:
    return pd.DataFrame({"C": curve.C, "N": curve.N, "D": curve.D, "value": curve.loss, "inside": curve.inside})


def _alt_budget(plan: Plan, curve: Curve) -> str:
    flat = ""
    if plan.flat is not None and math.isfinite(plan.flat.N[1]):
        low, high = (count(n) for n in plan.flat.N)
        flat = f" From N = {low} to {high} it stays within {100 * plan.flat.tolerance:g} %."
    return (
        f"{plan.y} against model size N at {power10(curve.C)} FLOPs: lowest at N = {count(curve.N_best)}, "
        f"where it is {curve.loss_best:.4g}.{flat}"
    )


def _alt_target(plan: Plan, q: Quantity, axis: str) -> str:
    loss = plan.allocation["loss"].value
    cost = "which the best fit does not reach" if q.value is None else f"reached at {axis} = {power10(q.value)}"
    chance = "" if plan.p_reach is None else f", with probability {_percent(plan.p_reach)}"
    return f"A {plan.y} of {loss:.4g}, {cost}{chance}."
