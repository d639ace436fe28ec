"""Answer to a planner question: sentences, text for the terminal, document for export, tables and charts."""

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
    """A table of texts. ``head`` contains the column headings; each row has one text per column.

    ``alt`` describes the table for readers who cannot see it.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    alt: str


def tabulate(rows: Iterable[Row], alt: str) -> Table:
    """Return ``rows`` as a table of texts: quantity, value, 68 % interval, 95 % interval and note."""
    return Table(COLUMNS, tuple(tuple(cells(row).values()) for row in rows), alt)


@dataclass(frozen=True, eq=False)
class Part:
    """A section of the answer on the page: a title, then a table, a chart or both, then a caption.

    ``chart`` is a function that computes the chart; the page calls this function when the chart is shown. If ``folded``
    is true, the page shows the section under "Details".
    """

    table: Table | None = None
    chart: Callable[[], Chart] | None = None
    title: str = ""
    caption: str = ""
    folded: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """Answer to a planner question. ``repr`` returns ``text``, which the terminal prints.

    ``result`` contains the numbers. The page shows the ``sentence``, the ``remarks``, the ``conclusion`` and the
    ``parts``. It also shows the ``hint`` in a box; the hint names further possible inputs. ``document`` is the content
    for export, which ``isoplan.save`` writes to a file; ``name`` is the default name of this file. If ``document`` is
    None, ``no_file`` states which input is missing for the export. ``notes`` describe how run tables were read.
    ``rows`` are the rows of the chosen cells in ``Given.candidates``, in the order of training; they are empty if no
    cell is worth its cost.
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
    rows: tuple[int, ...] = ()

    @property
    def sentence(self) -> str:
        """The answer in one sentence. Without a document, this is the first line of ``text``."""
        return self.document.sentence if self.document is not None else self.text.partition("\n")[0]

    @property
    def file(self) -> Document:
        """The document for export. Raises PlannerError if the answer has no document."""
        if self.document is None:
            raise PlannerError(self.no_file)
        return self.document

    def __repr__(self) -> str:
        return self.text
