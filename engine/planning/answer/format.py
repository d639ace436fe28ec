"""Conversion of the numbers of answers to rounded text, and to tables for a terminal.

The interval of a number determines the digits to which the number is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from isoplan.engine.fitting.types.result import Interval
from isoplan.engine.fitting.types.text import ends_in_words
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.quantities import count, digits, duration, power10, to_places

COUNTED = ("parameters", "tokens", "jets", "events", "points", "samples", "negatives", "sequences")
"""Units of numbers that are shown with the suffix k, M or B, such as 1.9 B parameters."""
MONEY = ("EUR", "USD")
MILLION = 1e6
"""Smallest amount of money that is shown in millions, such as 1.4 M EUR. Smaller amounts are written in full, such as
402,000 EUR.
"""
SECONDS = "s"
"""Unit of times. The text of a time includes its unit, such as "4.2 min", so this unit is not shown."""
UNREACHABLE = "not reachable"
FAR_END = 10.0
"""An end of an interval is rounded to two significant digits if it is at least this many times the value. Other ends
are rounded to the same decimal as the value.
"""
SURE = 0.999
"""A target with a higher probability than this number counts as certain: a plan does not state its probability."""


@dataclass(frozen=True)
class Row:
    """A row of a table of numbers. Every field is formatted text."""

    quantity: str
    value: str
    unit: str
    ci68: str
    ci95: str
    beyond: str
    note: str


FACTOR_UP_TO = 3.0
"""Texts also state a distance as a factor if the distance is smaller than this number of decades."""
COLUMNS = ("Quantity", "Value", "68 %", "95 %", "Note")


def cells(row: Row) -> dict[str, str]:
    """Return the texts of a row, keyed by the column headings of a page."""
    unit = f" [{row.unit}]" if row.unit and " per " not in row.unit and row.unit not in row.quantity else ""
    far = f"{row.beyond} beyond" if row.beyond else ""
    shown = (row.quantity + unit, row.value, row.ci68, row.ci95, ", ".join(filter(None, (row.note, far))))
    return dict(zip(COLUMNS, shown, strict=True))


def as_row(label: str, q: Quantity) -> Row:
    """Return the number ``q`` as a row of a table."""
    missing = "-" if q.ci68 is None else UNREACHABLE
    return Row(
        label,
        number(q) if q.value is not None else missing,
        shown_unit(q) if q.value is not None and q.unit != label else "",
        "" if q.note == "given" else between(q, q.ci68),
        "" if q.note == "given" else between(q, q.ci95),
        decades(q.beyond) if q.beyond > 0.005 else "",
        q.note,
    )


def cell_texts(rows: Iterable[Mapping[str, str | Quantity]]) -> list[dict[str, str]]:
    """Convert rows of texts and quantities to rows of texts; a missing value becomes "-"."""
    return [
        {name: x if isinstance(x, str) else "-" if x.value is None else number(x) for name, x in row.items()}
        for row in rows
    ]


def table(body: Iterable[Row]) -> list[str]:
    """Return a table of numbers as text lines for a terminal; the first line has the headings."""
    head = ("", "value", "68 %", "95 %", "beyond the runs", "")
    cells = [head, *((r.quantity, f"{r.value} {r.unit}".strip(), r.ci68, r.ci95, r.beyond, r.note) for r in body)]
    return aligned(cells)


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return one text line per row of cells. Cells are padded so that the columns align."""
    width = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(cell.ljust(w) for cell, w in zip(line, width, strict=True)).rstrip() for line in lines]


