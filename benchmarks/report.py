"""Report of a benchmark: a title, a sentence and a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Report:
    """Result of a benchmark.

    ``sentence`` describes the method and the goal. Each row contains one text for each of the ``columns``.
    """

    title: str
    sentence: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """Return the report as a section of a Markdown page."""
        return "\n".join([f"## {self.title}\n\n{self.sentence}\n", *table(self.columns, self.rows)])

    def text(self) -> str:
        """Return the report as text with aligned columns, for a terminal."""
        lines = [self.columns, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        body = "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)
        return f"\n{self.title}\n{self.sentence}\n{body}\n"


def quantile(values: Sequence[float], q: float) -> float:
    """Return the ``q`` quantile of ``values`` by the nearest-rank method, which returns one of the values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(q * len(ordered) - 1e-9) - 1)]


def ms(seconds: float) -> str:
    """Return a time in milliseconds as text."""
    return f"{seconds * 1e3:,.0f} ms"


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table with the column names ``head``."""
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines)]


def pair(value: float, ends: tuple[float, float] | None) -> str:
    """Return a number with its interval as text, such as ``0.33 (0.3 to 0.36)``."""
    return f"{value:.3g} ({between(ends)})"


def between(ends: tuple[float, float] | None) -> str:
    """Return an interval as text: ``0.3 to 0.36``, or ``below 0.36`` if the data do not determine the lower end."""
    if ends is not None and math.isinf(ends[0]):
        return "not determined" if math.isinf(ends[1]) else f"below {ends[1]:.3g}"
    if ends is not None and math.isinf(ends[1]):
        return f"above {ends[0]:.3g}"
    return "no interval" if ends is None else f"{ends[0]:.3g} to {ends[1]:.3g}"
