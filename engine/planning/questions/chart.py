"""A chart as data: what it shows, not how it looks. Texts are HTML as figures read it; colours go by their meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.fitting.types.result import Interval

Colour = Literal["law", "text", "training", "simulation", "inference"]


@dataclass(frozen=True)
class Axis:
    """An axis from ``low`` to ``high``, logarithmic where ``log``, with labelled ``ticks`` where there are any.

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
    """A line over ``x`` (n,): solid where limits allow it (``within``) and runs support it (``seen``), else dashed.

    ``band`` has the ends of its 68 % interval. ``hover`` is the template of plotly, ``texts`` what it calls text.
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


@dataclass(frozen=True, eq=False)
class Area:
    """The area between two lines over ``x`` (n,), with its name on it where there is room."""

    name: str
    x: Floats
    low: Floats
    high: Floats
    colour: Colour


@dataclass(frozen=True)
class Marker:
    """A point: the answer as a star, another as a ring. ``x68`` and ``y68`` are its intervals."""

    x: float
    y: float
    hover: str
    x68: Interval | None = None
    y68: Interval | None = None
    ring: str = ""
    """The name of the point if it is a ring."""


@dataclass(frozen=True)
class Label:
    """A text beside a line at (x, y), ``left`` or right of the point; a ``spare`` one is left out of a small figure."""

    x: float
    y: float
    text: str
    left: bool = False
    spare: bool = False


@dataclass(frozen=True)
class Shade:
    """A grey part of the x axis with a text in it."""

    low: float
    high: float
    text: str


@dataclass(frozen=True, eq=False)
class Chart:
    """Areas, curves and points over two axes; ``alt`` says what it shows, for readers who do not see it.

    ``name`` is its file name without the ending. ``uprights`` are the texts of vertical lines by their x. Remarks on
    limits and runs stand at the ``top`` or at the bottom. ``columns`` are the numbers of its table.
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
    uprights: tuple[tuple[float, str], ...] = ()
    columns: Mapping[str, Floats | Bools] = field(default_factory=dict)
    top: bool = True
