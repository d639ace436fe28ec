"""Document of an answer, and its export as CSV, Markdown and LaTeX.

CSV has all digits. Markdown and LaTeX round each number as its interval permits.
"""

from __future__ import annotations

import csv
import io
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from isoplan.engine.escaping import as_text, escape, table
from isoplan.engine.fitting.types.result import FitWarning, Interval
from isoplan.engine.fitting.types.warnings import Level, by_level
from isoplan.engine.planning.answer.format import UNREACHABLE, Row, as_row, significant, span
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.quantities import digits

CSV_COLUMNS = ("quantity", "value", "unit", "low68", "high68", "low95", "high95", "beyond", "note")
MARKDOWN = ("Quantity", "Value", "Unit", "68 %", "95 %", "Beyond the runs", "Note")
PLAIN = (1e-2, 1e4)
"""LaTeX shows a number in this range without a power of ten."""
SPECIAL = str.maketrans(
    {c: f"\\{c}" for c in "%_&#${}"}
    | {"^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "\\": r"\textbackslash{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "×": r"$\times$", "∞": r"$\infty$"}
)
"""LaTeX code for characters that have a special meaning in LaTeX or that the text fonts of LaTeX lack."""
POWER = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")
WIDE = 2.0
"""If an end of an interval differs from the value by more than this factor, LaTeX shows the two ends themselves instead
of their differences from the value.
"""

Line = tuple[str, Quantity | str]
"""A line of the table of an answer: a label, followed by a number or by a text that replaces the number."""


@dataclass(frozen=True)
class Document:
    """Content of an answer for export: a sentence, the lines of its table, and notes.

    If the runs do not support the answer, ``lines`` is empty, and only the sentence and the notes are exported.
    ``body`` is the JSON object of the answer, ``script`` the Python script that reproduces it.
    """

    sentence: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    body: Mapping[str, Any]
    script: str


def warned(warnings: Iterable[FitWarning]) -> tuple[str, ...]:
    """Return the texts of ``warnings``; those of level "stop" come first and name their level."""
    return tuple(w.line if w.level is Level.STOP else w.text for w in by_level(warnings))


def to_csv(document: Document) -> str:
    """Return the table as CSV, with all digits.

    An infinite end of an interval is written as ``inf``, and a missing number as an empty field. If the document has no
    lines, the table contains one row for the sentence and one row for each note.
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
    """Return the sentence, the table and the notes of an answer in Markdown."""
    sentence, notes = escape(document.sentence), [f"- {escape(text)}" for text in document.notes]
    if not document.lines:
        return "\n".join([sentence, "", *notes, ""])
    rows = [_row(label, cell) for label, cell in document.lines]
    body = [(r.quantity, r.value, r.unit, r.ci68, r.ci95, r.beyond, r.note) for r in rows]
    return "\n".join([sentence, "", *table(MARKDOWN, body), "", *notes, ""])


def _row(label: str, cell: Quantity | str) -> Row:
    return Row(label, cell, "", "", "", "", "") if isinstance(cell, str) else as_row(label, cell)


def to_latex(document: Document) -> str:
    """Return the table of an answer in LaTeX.

    If the document has no lines, its sentence and its notes are returned as paragraphs instead.

    The superscript and subscript of a value are the differences to the ends of its 68 % interval. They have as many
    decimals as the value.
    """
    if not document.lines:
        return "\n\n".join(map(_latex_text, (document.sentence, *document.notes))) + "\n"
    rows = [" & ".join((_latex_text(label), *_latex_cells(cell))) + r" \\" for label, cell in document.lines]
    head = r"Quantity & Value (68\,\% interval) & Unit \\"
    return "\n".join([r"\begin{tabular}{lll}", r"\hline", head, r"\hline", *rows, r"\hline", r"\end{tabular}", ""])


def _latex_cells(cell: Quantity | str) -> tuple[str, str]:
    return (_latex_text(cell), "") if isinstance(cell, str) else (latex(cell), _latex_text(cell.unit))


def latex(q: Quantity) -> str:
    """Return a number in LaTeX, such as $8.5^{+0.4}_{-0.3}$, with a power of ten if needed.

    A number with a wide interval is written with both ends, such as $8$ ($2$ to $30$).
    """
    if q.value is None:
        return "---" if q.ci68 is None else UNREACHABLE
    if q.ci68 is not None and q.note != "given" and _wide(q.value, q.ci68):
        keep = significant(q)
        return f"{_one(q.value, keep)} ({span(q.ci68, partial(_one, keep=keep))})"
    power = _power(q.value)
    scale = 10.0**power
    known = q.ci68 is not None and q.ci68[0] < q.ci68[1] and q.note != "given"
    ends = (q.ci68[0] / scale, q.ci68[1] / scale) if q.ci68 is not None and known else None
    value = q.value / scale
    places = digits(value, ends)
    return f"${_fixed(value, places)}{_spread(value, ends, places)}{_times(power)}$"


def _wide(value: float, ends: Interval) -> bool:
    """Return whether the interval is too wide to be written as differences from the value.

    The interval is too wide if one of its ends is infinite, has the opposite sign of the value, or differs from the
    value by more than a factor of two.
    """
    return any(
        math.isinf(end) or (end != value and not 1 / WIDE <= (end / value if value else math.inf) <= WIDE)
        for end in ends
    )


def _one(x: float, keep: int) -> str:
    """Return a number in LaTeX without an interval, rounded to ``keep`` significant digits."""
    x = float(f"{x:.{keep - 1}e}")
    power = _power(x)
    value = x / 10.0**power
    return f"${_fixed(value, keep - 1 - (math.floor(math.log10(abs(value))) if value else 0))}{_times(power)}$"


def _power(x: float) -> int:
    """Return the exponent of the power of ten that LaTeX shows for ``x``; 0 if LaTeX shows ``x`` without a power."""
    return 0 if x == 0 or PLAIN[0] <= abs(x) < PLAIN[1] else math.floor(math.log10(abs(x)))


def _times(power: int) -> str:
    return "" if power == 0 else rf" \times 10^{{{power}}}"


def _spread(value: float, ends: Interval | None, places: int) -> str:
    if ends is None:
        return ""
    above, below = (_fixed(x, places) for x in (ends[1] - value, value - ends[0]))
    return f"^{{+{above}}}_{{-{below}}}"


def _fixed(x: float, places: int) -> str:
    return f"{round(x, places):.{max(0, min(places, 12))}f}"


def _latex_text(plain: str) -> str:
    """Return ``plain`` as LaTeX text: special characters are escaped, superscript digits become mathematics."""
    return POWER.sub(lambda m: f"$^{{{unicodedata.normalize('NFKC', m[0])}}}$", plain.translate(SPECIAL))


WRITERS: Mapping[str, Callable[[Document], str]] = {
    "csv": to_csv,
    "markdown": to_markdown,
    "latex": to_latex,
    "python": lambda document: document.script,
}
"""Function that writes a document as text, for each export format."""
