"""Figure of a plan: the optimum on its iso-FLOP curve, or the point at which a law reaches a target."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from isoplan.app.figures.fits import frontier
from isoplan.app.figures.marks import along, dots, keys, lines
from isoplan.app.figures.marks.along import Along
from isoplan.app.figures.style.axes import extent, literal, log_axis, padded, tick_text, title, value_axis
from isoplan.app.figures.style.palette import ACCENT, GREY, PLAN
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose
from isoplan.engine.planning.answer.format import probability
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.drawing.curves import Curve
from isoplan.engine.planning.drawing.picture import Picture
from isoplan.engine.planning.optimum.constrained import FeasibleRegion
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.parts import Flat
from isoplan.engine.quantities import count, power10
from isoplan.engine.schema import Runs

HEIGHT = 420
FORBIDDEN = 0.3
"""Opacity of the grey over the region that limits exclude."""
FREE = "N  %{x:.3~s}<extra>without limits</extra>"


def draw(
    plan: Plan, picture: Picture, runs: Runs | None = None, floor: Quantity | None = None, theme: Theme = WEB
) -> Drawing:
    """Draw a plan.

    For a budget, the figure shows the loss over N around the optimum. For a target, it shows the law that reaches the
    target, with the interval of the cost. ``floor`` is the floor of the law.
    """
    if plan.question.kind == "budget" and picture.isoflop is not None:
        return _budget(theme, plan, picture, picture.isoflop)
    path = picture.frontier
    if path is not None:
        law = along.of_frontier(path, runs, plan.y, floor)
        drawn = _crossing(theme, plan, law, theme.text, dots.faint(theme), picture.room)
        return Drawing(drawn.figure, drawn.alt, "plan", lambda: frontier.table(path))
    if picture.axis is not None:
        return _crossing(theme, plan, along.of_axis(picture.axis, runs, plan.y), ACCENT, dots.filled(theme))
    raise ValueError("a picture needs a frontier, an iso-FLOP curve or one axis")


def _budget(theme: Theme, plan: Plan, picture: Picture, curve: Curve) -> Drawing:
    """Draw the loss over N at the compute of the plan: optimum with intervals, flat range around it, and limits."""
    free = picture.free if picture.room is not None else None
    window = _window(plan, curve, free or curve)
    seen = (curve.N >= window[0]) & (curve.N <= window[1])
    ends = (curve.band.low95[seen], curve.band.high95[seen])
    values = extent(curve.loss[seen], *ends, np.array([curve.loss_best]), room=0.1)
    text = [count(float(D), 3) for D in curve.D]
    hover = f"N  %{{x:.3~s}}<br>D  %{{text}}<br>{literal(plan.y)}  %{{y:.4~g}}<extra>law</extra>"
    traces = [
        *lines.bands(curve.N, curve.band, ACCENT, values),
        *lines.law(theme, curve.N, curve.loss, curve.inside, ACCENT, 2.4, text=text, hovertemplate=hover),
        _optimum(theme, plan, curve),
        keys.line(theme, "law at this budget", ACCENT),
        *keys.intervals(theme, ACCENT, keys.is_known(curve.band)),
        *([] if curve.inside.all() else [keys.beyond(theme, ACCENT, shade=False)]),
        keys.star(theme, keys.BEST),
    ]
    shapes, notes = _flat(theme, plan.flat, window)
    if free is not None:
        traces = [*_free(theme, free, curve, window), *traces]
    if picture.room is not None and window[0] < picture.room.N < window[1]:
        shade, note = _no_go(theme, (float(picture.room.N), window[1]), "larger than allowed", 1)
        shapes, notes = [*shapes, *shade], [*notes, *note]
    compute = lines.corner(theme, f"<i>C</i> = {tick_text(curve.C)} FLOPs")
    figure = compose(
        theme, HEIGHT, "plan", traces, shapes, [*notes, compute],
        xaxis=log_axis(theme, title("N"), *window), yaxis=value_axis(theme, plan.y, *values),
    )  # fmt: skip
    return Drawing(figure, _alt_budget(plan, curve), "plan", lambda: _table(curve))


def _no_go(
    theme: Theme, span: tuple[float, float], words: str, line: int, top: bool = True
) -> tuple[list[Part], list[Part]]:
    """Return grey over the region ``span`` that a limit excludes, a line at the limit, and the note ``words``."""
    note = lines.corner(theme, words, line, top)
    return [lines.upright(*span, GREY, FORBIDDEN), lines.upright_line(theme, span[0], GREY)], [note]


def _free(theme: Theme, free: Curve, curve: Curve, window: tuple[float, float]) -> list[Part]:
    """Return the iso-FLOP curve without limits as a dotted line, with a label.

    The label is at one of the two ends of the line: the end with the larger distance from the curve with limits.
    """
    margin = (window[1] / window[0]) ** 0.02
    ends = np.searchsorted(free.N, [window[0] * margin, window[1] / margin]) - np.array([0, 1])
    apart = np.abs(np.interp(free.N[ends], curve.N, curve.loss, right=np.inf) - free.loss[ends])
    right = bool(apart[1] > apart[0])
    at = ends[int(right)]
    word = (float(free.N[at]), float(free.loss[at]), "without limits")
    falls = free.loss[at - 1 if right else at + 1] < free.loss[at]  # if True, the label is above the line
    name = lines.labels(theme, [word], f"{'top' if falls else 'bottom'} {'left' if right else 'right'}")
    return [lines.line(theme, free.N, free.loss, GREY, 1.6, "dot", hovertemplate=FREE), name]


def _window(plan: Plan, curve: Curve, drawn: Curve) -> tuple[float, float]:
    """Return the range of N that is drawn: around the optimum of ``curve``, and not beyond the curve ``drawn``.

    It contains the flat range and the 95 % interval of N*, with a margin.
    """
    ends = [curve.N_best, *(plan.flat.N if plan.flat else ()), *(plan.allocation["N"].ci95 or ())]
    known = [e for e in ends if math.isfinite(e) and e > 0]
    low, high = padded(min(known), max(known), 0.45)
    return max(low, float(drawn.N[0])), min(high, float(drawn.N[-1]))


def _optimum(theme: Theme, plan: Plan, curve: Curve) -> Part:
    """Return the optimum as a star, with the 68 % intervals of N* and of the loss as error bars."""
    at = {"N": ("error_x", curve.N_best), "loss": ("error_y", curve.loss_best)}
    errors = {key: _error(theme, value, plan.allocation[name]) for name, (key, value) in at.items()}
    hover = f"<b>Plan</b><br>N*  {count(curve.N_best, 3)}<br>D*  {count(curve.D_best, 3)}"
    hover += f"<br>{literal(plan.y)}  {curve.loss_best:.4g}"
    return lines.star(theme, curve.N_best, curve.loss_best, hover, **{k: e for k, e in errors.items() if e})


def _error(theme: Theme, value: float, q: Quantity) -> Part:
    if q.ci68 is None or not all(math.isfinite(end) for end in q.ci68):
        return {}
    low, high = q.ci68
    bar = {"type": "data", "symmetric": False, "array": [high - value], "arrayminus": [value - low]}
    return bar | {"color": PLAN, "thickness": theme.line(1.6), "width": 4}


def _flat(theme: Theme, flat: Flat | None, window: tuple[float, float]) -> tuple[list[Part], list[Part]]:
    """Return the range of N in which the loss is nearly optimal, as a tint with a label.

    An example of the label is ``within 1 % of the best``.
    """
    if flat is None:
        return [], []
    low, high = max(flat.N[0], window[0]), min(flat.N[1], window[1])
    middle = (math.log10(low) + math.log10(high)) / 2
    text = f"within {100 * flat.tolerance:g} % of the best"
    words = lines.note(theme, text, xref="x", x=middle, xanchor="center", xshift=0)
    return [lines.upright(low, high, PLAN, 0.1)], [words]


def _crossing(
    theme: Theme, plan: Plan, law: Along, colour: str, marker: Part, room: FeasibleRegion | None = None
) -> Drawing:
    """Draw the answer of a plan as a star on the line of its law.

    For a target, a horizontal line shows the target, and vertical tints show the intervals of the cost.
    """
    q, loss = plan.allocation[law.axis], plan.allocation["loss"].value
    p = along.parts(theme, law, colour, marker, *([loss] if loss is not None else []))
    traces, shapes, notes = list(p.traces), list(p.shapes), list(p.notes)
    if plan.question.kind == "target":
        shapes += _cost(q, law)
        notes.append(_answer(theme, plan, q, law))
        if loss is not None:
            shapes.append(lines.level(theme, loss, PLAN))
            notes.append(lines.level_note(theme, _target(plan, loss), loss, p.values[0] > 0))
    ends = float(law.x[0]), float(law.x[-1])
    if room is not None and ends[0] < room.C < ends[1]:
        shade, note = _no_go(theme, (float(room.C), ends[1]), "more compute than allowed", 3, law.falls)
        shapes, notes = [*shapes, *shade], [*notes, *note]
    if q.value is not None and loss is not None:
        hover = f"<b>Plan</b><br>{law.axis}  {power10(q.value)}<br>{literal(plan.y)}  {loss:.4g}"
        traces += [lines.star(theme, q.value, loss, hover), keys.star(theme)]
    figure = compose(theme, HEIGHT, "plan", traces, shapes, notes, clickmode="event+select", **p.axes)
    return Drawing(figure, f"{_alt_answer(plan, q, law.axis)} {along.alt(law)}", "plan", lambda: along.table(law))


def _target(plan: Plan, loss: float) -> str:
    """Return the label of a target. For a target metric, it includes the loss that the law must reach."""
    asked = plan.question
    if not asked.metric:
        return f"target {tick_text(asked.value)}"
    return f"target {literal(asked.metric)} {tick_text(asked.value)}, {literal(plan.y)} {tick_text(loss)}"


def _cost(q: Quantity, law: Along) -> list[Part]:
    """Return vertical tints over the 95 % and 68 % intervals of the cost, limited to the range of the plot."""
    pairs = ((q.ci95, lines.TINT95), (q.ci68, lines.TINT68))
    known = [(ends, tint) for ends, tint in pairs if ends is not None and ends[0] <= law.x[-1]]
    return [lines.upright(*lines.cut(ends, law.x[0], law.x[-1]), PLAN, tint) for ends, tint in known]


def _answer(theme: Theme, plan: Plan, q: Quantity, law: Along) -> Part:
    """Return a note with the cost of a target and the probability that the target can be reached.

    The note is in the second line of the corner, below the note about the runs.
    """
    missing = "too far beyond the runs" if not plan.answers and not plan.fails else "not reached by the best fit"
    found = missing if q.value is None else f"<i>{law.axis}</i> = {tick_text(q.value)} {q.unit}"
    chance = f"<br>{said}" if (said := _chance(plan)) else ""
    return lines.corner(theme, found + chance, 1, law.falls)


def _chance(plan: Plan) -> str:
    """Return a text with the probability that the target can be reached; "" if it is not known."""
    if plan.p_reach is not None:
        return f"reachable with probability {probability(plan.p_reach)} if the law holds"
    return "reachability not determined" if plan.reach and plan.reach.verdict == "not determined" else ""


def _table(curve: Curve) -> pd.DataFrame:
    bands = {name: getattr(curve.band, name) for name in ("low68", "high68", "low95", "high95")}
    columns = {"C": curve.C, "N": curve.N, "D": curve.D, "value": curve.loss, "inside": curve.inside}
    return pd.DataFrame(columns | bands)


def _alt_budget(plan: Plan, curve: Curve) -> str:
    flat = ""
    if plan.flat is not None and plan.flat.N[0] > 0 and math.isfinite(plan.flat.N[1]):
        low, high = (count(n) for n in plan.flat.N)
        flat = f" From N = {low} to {high}, {plan.y} is within {100 * plan.flat.tolerance:g} % of the best."
    return (
        f"{plan.y} against model size N at {power10(curve.C)} FLOPs: the best is {curve.loss_best:.4g} "
        f"at N = {count(curve.N_best)}.{flat}"
    )


def _alt_answer(plan: Plan, q: Quantity, axis: str) -> str:
    loss = plan.allocation["loss"].value
    asked = f"{plan.y} {loss:.4g}" if loss is not None else plan.y
    if not plan.answers:
        return "The plan lies too far beyond the runs to be an answer."
    if plan.question.kind == "budget":
        return f"The plan: {asked} at {axis} = {power10(plan.question.value if q.value is None else q.value)}."
    cost = "is not reached by the best fit" if q.value is None else f"is reached at {axis} = {power10(q.value)}"
    chance = f"; {said}" if (said := _chance(plan)) else ""
    return f"The target {asked} {cost}{chance}."
