"""Document of an answer: CSV with all digits, Markdown rounded as the intervals permit."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from isoplan.engine.escaping import as_text, escape, table
from isoplan.engine.fitting.types.result import FitWarning
from isoplan.engine.fitting.types.warnings import Level, by_level
from isoplan.engine.planning.answer.format import Row, as_row
from isoplan.engine.planning.answer.quantity import Quantity

CSV_COLUMNS = ("quantity", "value", "unit", "low68", "high68", "low95", "high95", "beyond", "note")
MARKDOWN = ("Quantity", "Value", "Unit", "68 %", "95 %", "Beyond the runs", "Note")

Line = tuple[str, Quantity | str]
"""A line of an answer's table: its label, and its number or a text if it has none."""


@dataclass(frozen=True)
class Document:
    """Content from which every answer is exported: a sentence, the lines of its table, and its notes.

    Without an answer ``lines`` is empty and only sentence and notes are written. ``body`` is the JSON object of the
    answer, ``script`` the Python that reproduces it.
    """

    sentence: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    body: Mapping[str, Any]
    script: str


def warned(warnings: Iterable[FitWarning]) -> tuple[str, ...]:
    """Return warnings as notes of a document; those of level stop come first and show their level."""
    return tuple(w.line if w.level is Level.STOP else w.text for w in by_level(warnings))


def to_csv(document: Document) -> str:
    """Return the lines as CSV, one row per line, with all digits.

    An infinite end is ``inf``, a missing number is empty. Without an answer, one row states why and each note has a
    row.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(CSV_COLUMNS)
    why: list[Line] = [("No answer", document.sentence), *(("Note", text) for text in document.notes)]
    for label, cell in document.lines or why:
        writer.writerow(map(as_text, [label, *_digits(cell)]))
    return out.getvalue()


def _digits(cell: Quantity | str) -> list[Any]:
    if isinstance(cell, str):
        return [cell, *[""] * (len(CSV_COLUMNS) - 2)]
    ends = [x for ci in (cell.ci68, cell.ci95) for x in (ci or ("", ""))]
    return ["" if cell.value is None else repr(cell.value), cell.unit, *ends, cell.beyond, cell.note]


def to_markdown(document: Document) -> str:
    """Return the answer as Markdown: its sentence, its table and its notes."""
    sentence, notes = escape(document.sentence), [f"- {escape(text)}" for text in document.notes]
    if not document.lines:
        return "\n".join([sentence, "", *notes, ""])
    rows = [_row(label, cell) for label, cell in document.lines]
    body = [(r.quantity, r.value, r.unit, r.ci68, r.ci95, r.beyond, r.note) for r in rows]
    return "\n".join([sentence, "", *table(MARKDOWN, body), "", *notes, ""])


def _row(label: str, cell: Quantity | str) -> Row:
    return Row(label, cell, "", "", "", "", "") if isinstance(cell, str) else as_row(label, cell)
