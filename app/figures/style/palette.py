"""Colours: one scale for compute, one for loss, one fixed order for groups and metrics.

Every line colour has a contrast of at least 3 : 1 with white and with the dark page (#0f171c), so figures stay legible
without a redraw if the reader switches the theme.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

COMPUTE = (
    "#6950be", "#4760c9", "#0b6fc2", "#0d79a6", "#0f858e", "#118f73", "#129650", "#51961d", "#829110", "#a88b11",
    "#c98212",
)  # fmt: skip
"""Compute, small to large: equal steps in OKLab, with monotone lightness and blue-yellow (colour-blind safe)."""

LOSS = (
    "#590474", "#751e88", "#943395", "#b4469d", "#d5579d", "#f46a96", "#fd888f", "#fdaa93", "#fecaa1",
)  # fmt: skip
"""Loss, good to bad: equal steps in OKLab, dark to light. For dots with an outline, never for lines."""

CATEGORIES = (
    "#0072b2", "#d55e00", "#009475", "#b8619a", "#a17c00", "#3a86c4", "#808080", "#7c62cc", "#b04a3f",
)  # fmt: skip
"""Groups and metrics: the colours of Okabe and Ito in order, light ones darkened to 3 : 1 on white, and two more."""

PARTS = {"training": "#0072b2", "simulation": "#009475", "inference": "#a17c00"}
"""Parts of a bill."""

GREY = "#7d8791"
"""Outlines, floors and guides, on light and dark backgrounds."""
ACCENT = "#0072b2"
"""Fitted law and its bands, if colour does not encode compute."""
FLOOR = "#b8619a"
"""Floor of a law, the limit of the loss at infinite compute."""
PLAN = "#d55e00"
"""Highlighted results: the plan, the target, an outlier."""

DARK_PAGE = "#0f171c"
LIGHT_PAGE = "#ffffff"


def rgba(colour: str, alpha: float) -> str:
    """Return ``colour`` (#rrggbb) with an opacity from 0 to 1."""
    r, g, b = _rgb(colour)
    return f"rgba({r},{g},{b},{alpha:g})"


def scale(colours: Sequence[str]) -> list[list[float | str]]:
    """Return a Plotly colour scale of equal steps."""
    return [[i / (len(colours) - 1), c] for i, c in enumerate(colours)]


def compute_colour(C: float, span: tuple[float, float]) -> str:
    """Return the colour of ``C`` FLOPs on a log scale over ``span``, the range of the figure, clipped at its ends."""
    low, high = math.log(span[0]), math.log(span[1])
    share = 0.5 if high <= low else min(max((math.log(C) - low) / (high - low), 0.0), 1.0)
    return _between(COMPUTE, share)


def category(index: int) -> str:
    """Return the colour of group or metric number ``index``; the order repeats after the last."""
    return CATEGORIES[index % len(CATEGORIES)]


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _between(colours: Sequence[str], share: float) -> str:
    at = share * (len(colours) - 1)
    left = min(int(at), len(colours) - 2)
    pairs = zip(_rgb(colours[left]), _rgb(colours[left + 1]), strict=True)
    return "#" + "".join(f"{round(a + (at - left) * (b - a)):02x}" for a, b in pairs)