def number(q: Quantity, x: float | None = None, keep: int | None = None) -> str:
    """Return the value of ``q`` as text without its unit.

    Examples are "1.9 B" (parameters), "10²⁰" (FLOPs) and "1.4 M" (EUR). If ``x`` is given, the text shows ``x`` instead
    of the value, in the style of ``q``. ``keep`` is the number of significant digits; by default, the 68 % interval
    determines this number.
    """
    x = q.value if x is None else x
    if x is None:
        return "none"
    if math.isinf(x):
        return "∞" if x > 0 else "-∞"
    if x == 0:
        return "0"
    keep = keep or significant(q)
    if q.unit in COUNTED:
        known = q.ci68 is not None and q.ci68[0] < q.ci68[1]
        # With an interval, the value is rounded like the ends of the interval. A value of 953 would otherwise lie
        # outside an interval whose upper end is shown as 950.
        return count(float(f"{x:.{keep - 1}e}") if known else x, keep)
    if q.unit == "FLOPs":
        return power10(x, keep)
    if q.unit == SECONDS:
        return duration(x)
    spread = q.ci68 if q.ci68 and q.ci68[0] < q.ci68[1] else None
    places = digits(x if q.value is None or spread is None else q.value, spread)
    if q.value is not None and abs(x) >= FAR_END * abs(q.value) > 0:
        places = min(places, 1 - math.floor(math.log10(abs(x))))
    if round(x, places) == 0:  # such as the lower end 163 of an interval of the value 49,000
        places = digits(x, None)
    if q.unit in MONEY and abs(round(x, places)) >= MILLION:
        return count(x, keep)
    return to_places(x, places)


def significant(q: Quantity) -> int:
    """Return the number of significant digits of ``q``, from 2 to 4. A narrower 68 % interval gives more digits."""
    if q.value is None or not q.ci68 or q.ci68[0] >= q.ci68[1] or not q.value:
        return 3 if q.note == "given" or not q.ci68 else 2
    return min(max(digits(q.value, q.ci68) + math.floor(math.log10(abs(q.value))) + 1, 2), 4)


def between(q: Quantity, ends: Interval | None) -> str:
    """Return the interval ``ends`` of ``q`` as text: "1.7 B to 2.1 B", or "at least 1.7 B" if it has no upper end."""
    return "" if ends is None else span(ends, partial(number, q))


def span(ends: Interval, show: Callable[[float], str]) -> str:
    """Return an interval as text; the function ``show`` formats each end."""
    return UNREACHABLE if ends[0] == math.inf else ends_in_words(ends, show)


def with_interval(q: Quantity) -> str:
    """Return a value with its unit and 68 % interval, such as "1.9 B parameters (68 %: 1.7 B to 2.1 B)".

    The interval is left out if both ends have the same text as the value.
    """
    known = q.ci68 is not None and q.note != "given" and any(number(q, end) != number(q) for end in q.ci68)
    spread = f" (68 %: {between(q, q.ci68)})" if known else ""
    return f"{number(q)} {shown_unit(q)}".rstrip() + spread


def shown_unit(q: Quantity) -> str:
    """Return the unit to write after the number; empty for a time, because the text of a time includes the unit."""
    return "" if q.unit == SECONDS else q.unit


def decades(x: float) -> str:
    """Return a number of decades (factors of ten) as text: "0.13 decades", "1 decade", "160 decades"."""
    shown = f"{x:.0f}" if x >= 9.95 else f"{x:.2g}"
    return f"{shown} decade" if shown == "1" else f"{shown} decades"


def distance(x: float) -> str:
    """Return a number of decades with its factor, for readers who do not know decades: "1.2 decades (16 times)".

    The factor is left out beyond three decades, where it has no use.
    """
    return decades(x) if x >= FACTOR_UP_TO else f"{decades(x)} ({float(f'{10**x:.2g}'):g} times)"


def probability(p: float | None) -> str:
    """Return a probability as text in whole percent, such as "about 62 %", "less than 1 %" or "more than 99 %".

    A fraction of 1,000 resamples has a standard error of up to 1.6 %, so further digits have no meaning.
    """
    percent = 100 * (p or 0.0)
    if percent < 0.5:
        return "less than 1 %"
    return "more than 99 %" if percent > 99.5 else f"about {percent:.0f} %"
