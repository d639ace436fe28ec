"""Two figures of amplitude surrogates: measured intrinsic dimensions, and pulls of learned uncertainties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import lines
from isoplan.app.figures.marks import lines as marks
from isoplan.app.figures.style.axes import axis, extent, literal, log_axis, title
from isoplan.app.figures.style.palette import ACCENT, GREY, PLAN, category
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose, legend
from isoplan.engine.arrays import Floats

HEIGHT = 380
TITLES = {"D": "Training points <i>D</i>"}
"""Axis titles that differ from the titles of other families: here, D is the number of distinct training points."""
ASIDE = 0.015
"""Horizontal distance between the dots of the inputs and of the last layer, as a fraction of the log axis. Without this
distance, the dots would overlap.
"""


@dataclass(frozen=True)
class Estimate:
    """Estimate of an intrinsic dimension, and its spread over subsets of the points."""

    value: float
    spread: float = 0.0


@dataclass(frozen=True)
class Measured:
    """Intrinsic dimensions that were measured in one cell (training run).

    ``events`` names the training events, and ``d`` is the dimension of their phase space (None if unknown). ``layer``
    is the dimension of the last hidden layer. ``inputs`` is the dimension of the network's inputs (None if not
    measured).
    """

    events: str
    label: str
    N: float
    D: float
    layer: Estimate
    inputs: Estimate | None = None
    d: float | None = None


def draw_dimensions(found: Sequence[Measured], x: str = "D", theme: Theme = WEB) -> Drawing:
    """Draw the measured dimensions against ``x`` (N or D).

    Filled dots show the last hidden layer, and open dots show the inputs. Each kind of events has its own colour.
    Dashed lines are the dimensions d of phase space.
    """
    events = list(dict.fromkeys(one.events for one in found))
    low, high = extent(pd.Series([getattr(one, x) for one in found]).to_numpy(float), positive=True)
    aside = (high / low) ** ASIDE
    kinds = [[one for one in found if one.events == name] for name in events]
    traces = [part for i, kind in enumerate(kinds) for part in _dots(theme, kind, x, aside, category(i))]
    lines = _dimensions(found)
    top = 1.12 * max(
        *(one.layer.value + one.layer.spread for one in found),
        *(one.inputs.value + one.inputs.spread for one in found if one.inputs),
        *lines, 1.0,
    )  # fmt: skip
    figure = compose(
        theme, HEIGHT, f"intrinsic-dimension-{x}", traces,
        [marks.level(theme, d, category(events.index(of[0])) if len(of) == 1 else GREY, "dash")
         for d, of in lines.items()],
        [_named(theme, d) for d in lines],
        xaxis=log_axis(theme, TITLES.get(x, title(x)), low, high),
        yaxis=axis(theme, "Intrinsic dimension", range=[0, top]),
        **_room(theme),
    )  # fmt: skip
    return Drawing(figure, _alt(found, x), "intrinsic-dimension", lambda: _table(found))


def _dots(theme: Theme, found: Sequence[Measured], x: str, aside: float, colour: str) -> list[Part]:
    """Return the dots of all cells with the same events: filled for the last hidden layer, open for the inputs."""
    name = literal(found[0].events)
    measured = [(one, one.inputs) for one in found if one.inputs is not None]
    layer = [(one, one.layer) for one in found]
    hollow = {"color": colour, "symbol": "circle-open", "line": {"width": theme.line(1.6)}}
    parts = [_points(theme, layer, x, 1.0, name, {"color": colour})]
    return [*parts, _points(theme, measured, x, aside, f"{name}, inputs", hollow)] if measured else parts


def _points(
    theme: Theme, found: Sequence[tuple[Measured, Estimate]], x: str, aside: float, name: str, marker: Part
) -> Part:
    bar = {"type": "data", "array": [said.spread for _, said in found], "color": marker["color"],
           "thickness": theme.line(1.4), "width": theme.line(4)}  # fmt: skip
    return {
        "type": "scatter", "mode": "markers", "name": name, "x": [aside * getattr(one, x) for one, _ in found],
        "y": [said.value for _, said in found], "error_y": bar, "marker": {"size": theme.marker(9), **marker},
        "text": [f"{literal(one.label)}<br>{said.value:.3g} ± {said.spread:.2g}" for one, said in found],
        "hovertemplate": f"{name}<br>%{{text}}<extra></extra>",
    }  # fmt: skip


def _dimensions(found: Sequence[Measured]) -> dict[float, list[str]]:
    """Return the names of the events by the dimension d of their phase space."""
    lines: dict[float, list[str]] = {}
    for one in found:
        if one.d is not None and one.events not in lines.setdefault(one.d, []):
            lines[one.d].append(one.events)
    return lines


def _named(theme: Theme, d: float) -> Part:
    """Return the label "d = ..." of the dashed line at ``d``, to the right of the plot."""
    text = f"<i>d</i> = {d:g}"
    return marks.note(theme, text, x=1, y=d, yref="y", xanchor="left", yanchor="middle", xshift=4, yshift=0)


def _room(theme: Theme) -> Part:
    """Return the layout: a legend above the plot, and a right margin for the labels of the dashed lines."""
    layout = legend(theme)
    return layout | {"margin": layout["margin"] | {"r": 52 if theme.width is None else 40}}


def _table(found: Sequence[Measured]) -> pd.DataFrame:
    return pd.DataFrame(
        [{"events": one.events, "cell": one.label, "N": one.N, "D": one.D, "dimension": one.layer.value,
          "spread": one.layer.spread, "inputs": one.inputs.value if one.inputs else None,
          "inputs_spread": one.inputs.spread if one.inputs else None, "d": one.d} for one in found]
    )  # fmt: skip


def _alt(found: Sequence[Measured], x: str) -> str:
    parts = []
    for name in dict.fromkeys(one.events for one in found):
        last = max((one for one in found if one.events == name), key=lambda one: float(getattr(one, x)))
        dimension = "" if last.d is None else f" (d = {last.d:g})"
        parts.append(f"{name} {last.layer.value:.2g}{dimension}")
    return f"Intrinsic dimension of the last hidden layer against {x}. At the largest {x}: {'; '.join(parts)}."


PULL_HEIGHT = 380
BARS = 0.55
"""Opacity of the bars of the histogram."""
OFTEN = 0.002
"""If the two outermost bars have more than this fraction of the points, a note explains these bars.

