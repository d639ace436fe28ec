"""The answer to a planner question: its sentences, text and document, and what the page shows of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from isoplan.engine.fitting.types.result import FitWarning
from isoplan.engine.planning.answer.document import Document
from isoplan.engine.planning.answer.format import COLUMNS, Row, cells
from isoplan.engine.planning.questions.chart import Chart


@dataclass(frozen=True)
class Table:
    """A table: its ``head``, its ``rows`` of as many texts, and what it shows, for readers who do not see it."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    alt: str


def tabulate(rows: Iterable[Row], alt: str) -> Table:
    """Return a table of numbers with their intervals."""
    return Table(COLUMNS, tuple(tuple(cells(row).values()) for row in rows), alt)


@dataclass(frozen=True, eq=False)
class Part:
    """A table, a chart, or both under a ``title``; ``caption`` is below. The chart is computed when it is drawn."""

    table: Table | None = None
    chart: Callable[[], Chart] | None = None
    title: str = ""
    caption: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """An answer: print it to read it as in the terminal, or write its ``document`` to a file with ``isoplan.save``.

    ``result`` has the numbers. The page shows the sentence of the document, ``remarks`` and the ``conclusion`` below
    it, the ``parts``, and in a box ``hint``: what else could be given. ``name`` is the name under which the answer is
    saved if the user types no other.
    """

    result: Any
    text: str
    document: Document
    warnings: tuple[FitWarning, ...]
    name: str
    remarks: tuple[str, ...] = ()
    conclusion: str = ""
    parts: tuple[Part, ...] = ()
    hint: str = ""

    def __repr__(self) -> str:
        return self.text
