"""How densely points lie, where they are too many to draw one by one."""

from __future__ import annotations

import numpy as np

from isoplan.app.figures.marks.lines import pack
from isoplan.app.figures.style.axes import extent
from isoplan.app.figures.style.palette import rgba
from isoplan.app.figures.style.theme import Part
from isoplan.engine.arrays import Floats


def density(x: Floats, y: Floats, cells: tuple[int, int], ends: tuple[float, float], colour: str) -> Part:
    """The number of points ``x`` (n), ``y`` (n) in every cell, darker where there are more, on a logarithmic scale.

    Cells are even in log x where all of ``x`` is positive (the axis is logarithmic then), and in y between ``ends``.
    """
    known = np.isfinite(x) & np.isfinite(y)
    low, high = extent(x[known])
    across = np.geomspace(low, high, cells[0] + 1) if low > 0 else np.linspace(low, high, cells[0] + 1)
    up = np.linspace(*ends, cells[1] + 1)
    counts = np.histogram2d(y[known], x[known], bins=(up, across))[0]
    with np.errstate(divide="ignore"):
        shade = np.where(counts > 0, np.log10(counts), np.nan)
    return {
        "type": "heatmap",
        "x": pack(across),
        "y": pack(up),
        "z": shade.astype(np.float32),
        "customdata": counts.astype(np.int32),
        "colorscale": [[0.0, rgba(colour, 0.18)], [1.0, rgba(colour, 1.0)]],
        "zmin": 0.0,
        "zmax": max(float(np.log10(max(counts.max(), 1.0))), 0.3),
        "showscale": False,
        "hoverongaps": False,
        "hovertemplate": "%{customdata:,} runs<extra></extra>",
    }
