"""Charts as data without style. All texts are HTML. A colour is named by its meaning, such as "training"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.fitting.types.result import Interval

Colour = Literal["law", "second", "text", "training", "simulation", "inference"]


@dataclass(frozen=True)
class Axis:
    """An axis from ``low`` to ``high``, logarithmic if ``log`` is true.

    ``ticks`` are the values with tick labels on a logarithmic axis; empty means the default ticks. On a linear axis,
    ``share`` shows values as signed percentages, with a line at zero. On a linear axis, ``short`` shows values in short
    form, such as 1.5M and 2B.
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
    """A line through the points (``x``, ``y``); all arrays have shape (n,).

    ``within`` is true at points that the limits allow, and ``seen`` at points that the runs support. The line is solid
    where both are true and dashed elsewhere. ``band`` contains the lower and the upper ends of the 68 % intervals of
    ``y``. ``hover`` is a Plotly hover template; ``texts`` contains, for each point, the text that replaces %{text} in
    the template. ``name`` is the name of the line in the hover text, and ``key`` is the text in the legend.
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
    """The area between the lines ``low`` and ``high`` over ``x`` (n,). ``name`` is shown inside if there is space."""

    name: str
    x: Floats
    low: Floats
    high: Floats
    colour: Colour


@dataclass(frozen=True, eq=False)
class Points:
    """Points (``x``, ``y``) with colours that show the positive or zero ``values``; all arrays have shape (n,).

    All points of a chart have one colour scale, from 0 to the largest value, and one colour bar with the ``title`` of
    the first points with values. Points without ``values`` are small and grey. Points with ``numbers`` are larger and
    outlined, and each has its number inside. ``hover`` is a Plotly hover template; ``texts`` contains, for each point,
    the text that replaces %{customdata} in the template. ``key`` is the text in the legend.
    """

    x: Floats
    y: Floats
    hover: str
    texts: tuple[str, ...]
    values: Floats | None = None
    title: str = ""
    numbers: tuple[str, ...] = ()
    key: str = ""


@dataclass(frozen=True)
class Marker:
    """A point of a chart: a star marks the answer, a ring marks any other point.

    ``x68`` and ``y68`` are the 68 % intervals of x and y. Only a star shows these intervals. ``key`` is the text of a
    star in the legend.
    """

    x: float
    y: float
    hover: str
    x68: Interval | None = None
    y68: Interval | None = None
    ring: str = ""
    """Name of a point that is drawn as a ring; empty for the star."""
    key: str = ""


@dataclass(frozen=True)
class Label:
    """A text at the point (x, y) of a line.

    The text is above and to the right of the point. ``below`` moves it below the point, and ``left`` moves it to the
    left. A small figure omits the label if ``spare`` is true.
    """

    x: float
    y: float
    text: str
    left: bool = False
    spare: bool = False
    below: bool = False


@dataclass(frozen=True)
class Shade:
    """A shaded range of the x axis, from ``low`` to ``high``.

    If ``colour`` is given, the range has a light tint and ``text`` is its title in the middle. Otherwise the range is
    grey and ``text`` is at its right end.
    """

    low: float
    high: float
    text: str = ""
    colour: Colour | None = None


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart of areas, curves and points over two axes.

    ``alt`` describes the chart for readers who cannot see it. ``name`` is the file name without the extension.
    ``uprights`` are vertical lines: each has its x, its text, and an additional text that a small figure omits.
    ``columns`` contains the numbers of the chart, for the table below the chart.

    The notes "beyond the limits" and "beyond the runs" are at the top of the chart if ``top`` is true, otherwise at the
    bottom. The texts of the vertical lines are at the opposite edge.
    """

    name: str
    alt: str
    x: Axis
    y: Axis
    curves: tuple[Curve, ...] = ()
    areas: tuple[Area, ...] = ()
    points: tuple[Points, ...] = ()
    markers: tuple[Marker, ...] = ()
    labels: tuple[Label, ...] = ()
    shades: tuple[Shade, ...] = ()
    uprights: tuple[tuple[float, str, str], ...] = ()
    columns: Mapping[str, Floats | Bools] = field(default_factory=dict)
    top: bool = True
