"""Answer to a planner question: its sentences, text and document, and the parts that the page shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import FitWarning
from isoplan.engine.planning.answer.document import Document
from isoplan.engine.planning.answer.format import COLUMNS, Row, cells
from isoplan.engine.planning.questions.chart import Chart


@dataclass(frozen=True)
class Table:
    """A table with a ``head`` and ``rows`` of the same length; ``alt`` describes it for readers who cannot see it."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    alt: str


def tabulate(rows: Iterable[Row], alt: str) -> Table:
    """Return a table of numbers with their intervals."""
    return Table(COLUMNS, tuple(tuple(cells(row).values()) for row in rows), alt)


@dataclass(frozen=True, eq=False)
class Part:
    """A table, a chart, or both, under ``title``, with ``caption`` below. The chart is computed when it is drawn."""

    table: Table | None = None
    chart: Callable[[], Chart] | None = None
    title: str = ""
    caption: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """Answer to a planner question, printed as in the terminal. ``isoplan.save`` saves its ``document``.

    ``result`` contains the numbers. The page shows the ``sentence``, ``remarks`` and the ``conclusion``, then
    ``parts``, and in a box the ``hint``, which names further possible inputs. ``name`` is the default name of the saved
    answer. If ``document`` is None, ``no_file`` states what is missing for it. ``notes`` describe how run
    tables were read.
    """

    result: Any
    text: str
    document: Document | None
    warnings: tuple[FitWarning, ...]
    name: str
    remarks: tuple[str, ...] = ()
    conclusion: str = ""
    parts: tuple[Part, ...] = ()
    hint: str = ""
    no_file: str = ""
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The answer in one sentence: that of the document, else the first line of the text."""
        return self.document.sentence if self.document is not None else self.text.partition("\n")[0]

    @property
    def file(self) -> Document:
        """The document that is written to files. Raises PlannerError if the answer has none."""
        if self.document is None:
            raise PlannerError(self.no_file)
        return self.document

    def __repr__(self) -> str:
        return self.text
