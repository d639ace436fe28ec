"""Colours of figures: one scale for compute, one scale for the loss, and a fixed order for groups and metrics.

Every line colour has a contrast of at least 3 : 1 with white and with the dark page (#0f171c). Figures therefore stay
legible if the reader switches between a light and a dark page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

COMPUTE = (
    "#6950be", "#4760c9", "#0b6fc2", "#0d79a6", "#0f858e", "#118f73", "#129650", "#51961d", "#829110", "#a88b11",
    "#c98212",
)  # fmt: skip
"""Colours of compute from small to large, with equal steps in OKLab. Colour-blind readers see the order, because
lightness and the blue-yellow component change monotonically.
"""

LOSS = (
    "#590474", "#751e88", "#943395", "#b4469d", "#d5579d", "#f46a96", "#fd888f", "#fdaa93", "#fecaa1",
)  # fmt: skip
"""Colours of the loss from good (dark) to bad (light), in equal steps in OKLab. The light colours have too little
contrast for lines, so this scale is only for dots with an outline.
"""

CATEGORIES = (
    "#0072b2", "#d55e00", "#009475", "#b8619a", "#a17c00", "#3a86c4", "#808080", "#7c62cc", "#b04a3f",
)  # fmt: skip
"""Colours of groups and metrics, in this order: the Okabe-Ito palette and two more colours. Light colours of the
palette are darkened to a contrast of 3 : 1 with white.
"""

PARTS = {"training": "#0072b2", "simulation": "#009475", "inference": "#a17c00"}
"""Colours of the parts of a cost."""

GREY = "#7d8791"
"""Colour of outlines, guides and secondary points on light and dark pages."""
ACCENT = "#0072b2"
"""Colour of a fitted law and its bands, in figures whose colours do not encode compute."""
FLOOR = "#b8619a"
"""Colour of the floor of a law, which is the loss at infinite compute."""
PLAN = "#d55e00"
"""Colour of highlighted results: a plan, a target, an outlier."""

FAINTEST, TINTS = 0.18, 11
"""Smallest opacity and number of steps of the colour scales that ``tints`` returns."""

DARK_PAGE = "#0f171c"
LIGHT_PAGE = "#ffffff"


def rgba(colour: str, alpha: float) -> str:
    """Return ``colour`` (#rrggbb) with the opacity ``alpha`` from 0 to 1, as a CSS colour."""
    r, g, b = _rgb(colour)
    return f"rgba({r},{g},{b},{alpha:g})"


def scale(colours: Sequence[str]) -> list[list[float | str]]:
    """Return ``colours`` at equal distances as a colour scale of Plotly."""
    return [[i / (len(colours) - 1), c] for i, c in enumerate(colours)]


def tints(colour: str) -> list[list[float | str]]:
    """Return a colour scale from a faint tint of ``colour`` to ``colour``.

    Its order is visible to colour-blind readers, and on light and dark pages: larger values differ more from the page.
    """
    shares = [i / (TINTS - 1) for i in range(TINTS)]
    return [[share, rgba(colour, FAINTEST + (1 - FAINTEST) * share)] for share in shares]


def compute_colour(C: float, span: tuple[float, float]) -> str:
    """Return the colour of ``C`` FLOPs on a log scale.

    ``span`` is the range of compute in the figure. Values outside have the colour of the nearest end.
    """
    low, high = math.log(span[0]), math.log(span[1])
    share = 0.5 if high <= low else min(max((math.log(C) - low) / (high - low), 0.0), 1.0)
    return _between(COMPUTE, share)


def category(index: int) -> str:
    """Return the colour of group or metric number ``index``, counted from 0; the order repeats after the last."""
    return CATEGORIES[index % len(CATEGORIES)]


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _between(colours: Sequence[str], share: float) -> str:
    at = share * (len(colours) - 1)
    left = min(int(at), len(colours) - 2)
    pairs = zip(_rgb(colours[left]), _rgb(colours[left + 1]), strict=True)
    return "#" + "".join(f"{round(a + (at - left) * (b - a)):02x}" for a, b in pairs)
