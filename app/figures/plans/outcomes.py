"""Figure of planned and actual results, one row per result: prediction intervals around zero, and the deviation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import lines as marks
from isoplan.app.figures.style.axes import axis, literal
from isoplan.app.figures.style.palette import ACCENT, GREY, LIGHT_PAGE, PLAN
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose
from isoplan.engine.fitting.types.result import Interval
from isoplan.engine.planning.actual.outcome import LEVELS
from isoplan.engine.planning.actual.results import HEAD, Result, table, verdict
from isoplan.engine.planning.answer.format import between, number

ROW, AROUND = 40, 96
"""Heights in pixels: of one row, and of the x axis with its title."""
LONGEST = 26
"""Maximum number of characters of a plan's name next to its row."""
WIDE = 0.26
"""Half the height of an interval's bar, in units of the distance between two rows."""
SYMBOLS = {"": "circle-open", "inside 68 %": "circle", "inside 95 %": "circle"}
"""Marker symbols by the verdict on a result. A result outside its 95 % interval is a diamond."""


def draw(found: Sequence[Result], theme: Theme = WEB) -> Drawing:
    """Draw the deviation of each result from its prediction, in percent of the prediction; the first result is on top.

    Percentages make results of different quantities comparable.
    """
    rows = [one for one in found if one.outcome.expected.value]
    ends = [_ends(one) for one in rows]
    at = [_off(one, one.outcome.actual.value) for one in rows]
    finite = [x for pair in ends for span in pair if span for x in span if math.isfinite(x)]
    far = 1.12 * max([abs(x) for x in (*finite, *at)] or [1.0]) or 1.0
    shapes = [
        _bar(i, span, far, tint)
        for i, (narrow, wide) in enumerate(ends)
        for span, tint in ((wide, 2 * marks.TINT95), (narrow, 1.5 * marks.TINT68))
        if span
    ]
    zero = {"type": "line", "x0": 0, "x1": 0, "y0": -0.5, "y1": len(rows) - 0.5, "layer": "below",
            "line": {"color": GREY, "width": theme.line(1.2)}}  # fmt: skip
    names = [_short(one.name) for one in rows]
    figure = compose(
        theme, AROUND + ROW * max(len(rows), 2), "outcomes", [_dots(theme, rows, at)], [*shapes, zero],
        [_value(theme, i, one) for i, one in enumerate(rows)],
        xaxis=axis(theme, "Actual minus predicted [% of the prediction]", range=[-far, far]),
        yaxis=axis(theme, "", range=[max(len(rows), 2) - 0.5, -0.5], tickvals=list(range(len(rows))), ticktext=names,
                   ticks="", showgrid=False, fixedrange=True),
        margin={"r": 68 if theme.width is None else 48},
    )  # fmt: skip
    return Drawing(figure, _alt(rows), "planned-and-actual", lambda: _table(found))


def _off(one: Result, x: float) -> float:
    """Return the deviation of ``x`` from the prediction of ``one``, in percent of the prediction."""
    centre = one.outcome.expected.value or math.nan
    return 100 * (x - centre) / abs(centre)


def _ends(one: Result) -> tuple[Interval | None, Interval | None]:
    q = one.outcome.predicted
    narrow, wide = (ends and (_off(one, ends[0]), _off(one, ends[1])) for ends in (q.ci68, q.ci95))
    return narrow, wide


def _bar(row: int, span: Interval, far: float, tint: float) -> Part:
    low, high = np.clip(span, -far, far)
    return {"type": "rect", "x0": float(low), "x1": float(high), "y0": row - WIDE, "y1": row + WIDE, "layer": "below",
            "fillcolor": ACCENT, "opacity": tint, "line": {"width": 0}}  # fmt: skip


def _dots(theme: Theme, rows: Sequence[Result], at: Sequence[float]) -> Part:
    said = [verdict(one.outcome) for one in rows]
    hover = [
        f"<b>{literal(one.name)}</b><br>{literal(one.outcome.y)}  {number(q, one.outcome.actual.value)}<br>"
        f"predicted  {number(q)}<br>68 %  {between(q, q.ci68) or 'none'}<br>95 %  {between(q, q.ci95) or 'none'}<br>{v}"
        for one, v in zip(rows, said, strict=True)
        for q in (one.outcome.predicted,)
    ]
    return {
        "type": "scatter", "mode": "markers", "name": "actual", "x": list(at), "y": list(range(len(rows))),
        "hovertemplate": [f"{text}<extra></extra>" for text in hover], "cliponaxis": False,
        "marker": {"size": theme.marker(11), "color": PLAN, "symbol": [SYMBOLS.get(v, "diamond") for v in said],
                   "line": {"color": LIGHT_PAGE, "width": theme.line(1.2)}},
    }  # fmt: skip


def _value(theme: Theme, row: int, one: Result) -> Part:
    """Return the actual value as text at the right end of its row."""
    q = one.outcome.predicted
    return marks.note(
        theme, number(q, one.outcome.actual.value), xref="paper", yref="y", x=1, y=row, xanchor="left",
        yanchor="middle", xshift=8, yshift=0,
    )  # fmt: skip


def _short(name: str) -> str:
    return literal(name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…")


def _table(found: Sequence[Result]) -> pd.DataFrame:
    head, *lines = table(found)
    assert head == HEAD
    return pd.DataFrame(lines, columns=list(HEAD))


def _alt(rows: Sequence[Result]) -> str:
    known = [one.outcome for one in rows if one.outcome.inside(LEVELS[0]) is not None]
    inside = [sum(bool(o.inside(level)) for o in known) for level in LEVELS]
    return (
        f"{len(rows)} actual results compared with their predictions: of the {len(known)} results "
        f"with an interval, {inside[0]} are inside the 68 % interval and {inside[1]} are inside the 95 % interval."
    )
