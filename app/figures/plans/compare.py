"""Figure that compares saved plans, one row per plan: its cost by part, and its compute with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import lines as marks
from isoplan.app.figures.style.axes import axis, literal, log_axis
from isoplan.app.figures.style.palette import ACCENT, PARTS
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose
from isoplan.engine.arrays import Floats
from isoplan.engine.planning.answer.format import MILLION, between, number
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.compare import Comparison, Side
from isoplan.engine.quantities import power10

ROW = 46
ABOVE, BELOW = 44, 60
LONGEST, SHORTEST = 30, 16
"""Maximum number of characters of a plan's name next to its row: in a normal figure, and in a crowded one."""
CROWDED = 1.3
"""Value of ``Theme.crowding`` above which the figure is crowded: the two panels are then stacked."""
ROOM, ROOM_SHORT = 0.85, 1.7
"""Space on the cost axis for the numbers at the ends of the bars.

In a normal figure, ``ROOM`` is the length of this space relative to the longest bar. In a crowded figure,
``ROOM_SHORT`` is the length of the whole axis relative to the longest bar.
"""
STRETCH = 2.0
"""Maximum length of a drawn interval, relative to the cost of the most expensive plan. Without this maximum, a very
wide interval would compress the bars.
"""
SPLIT, GAP = 0.58, 0.06
BAR = 0.5
Ends = tuple[float, float]


def draw(found: Comparison, theme: Theme = WEB) -> Drawing:
    """Draw costs as stacked bars with the 68 % interval of the total, and the compute C with its intervals.

    If no plan has prices, only C is drawn.
    """
    sides, crowded = found.sides, theme.crowding > CROWDED
    names = [_short(side.name, SHORTEST if crowded else LONGEST) for side in sides]
    money = [side.money for side in sides]
    priced = any(money)
    rows = {"range": [len(sides) - 0.5, -0.5], "tickvals": list(range(len(sides))), "ticktext": names, "ticks": "",
            "showgrid": False, "ticklabelstandoff": 6}  # fmt: skip
    left, right = _places(priced, crowded)
    layout: dict[str, Any] = {
        "yaxis2": axis(theme, "") | rows | {"anchor": "x2", "domain": right[1]},
        "xaxis2": _compute_axis(theme, sides) | {"anchor": "y2", "domain": right[0]},
    }
    traces, notes = _compute(theme, sides), []
    if priced:
        longest = _longest(money)
        traces += _bars(theme, sides, longest, crowded)
        unit = next(q.unit for bill in money for q in bill.values())
        top = (ROOM_SHORT if crowded else 1 + ROOM * max(theme.crowding, 1.0)) * longest
        layout["xaxis"] = axis(
            theme,
            f"Cost [{unit}]",
            range=[0, top],
            domain=left[0],
            nticks=6,
            **({"exponentformat": "B"} if top >= MILLION else {"tickformat": ",~g"}),  # labels such as 2M, 2B or 20,000
        )
        layout["yaxis"] = axis(theme, "") | rows | {"domain": left[1]}
        layout["yaxis2"] |= {"showticklabels": crowded}
        layout["barmode"] = "stack"
        used = [(part, colour) for part, colour in PARTS.items() if any(part in bill for bill in money)]
        notes = [marks.note(theme, marks.keyed(*used), y=1, yshift=4, xshift=0)] if len(used) > 1 else []
    height = ABOVE + BELOW + ROW * len(sides)
    height = 2 * height + BELOW if priced and crowded else height
    margin = {"l": 60 if crowded else 110, "t": 34}
    figure = compose(theme, height, "compare", traces, notes=notes, margin=margin, **layout)
    return Drawing(figure, _alt(found), "plans", lambda: _table(found))


def _places(priced: bool, crowded: bool) -> tuple[tuple[Ends, Ends], tuple[Ends, Ends]]:
    """Return the x and y domains of the two panels: cost and compute, side by side or, if crowded, stacked."""
    if not priced:
        return ((0, 0), (0, 0)), ((0, 1), (0, 1))
    if crowded:
        return ((0, 1), (0.62, 1)), ((0, 1), (0, 0.38))
    return ((0, SPLIT), (0, 1)), ((SPLIT + GAP, 1), (0, 1))


def _short(name: str, most: int) -> str:
    return literal(name if len(name) <= most else name[: most - 1] + "…")


def _longest(money: Sequence[dict[str, Quantity]]) -> float:
    """Return the largest total cost or upper end of a drawn interval; 1 if no total is known."""
    totals = [bill["total"] for bill in money if "total" in bill]
    dearest = max((q.value for q in totals if q.value is not None and math.isfinite(q.value)), default=1.0)
    ends = [q.ci68[1] for q in totals if q.ci68 is not None and q.value is not None]
    return max([dearest, *(min(end, STRETCH * dearest) for end in ends)])


