"""What every figure function returns."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure with what goes with it.

    ``alt`` says in one or two sentences what the figure shows, for readers who do not see it. ``data`` holds its
    numbers, one row a point or a line's vertex. ``name`` is a file name without its ending.
    """

    figure: go.Figure
    alt: str
    data: pd.DataFrame
    name: str
