"""Figure of an autopilot: reached and expected half widths of the interval against compute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import lines
from isoplan.app.figures.style.axes import axis, extent, value_axis
from isoplan.app.figures.style.palette import ACCENT, GREY, LIGHT_PAGE, PLAN
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose
from isoplan.engine.arrays import Floats

HEIGHT = 360
WIDTH = "Half width of the 68 % interval [%]"


@dataclass(frozen=True)
class Step:
    """State before one decision of an autopilot. All widths are in percent of the answer; NaN if unknown.

    ``flops`` is the compute of all cells trained before the decision. ``width`` is the half width of the 68 % interval
    that these cells reached. ``expected`` is the half width that was expected from them, with the range ``low`` to
    ``high`` of the simulated outcomes. If ``ahead`` is true, the last cells still train, so there is no ``width``.
    """

    flops: float
    width: float = math.nan
    expected: float = math.nan
    low: float = math.nan
    high: float = math.nan
    ahead: bool = False


def draw(steps: Sequence[Step], until: float, theme: Theme = WEB) -> Drawing:
    """Draw the reached half widths as a line, and the expected ones as circles with their ranges.

    A dotted line shows the wanted half width ``until`` in percent.
    """
    flops, width, expected, low, high = (
        np.array([getattr(one, name) for one in steps], float) for name in ("flops", "width", "expected", "low", "high")
    )
    values = extent(width, expected, low, high, np.array([until]), positive=True)
    known = np.isfinite(width)
    far = float(flops.max()) if len(flops) and flops.max() > 0 else 1.0
    reached = lines.line(
        theme, flops[known], width[known], ACCENT, 2, name="reached", mode="lines+markers",
        marker={"size": theme.marker(9), "color": ACCENT, "line": {"color": LIGHT_PAGE, "width": theme.line(1.2)}},
        hovertemplate="reached: ± %{y:.3~g} %<br>%{x:.3~g} FLOPs<extra></extra>",
    )  # fmt: skip
    text = lines.keyed(("reached", ACCENT), ("expected, with its range", GREY))
    notes = [lines.level_note(theme, f"wanted ± {until:g} %", until, True), lines.corner(theme, text)]
    figure = compose(
        theme, HEIGHT, "narrowing", [_expected(theme, flops, expected, low, high), reached],
        [lines.level(theme, until, PLAN, "dot")], notes,
        xaxis=axis(theme, "Compute of the trained cells [FLOPs]", range=[-0.03 * far, 1.06 * far]),
        yaxis=value_axis(theme, WIDTH, *values),
    )  # fmt: skip
    return Drawing(figure, _alt(steps, until), "autopilot", lambda: _table(steps))


def _expected(theme: Theme, flops: Floats, expected: Floats, low: Floats, high: Floats) -> Part:
    at = np.isfinite(expected)
    bars = {"type": "data", "symmetric": False, "array": (high - expected)[at], "arrayminus": (expected - low)[at]}
    return {
        "type": "scatter", "mode": "markers", "name": "expected", "x": flops[at], "y": expected[at],
        "error_y": bars | {"color": GREY, "thickness": theme.line(1.5), "width": theme.line(4)},
        "marker": {"symbol": "circle-open", "size": theme.marker(11), "color": GREY, "line": {"width": theme.line(2)}},
        "hovertemplate": "expected: ± %{y:.3~g} %<br>%{x:.3~g} FLOPs<extra></extra>",
    }  # fmt: skip


def _alt(steps: Sequence[Step], until: float) -> str:
    known = [one.width for one in steps if math.isfinite(one.width)]
    text = f"from {known[0]:.2g} to {known[-1]:.2g} %" if known else "not known yet"
    return f"Half width of the 68 % interval over {len(steps)} decisions: {text}; wanted {until:g} %."


def _table(steps: Sequence[Step]) -> pd.DataFrame:
    return pd.DataFrame(
        [(one.flops, one.width, one.expected, one.low, one.high) for one in steps],
        columns=["flops", "width", "expected", "low", "high"],
    )
