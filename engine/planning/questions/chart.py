"""Charts as data without style. Texts are HTML, and a colour is named by its meaning, such as "training"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.fitting.types.result import Interval

Colour = Literal["law", "second", "text", "training", "simulation", "inference"]


@dataclass(frozen=True)
class Axis:
    """An axis from ``low`` to ``high``. It is logarithmic if ``log``, and has labels at ``ticks`` if these are given.

    With ``share`` values are shown as signed percentages, with a line at zero. With ``short`` they are such as 1.5M and
    2B.
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
    """A line over ``x`` (n,).

    It is solid where limits allow it (``within``) and runs support it (``seen``), else dashed. ``band`` has the two
    ends of its 68 % interval, each (n,). ``hover`` is a hover template of plotly, and ``texts`` are what its variable
    ``text`` stands for at each point. ``name`` is the name of the line, ``key`` its text in the legend.
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
    """The area between the lines ``low`` and ``high`` over ``x`` (n,). Its name is shown in it if there is space."""

    name: str
    x: Floats
    low: Floats
    high: Floats
    colour: Colour


@dataclass(frozen=True)
class Marker:
    """A point: a star for the answer, or a ring for another point. ``x68`` and ``y68`` are its 68 % intervals."""

    x: float
    y: float
    hover: str
    x68: Interval | None = None
    y68: Interval | None = None
    ring: str = ""
    """Name of the point if it is a ring; empty for the star."""


@dataclass(frozen=True)
class Label:
    """A text at the point (x, y) of a line. It is above the point, or below it if ``below``.

    It is to the left of the point if ``left``, else to the right. A ``spare`` label is omitted in a small figure.
    """

    x: float
    y: float
    text: str
    left: bool = False
    spare: bool = False
    below: bool = False


@dataclass(frozen=True)
class Shade:
    """A shaded range of the x axis.

    It is lightly tinted with a title if ``colour`` is given, else grey with a text at its right.
    """

    low: float
    high: float
    text: str = ""
    colour: Colour | None = None


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart of areas, curves and points over two axes.

    ``alt`` describes the chart for readers who cannot see it. ``name`` is its file name without the extension.
    ``uprights`` are vertical lines: each has its x, its text, and an additional text that is omitted in a small figure.
    Remarks on limits and runs are at the top if ``top``, else at the bottom; the texts of vertical lines are at the
    opposite end. ``columns`` are the numbers of the chart for its table.
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
