"""What compute buys: the least loss at each budget, with its bands, the runs behind it and the floor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from app.figures import marks
from app.figures.axes import extent, log_axis, title, value_axis
from app.figures.drawing import Drawing
from app.figures.theme import WEB, Theme, blank
from engine.planning.curves import Frontier
from engine.planning.quantity import Quantity
from engine.quantities import power10
from engine.schema import Runs

HEIGHT = 460


def draw(
    path: Frontier, runs: Runs | None = None, y: str = "loss", floor: Quantity | None = None, theme: Theme = WEB
) -> Drawing:
    """The frontier of a law over compute."""
    shown = None if runs is None or y not in runs or "C" not in runs else marks.drawn(runs, marks.MOST_DOTS)
    values = _values(path, shown, y, floor)
    figure = blank(
        theme, HEIGHT, "frontier",
        xaxis=log_axis(theme, title("C"), path.C[0], path.C[-1]),
        yaxis=value_axis(theme, y, *values),
        clickmode="event+select",
    )  # fmt: skip
    hover = f"<b>Best at %{{text}} FLOPs</b><br>{marks.literal(y)}  %{{y:.4~g}}<extra></extra>"
    figure.add_traces([
        *marks.runs_over(shown, "C", y, marks.faint(theme)),
        *marks.bands(path.C, path.loss_band, theme.text),
        *marks.law(
            theme, path.C, path.loss, path.inside, theme.text, 2.4, hovertemplate=hover,
            text=[power10(float(C), 2) for C in path.C],
        ),
    ])  # fmt: skip
    marks.shade_beyond(figure, theme, path.C, path.inside)
    marks.mark_floor(figure, theme, floor, values)
    return Drawing(figure, _alt(path, y, floor), frame(path), "frontier")


def _values(path: Frontier, runs: Runs | None, y: str, floor: Quantity | None) -> tuple[float, float]:
    seen: list[Any] = [path.loss] + ([runs[y]] if runs is not None else [])
    if floor is not None and floor.value is not None:
        seen.append(np.array([floor.value]))
    return extent(*seen)


def frame(path: Frontier) -> pd.DataFrame:
    """One row a budget: C, N*, D*, the law's value and the ends of their bands."""
    bands = {
        f"{name}_{end}": getattr(band, end)
        for name, band in (("N", path.N_band), ("D", path.D_band), ("value", path.loss_band))
        for end in ("low68", "high68", "low95", "high95")
    }
    return pd.DataFrame({"C": path.C, "N": path.N, "D": path.D, "value": path.loss, "inside": path.inside, **bands})


def _alt(path: Frontier, y: str, floor: Quantity | None) -> str:
    bound = f" Its limit at infinite compute is {floor.value:.3g}." if floor and floor.value is not None else ""
    return (
        f"Best {y} against compute: from {path.loss[0]:.3g} at {power10(float(path.C[0]), 2)} FLOPs to "
        f"{path.loss[-1]:.3g} at {power10(float(path.C[-1]), 2)} FLOPs.{bound}"
    )
