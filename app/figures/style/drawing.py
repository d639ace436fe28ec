"""What every figure function returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure with what goes with it.

    ``alt`` says in one or two sentences what the figure shows, for readers who do not see it. ``name`` is a file name
    without its ending. ``table`` makes the figure's numbers when somebody asks for them.
    """

    figure: go.Figure
    alt: str
    name: str
    table: Callable[[], pd.DataFrame]

    @property
    def data(self) -> pd.DataFrame:
        """The figure's numbers, one row a point or a line's vertex."""
        return self.table()
