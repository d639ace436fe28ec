"""Charts as data: content without style. Texts are HTML for figures, and colours are named by their meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.fitting.types.result import Interval

Colour = Literal["law", "second", "text", "training", "simulation", "inference"]


@dataclass(frozen=True)
class Axis:
    """An axis from ``low`` to ``high``, logarithmic if ``log``, with labels at ``ticks`` if there are any.

    ``share`` writes values as signed percentages around a line at zero, ``short`` as 1.5M and 2B.
    """

    label: str
    low: float
    high: float
    unit: str = ""
    log: bool = False
    ticks: tuple[float, ...] = ()
    share: bool = False
    short: bool = False


@dataclass(frozen=True, eq=False)
class Curve:
    """A line over ``x`` (n,): solid if limits allow it (``within``) and runs support it (``seen``), else dashed.

    ``band`` contains the ends of its 68 % interval. ``hover`` is a hover template of plotly, and ``texts`` are the
    values of its ``text``. ``name`` is the name of the line and ``key`` its text in the key of the chart.
    """

    x: Floats
    y: Floats
    within: Bools
    seen: Bools
    colour: Colour = "law"
    width: float = 2.4
    hover: str = ""
    texts: tuple[str, ...] = ()
    band: tuple[Floats, Floats] | None = None
    name: str = ""
    key: str = ""


@dataclass(frozen=True, eq=False)
class Area:
    """The area between two lines over ``x`` (n,), labelled with its name if there is space."""

    name: str
    x: Floats
    low: Floats
    high: Floats
    colour: Colour


@dataclass(frozen=True)
class Marker:
    """A point: the answer as a star, or another point as a ring. ``x68`` and ``y68`` are its 68 % intervals."""

    x: float
    y: float
    hover: str
    x68: Interval | None = None
    y68: Interval | None = None
    ring: str = ""
    """The name of the point if it is a ring."""


@dataclass(frozen=True)
class Label:
    """A text next to a line at (x, y), left of the point if ``left``, else right; omitted in a small figure if
    ``spare``. It is above the point, or ``below`` it.
    """

    x: float
    y: float
    text: str
    left: bool = False
    spare: bool = False
    below: bool = False


@dataclass(frozen=True)
class Shade:
    """A part of the x axis, grey with a text at its right, or lightly tinted in ``colour`` with a title."""

    low: float
    high: float
    text: str = ""
    colour: Colour | None = None


@dataclass(frozen=True, eq=False)
class Chart:
    """Areas, curves and points over two axes; ``alt`` describes the chart for readers who cannot see it.

    ``name`` is its file name without the extension. ``uprights`` are vertical lines, each with its x, its text, and
    the rest of the text, which is omitted in a small figure.
    Remarks on limits and runs are at the top if ``top``, else at the bottom; the texts of vertical lines are at the
    other end. ``columns`` are the numbers of its table.
    """

    name: str
    alt: str
    x: Axis
    y: Axis
    curves: tuple[Curve, ...] = ()
    areas: tuple[Area, ...] = ()
    markers: tuple[Marker, ...] = ()
    labels: tuple[Label, ...] = ()
    shades: tuple[Shade, ...] = ()
    uprights: tuple[tuple[float, str, str], ...] = ()
    columns: Mapping[str, Floats | Bools] = field(default_factory=dict)
    top: bool = True
