"""Pulls of a learned uncertainty: their histogram beside the unit Gaussian that they are where sigma is right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import lines
from isoplan.app.figures.style.axes import axis
from isoplan.app.figures.style.drawing import Drawing
from isoplan.app.figures.style.palette import ACCENT, PLAN
from isoplan.app.figures.style.theme import WEB, Part, Theme, compose, legend
from isoplan.engine.arrays import Floats

HEIGHT = 380
BARS = 0.55
"""Opacity of the bars."""
OFTEN = 0.002
"""The share of points in the outermost bars from which on a remark says why."""
TARGETS = {"log": "log <i>A</i>", "raw": "<i>A</i>"}
"""What was learned, by the field ``target`` of a cell."""


@dataclass(frozen=True, eq=False)
class Pulls:
    """A histogram of pulls: between ``edges`` (n + 1), in units of sigma, ``points`` (n), those beyond counted at its
    ends, and as many, ``gaussian`` (n), as a unit Gaussian would give; ``target`` is what was learned, log or raw.
    """

    edges: Floats
    points: Floats
    gaussian: Floats
    target: str = "log"

    @property
    def density(self) -> Floats:
        """Share of the points per unit of the pull, (n,)."""
        return np.asarray(self.points / self.points.sum() / np.diff(self.edges))

    @property
    def expected(self) -> Floats:
        """The same of the unit Gaussian, (n,)."""
        return np.asarray(self.gaussian / self.gaussian.sum() / np.diff(self.edges))

    @property
    def ends(self) -> float:
        """The share of the points in the first and the last bar."""
        return float((self.points[0] + self.points[-1]) / self.points.sum())


def draw(pulls: Pulls, theme: Theme = WEB) -> Drawing:
    """Bars of the pulls' density and the unit Gaussian as a line."""
    middle = (pulls.edges[1:] + pulls.edges[:-1]) / 2
    traces: list[Part] = [
        {
            "type": "bar", "name": "pulls", "x": middle, "y": pulls.density, "width": np.diff(pulls.edges),
            "marker": {"color": ACCENT, "line": {"width": 0}}, "opacity": BARS,
            "hovertemplate": "<i>t</i>  %{x:.1f}<br>density  %{y:.3g}<extra></extra>",
        },
        lines.line(theme, middle, pulls.expected, PLAN, 1.8, name="unit Gaussian"),
    ]  # fmt: skip
    far = f"{100 * pulls.ends:.2g} % in the outermost bars,<br>which hold all beyond"
    notes = [lines.corner(theme, far)] if pulls.ends >= OFTEN else []
    learned = TARGETS[pulls.target]
    top = 1.06 * max(float(pulls.density.max()), float(pulls.expected.max()))
    figure = compose(
        theme, HEIGHT, "pulls", traces, [], notes,
        xaxis=axis(theme, f"Pull <i>t</i> = ({learned}<sub>NN</sub> − {learned}) / <i>σ</i>",
                   range=[float(pulls.edges[0]), float(pulls.edges[-1])], dtick=2),
        yaxis=axis(theme, "Density", range=[0, top]),
        bargap=0, **legend(theme),
    )  # fmt: skip
    return Drawing(figure, _alt(pulls), "pulls", lambda: _table(pulls))


def _table(pulls: Pulls) -> pd.DataFrame:
    return pd.DataFrame(
        {"low": pulls.edges[:-1], "high": pulls.edges[1:], "points": pulls.points, "density": pulls.density,
         "gaussian": pulls.expected}
    )  # fmt: skip


def _alt(pulls: Pulls) -> str:
    peak = float(pulls.density.max() / pulls.expected.max())
    return (
        f"Histogram of pulls beside the unit Gaussian: its peak is {peak:.2g} times as high, and its outermost bars, "
        f"which hold all beyond {pulls.edges[-1]:g}, have {100 * pulls.ends:.2g} % of the points."
    )
