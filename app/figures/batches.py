"""Updates to a target against batch size, with the plateau and the batch where it begins."""

from __future__ import annotations

import numpy as np
import pandas as pd

from app.figures import marks
from app.figures.axes import extent, log_axis, padded
from app.figures.drawing import Drawing
from app.figures.palette import ACCENT, FLOOR, GREY
from app.figures.theme import WEB, Part, Theme, compose
from app.figures.words import literal
from engine.fitting import derived
from engine.fitting.result import Fit
from engine.quantities import count
from engine.schema import Runs

HEIGHT = 440


def draw(fit: Fit, rows: Runs, theme: Theme = WEB) -> Drawing:
    """S = S_min (1 + B_crit / B) through the updates of each run, with its two asymptotes and B_crit."""
    axis = str(fit.law.axis)
    B, S = rows[axis], rows[fit.spec.y]
    plateau = float(fit.values["S_min"])
    knee = next(p.value for p in derived(fit) if p.name == "B_crit")
    there = plateau > 0 and np.isfinite(knee)
    window = padded(*extent(B, np.array([knee] if there else []), positive=True, room=0), 0.15)
    values = extent(S, np.array([plateau] if there else []), positive=True)
    x = np.geomspace(*window, 120)
    traces: list[Part] = [
        marks.line(theme, x, fit.predict({axis: x}), ACCENT, 2.2),
        {
            "type": "scatter", "mode": "markers", "name": "runs", "x": B, "y": S,
            "marker": {"color": ACCENT, "size": theme.marker(8)},
            "text": rows.labels.get("run"),
            "hovertemplate": f"<b>%{{text}}</b><br>{literal(axis)} %{{x:.4~g}}<br>updates %{{y:.4~g}}<extra></extra>",
        },
    ]  # fmt: skip
    shapes, notes = [], []
    if there:
        traces.append(marks.line(theme, x, plateau * knee / x, GREY, 1.2, "dot"))
        shapes = [marks.level(theme, plateau, FLOOR, "dot"), _upright(theme, knee)]
        notes = [
            marks.level_note(theme, f"least updates {count(plateau)}", plateau, values),
            marks.corner(theme, f"critical {literal(axis)} {count(knee, 3)}"),
        ]
    figure = compose(
        theme, HEIGHT, "critical-batch", traces, shapes, notes,
        xaxis=log_axis(theme, literal(axis), *window), yaxis=log_axis(theme, "Updates to the target <i>S</i>", *values),
    )  # fmt: skip
    says = f"a plateau of {plateau:.4g} updates and a critical {axis} of {knee:.4g}" if there else "no plateau"
    return Drawing(
        figure, f"Updates to the target of {len(S)} runs against {axis}: {says}.", "critical-batch",
        lambda: pd.DataFrame({**rows.labels, axis: B, "updates": S}),
    )  # fmt: skip


def _upright(theme: Theme, x: float) -> Part:
    """A dotted line at ``x``, as high as the plot."""
    line = {"color": FLOOR, "width": theme.line(1.2), "dash": "dot"}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "y domain", "line": line, "layer": "below"}