The outermost bars also contain the pulls outside the range of the histogram.
"""
TARGETS = {"log": "log <i>A</i>", "raw": "<i>A</i>"}
"""Learned quantity as HTML, by the value of the field ``target`` of a cell."""


@dataclass(frozen=True, eq=False)
class Pulls:
    """Histogram of pulls. A pull is (prediction - truth) / sigma.

    ``edges`` (n + 1) are the limits of the bins in units of sigma. ``points`` (n) are the counts. ``gaussian`` (n) are
    the counts that a unit Gaussian predicts. The outermost bins include all points outside the edges. ``target`` is the
    learned quantity, "log" or "raw".
    """

    edges: Floats
    points: Floats
    gaussian: Floats
    target: str = "log"

    @property
    def density(self) -> Floats:
        """Density of the pulls in each bin (n,): the fraction of the points, divided by the width of the bin."""
        return np.asarray(self.points / self.points.sum() / np.diff(self.edges))

    @property
    def expected(self) -> Floats:
        """Density in each bin (n,) that a Gaussian with mean 0 and width 1 predicts."""
        return np.asarray(self.gaussian / self.gaussian.sum() / np.diff(self.edges))

    @property
    def ends(self) -> float:
        """Fraction of the points in the first and the last bin together."""
        return float((self.points[0] + self.points[-1]) / self.points.sum())


def draw_pulls(pulls: Pulls, theme: Theme = WEB) -> Drawing:
    """Draw the density of the pulls as bars, and the density that a unit Gaussian predicts as a line."""
    middle = (pulls.edges[1:] + pulls.edges[:-1]) / 2
    traces: list[Part] = [
        {
            "type": "bar", "name": "pulls", "x": middle, "y": pulls.density, "width": np.diff(pulls.edges),
            "marker": {"color": ACCENT, "line": {"width": 0}}, "opacity": BARS,
            "hovertemplate": "<i>t</i>  %{x:.1f}<br>density  %{y:.3g}<extra></extra>",
        },
        lines.line(theme, middle, pulls.expected, PLAN, 1.8, name="unit Gaussian"),
    ]  # fmt: skip
    far = f"{100 * pulls.ends:.2g} % in the outermost bars,<br>which include larger pulls"
    notes = [lines.corner(theme, far)] if pulls.ends >= OFTEN else []
    learned = TARGETS[pulls.target]
    top = 1.06 * max(float(pulls.density.max()), float(pulls.expected.max()))
    figure = compose(
        theme, PULL_HEIGHT, "pulls", traces, [], notes,
        xaxis=axis(theme, f"Pull <i>t</i> = ({learned}<sub>NN</sub> − {learned}) / <i>σ</i>",
                   range=[float(pulls.edges[0]), float(pulls.edges[-1])], dtick=2),
        yaxis=axis(theme, "Density", range=[0, top]),
        bargap=0, **legend(theme),
    )  # fmt: skip
    return Drawing(figure, _pull_alt(pulls), "pulls", lambda: _pull_table(pulls))


def _pull_table(pulls: Pulls) -> pd.DataFrame:
    return pd.DataFrame(
        {"low": pulls.edges[:-1], "high": pulls.edges[1:], "points": pulls.points, "density": pulls.density,
         "gaussian": pulls.expected}
    )  # fmt: skip


def _pull_alt(pulls: Pulls) -> str:
    peak = float(pulls.density.max() / pulls.expected.max())
    return (
        f"Histogram of pulls compared with the unit Gaussian. Its peak is {peak:.2g} times as high as that of "
        f"the Gaussian. Its outermost bars include pulls beyond {pulls.edges[-1]:g} and contain "
        f"{100 * pulls.ends:.2g} % of the points."
    )
