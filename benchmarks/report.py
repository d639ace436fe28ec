"""What a measure returns: a title, a sentence and a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Report:
    """``rows`` are tuples as long as ``columns``; the sentence says what was done and what the goal is."""

    title: str
    sentence: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """The report as a section of a Markdown page."""
        lines = [self.columns, tuple("---" for _ in self.columns), *self.rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"## {self.title}\n\n{self.sentence}\n\n{table}"

    def text(self) -> str:
        """The report for a terminal, in aligned columns."""
        lines = [self.columns, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        body = "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)
        return f"\n{self.title}\n{self.sentence}\n{body}\n"


def quantile(values: Sequence[float], q: float) -> float:
    """The value below which a share ``q`` of ``values`` lies (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(q * len(ordered) - 1e-9) - 1)]


def ms(seconds: float) -> str:
    """Seconds as milliseconds, for a table."""
    return f"{seconds * 1e3:,.0f} ms"
