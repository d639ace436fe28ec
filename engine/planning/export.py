"""A plan as a table: CSV with every digit, Markdown and LaTeX rounded as the intervals deserve."""

from __future__ import annotations

import csv
import io
import math
import re
import unicodedata
from collections.abc import Iterable
from functools import partial

from engine.fitting.result import Interval
from engine.planning.limits import named
from engine.planning.plan import Plan
from engine.planning.quantity import Quantity
from engine.planning.text import LABELS, UNREACHABLE, as_row, beside, flatness, significant, span
from engine.quantities import digits

CSV_COLUMNS = ("quantity", "value", "unit", "low68", "high68", "low95", "high95", "beyond", "note")
MARKDOWN = ("Quantity", "Value", "Unit", "68 %", "95 %", "Beyond the runs", "Note")
PLAIN = (1e-2, 1e4)
"""Sizes between which LaTeX needs no power of ten."""
SPECIAL = str.maketrans(
    {c: f"\\{c}" for c in "%_&#${}"}
    | {"^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "\\": r"\textbackslash{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "×": r"$\times$", "∞": r"$\infty$"}
)
"""Characters that LaTeX reads otherwise, or that its text fonts lack."""
POWER = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")
WIDE = 2.0
"""An end further from the value than by this factor is printed itself: as a difference it would read as near zero."""


def lines(plan: Plan) -> tuple[tuple[str, Quantity], ...]:
    """Every number of ``plan`` under its name: allocation, what follows, bill, worth of limits, second rule."""
    names = {**LABELS, "loss": plan.y}
    found = [(names.get(name, name), q) for name, q in {**plan.allocation, **plan.derived}.items()]
    found += [(line.row.quantity, line.amount) for line in plan.bill]
    for worth in plan.worth:
        limit = named(worth.limit, worth.most, plan.prices)
        found.append((f"Ten per cent more than {limit} gains", worth.ten))
    if plan.restated is not None:
        found.append((f"Compute by {plan.restated.rule.text}", plan.restated.C))
    return tuple(found)


def to_csv(plan: Plan) -> str:
    """The numbers of a plan, a row each, with every digit; an endless bound is ``inf``, what is missing empty."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(CSV_COLUMNS)
    for label, q in lines(plan):
        ends = [x for ci in (q.ci68, q.ci95) for x in (ci or ("", ""))]
        writer.writerow([label, "" if q.value is None else repr(q.value), q.unit, *ends, q.beyond, q.note])
    return out.getvalue()


def to_markdown(plan: Plan) -> str:
    """The plan as Markdown: its sentence, its table, and what stands beside it."""
    rows = [as_row(label, q) for label, q in lines(plan)]
    body = [(r.quantity, r.value, r.unit, r.ci68, r.ci95, r.beyond, r.note) for r in rows]
    table = [_markdown(MARKDOWN), _markdown(["---"] * len(MARKDOWN)), *map(_markdown, body)]
    notes = [f"- {text}" for text in (*flatness(plan), *beside(plan), *(w.text for w in plan.warnings))]
    return "\n".join([plan.sentence, "", *table, "", *notes, ""])


def _markdown(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def to_latex(plan: Plan) -> str:
    """The plan as a LaTeX table: a value with its 68 % interval as ends above and below, both rounded alike."""
    rows = [f"{_text(label)} & {latex(q)} & {_text(q.unit)} \\\\" for label, q in lines(plan)]
    head = "Quantity & Value (68\\,\\% interval) & Unit \\\\"
    return "\n".join([r"\begin{tabular}{lll}", r"\hline", head, r"\hline", *rows, r"\hline", r"\end{tabular}", ""])


def latex(q: Quantity) -> str:
    """One number in LaTeX: $8.5^{+0.4}_{-0.3} \\times 10^{8}$, with a wide interval $8$ ($2$ to $30$)."""
    if q.value is None:
        return "---" if q.ci68 is None else UNREACHABLE
    if q.ci68 is not None and q.note != "given" and _wide(q.value, q.ci68):
        keep = significant(q)
        return f"{_one(q.value, keep)} ({span(q.ci68, partial(_one, keep=keep))})"
    power = _power(q.value)
    scale = 10.0**power
    ends = None if q.ci68 is None or q.note == "given" else (q.ci68[0] / scale, q.ci68[1] / scale)
    value = q.value / scale
    places = digits(value, ends if ends and ends[0] < ends[1] else None)
    return f"${_fixed(value, places)}{_spread(value, ends, places)}{_times(power)}$"


def _wide(value: float, ends: Interval) -> bool:
    """Whether an end of the interval is endless, of the other sign, or a factor of two away."""
    return any(
        math.isinf(end) or (end != value and not 1 / WIDE <= (end / value if value else math.inf) <= WIDE)
        for end in ends
    )


def _one(x: float, keep: int) -> str:
    """A number alone, with so many significant digits."""
    x = float(f"{x:.{keep - 1}e}")
    power = _power(x)
    value = x / 10.0**power
    return f"${_fixed(value, keep - 1 - (math.floor(math.log10(abs(value))) if value else 0))}{_times(power)}$"


def _power(x: float) -> int:
    """The power of ten that is drawn out of ``x``."""
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
    """Plain text for LaTeX's text mode; powers of ten become mathematics."""
    return POWER.sub(lambda m: f"$^{{{unicodedata.normalize('NFKC', m[0])}}}$", plain.translate(SPECIAL))
