"""Formatting of numbers, of intervals and of the table of a fit, as text and HTML."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable
from typing import Any

Row = dict[str, Any]
Interval = tuple[float, float]


def plus_minus(value: float, error: float | None) -> str:
    """Return a value with its standard error as text: ``0.347 ± 0.015``.

    The error has two significant digits, and the value ends at the same digit. A value without an error has five
    significant digits.
    """
    known = error is not None and math.isfinite(error) and error > 0 and math.isfinite(value)
    return _scaled([value, error], error) if known and error is not None else number(value)


def beside_interval(value: float, ci68: Interval) -> str:
    """Return ``value`` as text without an error, rounded to the precision of its 68 % interval ``ci68``.

    The last digit is the second significant digit of the shorter side of the interval. The text has three significant
    digits if the shorter side is at least as long as ``|value|``, or if both ends of the interval are infinite.
    """
    sides = [abs(end - value) for end in ci68 if math.isfinite(end) and end != value]
    if not sides or not math.isfinite(value):
        return number(value, 3 if math.isinf(ci68[0]) or math.isinf(ci68[1]) else 5)
    return _scaled([value], min(sides)) if min(sides) < abs(value) else number(value, 3)


def _scaled(numbers: list[float], error: float) -> str:
    """Return a value and, if given, its error as text, rounded to the second digit of ``error``.

    Values outside 1e-4 to 1e6 are shown with a power of ten.
    """
    place = math.floor(math.log10(error)) - 1
    size = max(abs(x) for x in numbers)
    power = 0 if 1e-4 <= size < 1e6 else math.floor(math.log10(size))
    digits = max(power - place, 0)
    first, *errors = (f"{abs(round(x, -place)) / 10.0**power:.{digits}f}" for x in numbers)
    first = ("-" if numbers[0] < 0 else "") + first
    scale = f"e{power:+03d}" if power else ""
    text = f"{first} ± {errors[0]}" if errors else first
    return f"({text}){scale}" if scale and errors else text + scale


def number(value: float, digits: int = 5) -> str:
    """Return a number as text with ``digits`` significant digits; "not defined" for NaN."""
    return "not defined" if math.isnan(value) else f"{value:.{digits}g}"


def span(interval: Interval | None, digits: int = 4) -> str:
    """Return an interval as text: ``0.331 to 0.363``; ``at most 0.363`` or ``at least 0.331`` with an infinite end."""
    return "no interval" if interval is None else ends_in_words(interval, lambda x: number(x, digits))


def ends_in_words(interval: Interval, show: Callable[[float], str]) -> str:
    """Return an interval as text. ``show`` formats a finite end. An infinite end is omitted."""
    low, high = interval
    if math.isinf(low):
        return "unbounded" if math.isinf(high) else f"at most {show(high)}"
    return f"at least {show(low)}" if math.isinf(high) else f"{show(low)} to {show(high)}"


HEAD = ("parameter", "value", "68 %", "95 %", "meaning")


def page(heading: str, rows: Iterable[Row], notes: Iterable[str]) -> str:
    """Return the text of a fit for a terminal: heading, aligned table of ``rows``, and a paragraph for each note."""
    lines = [HEAD, *map(_cells, rows)]
    width = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    table = ("  ".join(cell.ljust(w) for cell, w in zip(line, width, strict=True)).rstrip() for line in lines)
    return "\n".join([heading, "", *table, *(f"\n{note}" for note in notes)])


def html_page(heading: str, latex: str, rows: Iterable[Row], notes: Iterable[str]) -> str:
    """Return the HTML of a fit for a notebook: the heading, the formula, a table of ``rows``, and a list of notes."""
    head = "".join(f"<th>{h}</th>" for h in HEAD)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(r)) + "</tr>" for r in rows)
    items = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    return (
        f"<p><b>{html.escape(heading)}</b></p><p>${latex}$</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" + (f"<ul>{items}</ul>" if items else "")
    )


def _cells(row: Row) -> tuple[str, ...]:
    return row["parameter"], row["text"], span(_ends(row, 68)), span(_ends(row, 95)), _meaning(row)


def chi2_per_dof(chi2: tuple[float, int] | None) -> str:
    """Return chi squared and its degrees of freedom as text, such as ``, chi2/dof = 61.2/57``; empty for None."""
    return f", chi2/dof = {chi2[0]:.4g}/{chi2[1]}" if chi2 else ""


def _ends(row: Row, level: int) -> Interval | None:
    low, high = row[f"low {level} %"], row[f"high {level} %"]
    return None if low is None or high is None else (low, high)


def _meaning(row: Row) -> str:
    return f"{row['meaning']} [{row['unit']}]" if row["unit"] else str(row["meaning"])
