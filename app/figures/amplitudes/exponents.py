"""Exponents of D against the dimension of the phase space, with the bound 4/d (amplitudes, Fig. 10 left)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import lines
from isoplan.app.figures.style.axes import axis
from isoplan.app.figures.style.drawing import Drawing
from isoplan.app.figures.style.palette import ACCENT, GREY, PLAN
from isoplan.app.figures.style.theme import WEB, Part, Theme, compose, legend
from isoplan.app.figures.style.words import literal
from isoplan.engine.laws.catalogue.dimension import least_exponent
from isoplan.engine.planning.amplitude.cell_law import DataExponent

HEIGHT = 420
ASIDE = 0.12
"""By how much points stand left and right of their d, so that ours and the paper's do not hide each other."""


def draw(published: Sequence[DataExponent], trained: Sequence[DataExponent] = (), theme: Theme = WEB) -> Drawing:
    """``published`` exponents and those of ``trained`` cells, with 68 % intervals, over d."""
    every = [*published, *trained]
    low, high = min(one.d for one in every) - 0.6, max(one.d for one in every) + 0.6
    d = np.linspace(low, high, 80)
    bound = np.array([least_exponent(x) for x in d])
    top = 1.08 * max(*(one.ends[1] for one in every), 4 / min(one.d for one in every))
    traces: list[Part] = [
        lines.line(theme, d, bound, PLAN, 1.6, "dash", name="bound 4/d", hoverinfo="skip"),
        _points(theme, published, GREY, "published", -ASIDE),
        *([_points(theme, trained, ACCENT, "trained", ASIDE)] if trained else []),
    ]
    figure = compose(
        theme, HEIGHT, "exponents", traces,
        xaxis=axis(theme, "Dimension of the phase space <i>d</i>", range=[low, high],
                   tickvals=sorted({one.d for one in every})),
        yaxis=axis(theme, "Exponent of <i>D</i>, <i>α</i>", range=[0, top]),
        **legend(theme),
    )  # fmt: skip
    return Drawing(figure, _alt(published, trained), "exponents", lambda: _table(published, trained))


def _points(theme: Theme, found: Sequence[DataExponent], colour: str, name: str, aside: float) -> Part:
    up, down = [one.ends[1] - one.alpha for one in found], [one.alpha - one.ends[0] for one in found]
    bar = {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "color": colour,
           "thickness": theme.line(1.5), "width": theme.line(4)}  # fmt: skip
    return {
        "type": "scatter", "mode": "markers", "name": name, "x": [one.d + aside for one in found],
        "y": [one.alpha for one in found], "error_y": bar, "text": [literal(one.process) for one in found],
        "marker": {"size": theme.marker(9), "color": colour},
        "hovertemplate": f"%{{text}}<br>α  %{{y:.3g}}<extra>{name}</extra>",
    }  # fmt: skip


def _table(published: Sequence[DataExponent], trained: Sequence[DataExponent]) -> pd.DataFrame:
    rows = [("published", one) for one in published] + [("trained", one) for one in trained]
    return pd.DataFrame(
        [{"source": source, "process": one.process, "d": one.d, "alpha": one.alpha, "low68": one.ends[0],
          "high68": one.ends[1], "bound": least_exponent(one.d)} for source, one in rows]
    )  # fmt: skip


def _alt(published: Sequence[DataExponent], trained: Sequence[DataExponent]) -> str:
    every = [*published, *trained]
    below = [one.process for one in every if one.ends[1] < least_exponent(one.d)]
    ours = "".join(f", {one.process} {one.alpha:.3g}" for one in trained)
    fails = f" Below the bound lie {', '.join(dict.fromkeys(below))}." if below else ""
    return (
        f"Exponents of D of {len(published)} published processes over the dimension d, with the line 4/d"
        f"{', and of trained cells' + ours if trained else ''}.{fails}"
    )
