"""Pictures of docs/concepts.md: figures of the app for the table of docs/tutorial.md and for the demo table.

``python -m benchmarks.concepts`` writes the pictures to docs/images.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path

import plotly.graph_objects as go

import isoplan as ip
from benchmarks.pictures import IMAGES, draw
from isoplan.app.figures.fits.resamples import draw_pairs
from isoplan.app.figures.plans import cost_curve as cost_figure
from isoplan.app.figures.style.theme import PAPER, Theme
from isoplan.data.files import path
from isoplan.engine.fitting import Fit
from isoplan.engine.planning.drawing.cost_curve import cost_curve

WIDTH = 680
PAGE: Theme = replace(PAPER, size=13, scale=1.0, width=WIDTH)
TUTORIAL = IMAGES.parent / "tutorial.md"


def figures() -> dict[str, go.Figure]:
    """Return the figures by the names of their files."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "runs.csv"
        (text,) = re.findall(r"```csv\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
        table.write_text(text)
        runs = ip.runs(str(table))
    law = ip.fit(runs, "chinchilla")
    assert isinstance(law, Fit)
    curves = ip.plot.isoflop(law, runs).update_layout(width=WIDTH)
    pairs = draw_pairs(law, PAGE)
    assert pairs is not None
    jets = ip.runs(str(path("grids/jets_one_pass.csv")), rule="6npND", n_p=42)
    few = ip.fit(jets, "chinchilla")
    assert isinstance(few, Fit)
    cost = cost_figure.draw(cost_curve(few, ip.plan(few, budget=1e13), runs=jets), PAGE)
    return {"concepts_isoflop": curves, "concepts_resamples": pairs.figure, "concepts_cost": cost.figure}


def main() -> None:
    """Draw the pictures."""
    draw(figures())


if __name__ == "__main__":
    main()