def _bars(theme: Theme, sides: Sequence[Side], longest: float, crowded: bool) -> list[Part]:
    """Return the stacked bars of each plan, the interval of its total, and the total as text at the end of the bar."""
    traces: list[Part] = []
    for part, colour in PARTS.items():
        lines = [(i, side.money[part]) for i, side in enumerate(sides) if part in side.money]
        lines = [(i, q) for i, q in lines if q.value is not None]
        if lines:
            traces.append({
                "type": "bar", "orientation": "h", "name": part, "width": BAR, "marker": {"color": colour},
                "y": [i for i, _ in lines], "x": [q.value for _, q in lines],
                "text": [f"{number(q)} {q.unit}" for _, q in lines], "textposition": "none",
                "hovertemplate": f"{part}<br>%{{text}}<extra></extra>",
            })  # fmt: skip
    known = [(i, side.money["total"]) for i, side in enumerate(sides) if "total" in side.money]
    ends = [_interval(q, longest) for _, q in known]
    at = np.array([x for x, _, _ in ends])
    bars = {"type": "data", "symmetric": False, "array": [h - x for x, _, h in ends],
            "arrayminus": [x - low for x, low, _ in ends], "color": theme.text, "thickness": theme.line(1.8),
            "width": theme.line(5)}  # fmt: skip
    whiskers: Part = {
        "type": "scatter", "mode": "markers", "x": at, "y": [i for i, _ in known], "error_x": bars,
        "marker": {"size": theme.marker(5), "color": theme.text}, "hoverinfo": "skip", "name": "total",
    }  # fmt: skip
    words = [
        (h, float(i), f"\u00a0\u00a0{_said(q, brief=crowded)}") for (i, q), (_, _, h) in zip(known, ends, strict=True)
    ]
    return [*traces, whiskers, marks.labels(theme, words, "middle right")]


def _interval(q: Quantity, longest: float) -> tuple[float, float, float]:
    """Return the value of a total cost and the ends of its drawn 68 % interval.

    The upper end is limited to ``longest``. All three numbers are 0 if the value is not finite.
    """
    if q.value is None or not math.isfinite(q.value):
        return 0.0, 0.0, 0.0
    low, high = q.ci68 or (q.value, q.value)
    return q.value, min(low, q.value), min(max(high, q.value), longest)


def _said(q: Quantity, brief: bool = False) -> str:
    """Return a total cost as text, such as 1.4 M EUR (0.9 M to 2.1 M); ``brief`` leaves out the interval."""
    if q.value is None:
        return "not reachable" if q.ci68 else "not known"
    value = f"{number(q)} {q.unit}"
    return value if brief or q.ci68 is None or q.note == "given" else f"{value} ({between(q, q.ci68)})"


def _compute(theme: Theme, sides: Sequence[Side]) -> list[Part]:
    """Return the compute C of each plan as a dot, with its 68 % and 95 % intervals as lines."""
    traces: list[Part] = []
    for level, width in (("ci95", 2.0), ("ci68", 5.0)):
        x: list[float | None] = []
        y: list[float | None] = []
        for i, side in enumerate(sides):
            ends = getattr(side.allocation["C"], level)
            if ends is not None and math.isfinite(ends[0]) and ends[0] > 0 and ends[1] > ends[0]:
                x, y = [*x, ends[0], ends[1] if math.isfinite(ends[1]) else 1e6 * ends[0], None], [*y, i, i, None]
        line = {"color": ACCENT, "width": theme.line(width)}
        traces.append({"type": "scatter", "mode": "lines", "x": x, "y": y, "line": line, "xaxis": "x2", "yaxis": "y2",
                       "hoverinfo": "skip", "opacity": 0.6})  # fmt: skip
    known = [(i, side.allocation["C"]) for i, side in enumerate(sides) if side.allocation["C"].value is not None]
    marker = {"size": theme.marker(9), "color": ACCENT, "line": {"color": theme.paper or "#ffffff", "width": 1}}
    traces.append({
        "type": "scatter", "mode": "markers", "x": [q.value for _, q in known], "y": [i for i, _ in known],
        "xaxis": "x2", "yaxis": "y2", "marker": marker, "name": "C",
        "text": [power10(q.value or 0.0) for _, q in known], "hovertemplate": "C  %{text} FLOPs<extra></extra>",
    })  # fmt: skip
    return traces


def _compute_axis(theme: Theme, sides: Sequence[Side]) -> Part:
    ends = [x for s in sides for q in [s.allocation["C"]] for x in (q.value, *(q.ci95 or ()))]
    known: Floats = np.array([x for x in ends if x is not None and 0 < x < math.inf] or [1.0, 10.0])
    return log_axis(theme, "Training compute <i>C</i> [FLOPs]", float(known.min()) / 2, float(known.max()) * 2)


def _table(found: Comparison) -> pd.DataFrame:
    rows = []
    for side in found.sides:
        for what, q in {"C": side.allocation["C"], **side.money}.items():
            low, high = q.ci68 or (math.nan, math.nan)
            rows.append({"plan": side.name, "of": what, "value": q.value, "low68": low, "high68": high, "unit": q.unit})
    return pd.DataFrame(rows)


def _alt(found: Comparison) -> str:
    said = []
    for side in found.sides[:6]:
        total, C = side.money.get("total"), side.allocation["C"]
        costs = f"{_said(total)}" if total is not None else f"{number(C)} FLOPs"
        said.append(f"{side.name[:LONGEST]}: {costs}")
    return f"Cost and compute of {len(found.sides)} plans, with intervals. {'; '.join(said)}."[:480]
