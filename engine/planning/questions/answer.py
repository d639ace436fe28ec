"""Answer to a planner question: its sentences, its text, its document, and the tables and charts on the page."""

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
    """A table of texts: ``head`` has the column headings, and each of ``rows`` as many cells.

    ``alt`` describes the table for readers who cannot see it.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    alt: str


def tabulate(rows: Iterable[Row], alt: str) -> Table:
    """Return a table of numbers with the columns value, unit and intervals."""
    return Table(COLUMNS, tuple(tuple(cells(row).values()) for row in rows), alt)


@dataclass(frozen=True, eq=False)
class Part:
    """A table, a chart, or both, under ``title``, with ``caption`` below.

    ``chart`` is a function that computes the chart when the page shows it. A ``folded`` part is shown under "Details".
    """

    table: Table | None = None
    chart: Callable[[], Chart] | None = None
    title: str = ""
    caption: str = ""
    folded: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """Answer to a planner question. Its representation in Python is the text that the terminal prints.

    ``result`` contains the numbers. The page shows the ``sentence``, the ``remarks``, the ``conclusion`` and the
    ``parts``, and in a box the ``hint``, which names further possible inputs. ``document`` is the content for export,
    which ``isoplan.save`` writes; ``name`` is its default file name. If ``document`` is None, ``no_file`` states what
    is missing for it. ``notes`` describe how run tables were read.
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
        """The answer in one sentence: that of the document, or the first line of the text if there is no document."""
        return self.document.sentence if self.document is not None else self.text.partition("\n")[0]

    @property
    def file(self) -> Document:
        """The document for export. Raises PlannerError if the answer has none."""
        if self.document is None:
            raise PlannerError(self.no_file)
        return self.document

    def __repr__(self) -> str:
        return self.text
