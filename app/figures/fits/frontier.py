"""Figure of the compute-optimal loss over compute, with bands, runs and the floor."""

from __future__ import annotations

import pandas as pd

from isoplan.app.figures.marks import along, dots
from isoplan.app.figures.style.theme import WEB, Drawing, Theme, compose
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.drawing.curves import Frontier
from isoplan.engine.schema import Runs


def draw(
    path: Frontier, runs: Runs | None = None, y: str = "loss", floor: Quantity | None = None, theme: Theme = WEB
) -> Drawing:
    """Draw the frontier ``path``: the compute-optimal loss (or metric ``y``) against compute."""
    law = along.of_frontier(path, runs, y, floor)
    p = along.parts(theme, law, theme.text, dots.faint(theme))
    figure = compose(theme, along.HEIGHT, "frontier", p.traces, p.shapes, p.notes, clickmode="event+select", **p.axes)
    return Drawing(figure, f"Compute-optimal {along.alt(law)}", "frontier", lambda: table(path))


def table(path: Frontier) -> pd.DataFrame:
    """Return one row per budget: C, N*, D*, the value of the law, whether C is within the runs, and the band limits."""
    bands = {
        f"{name}_{end}": getattr(band, end)
        for name, band in (("N", path.N_band), ("D", path.D_band), ("value", path.loss_band))
        for end in ("low68", "high68", "low95", "high95")
    }
    return pd.DataFrame({"C": path.C, "N": path.N, "D": path.D, "value": path.loss, "inside": path.inside, **bands})
