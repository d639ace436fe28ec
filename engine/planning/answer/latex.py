"""LaTeX table of an answer, with numbers rounded as the intervals permit."""

from __future__ import annotations

import math
import re
import unicodedata
from functools import partial

from isoplan.engine.fitting.types.result import Interval
from isoplan.engine.planning.answer.document import Document
from isoplan.engine.planning.answer.format import UNREACHABLE, significant, span
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.quantities import digits

PLAIN = (1e-2, 1e4)
"""Range of numbers that are printed in LaTeX without a power of ten."""
SPECIAL = str.maketrans(
    {c: f"\\{c}" for c in "%_&#${}"}
    | {"^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "\\": r"\textbackslash{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "×": r"$\times$", "∞": r"$\infty$"}
)
"""Characters that have a special meaning in LaTeX, or that its text fonts lack."""
POWER = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")
WIDE = 2.0
"""Factor from the value beyond which an end is printed itself: as a difference it would look close to zero."""


def to_latex(document: Document) -> str:
    """Return the table of an answer in LaTeX: each value has its 68 % interval as super- and subscript differences.

    Value and differences are rounded alike. Without an answer, return its sentence and its notes as paragraphs.
    """
    if not document.lines:
        return "\n\n".join(map(_text, (document.sentence, *document.notes))) + "\n"
    rows = [" & ".join((_text(label), *_cells(cell))) + r" \\" for label, cell in document.lines]
    head = r"Quantity & Value (68\,\% interval) & Unit \\"
    return "\n".join([r"\begin{tabular}{lll}", r"\hline", head, r"\hline", *rows, r"\hline", r"\end{tabular}", ""])


def _cells(cell: Quantity | str) -> tuple[str, str]:
    return (_text(cell), "") if isinstance(cell, str) else (latex(cell), _text(cell.unit))


def latex(q: Quantity) -> str:
    """Return a number in LaTeX: $8.5^{+0.4}_{-0.3}$ times a power of ten, or $8$ ($2$ to $30$) for a wide interval."""
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
    """Return whether an end of the interval is infinite, has the other sign, or is off by more than a factor of two."""
    return any(
        math.isinf(end) or (end != value and not 1 / WIDE <= (end / value if value else math.inf) <= WIDE)
        for end in ends
    )


def _one(x: float, keep: int) -> str:
    """Return a number without its interval, with ``keep`` significant digits."""
    x = float(f"{x:.{keep - 1}e}")
    power = _power(x)
    value = x / 10.0**power
    return f"${_fixed(value, keep - 1 - (math.floor(math.log10(abs(value))) if value else 0))}{_times(power)}$"


def _power(x: float) -> int:
    """Return the power of ten to factor out of ``x``."""
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


def _text(plain: str) -> str:
    """Return plain text for LaTeX's text mode; powers of ten become mathematics."""
    return POWER.sub(lambda m: f"$^{{{unicodedata.normalize('NFKC', m[0])}}}$", plain.translate(SPECIAL))
