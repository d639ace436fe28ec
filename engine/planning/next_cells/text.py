"""Answer to "Next cells" as text, JSON and document."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from isoplan.engine.arrays import finite
from isoplan.engine.design.advice import Rung, Width, pays
from isoplan.engine.fitting.types.possible_values import sample_unit
from isoplan.engine.planning.answer.document import Document, Line
from isoplan.engine.planning.answer.format import aligned
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.answer.script import call, literal, reading, script
from isoplan.engine.planning.next_cells.answer import NextCells
from isoplan.engine.planning.plan.document import limits_literal
from isoplan.engine.quantities import count, power10

HOMES = {
    "Question": "isoplan.engine.planning",
    "TypedSpend": "isoplan.engine.planning.next_cells.typed",
    "as_text": "isoplan.engine.planning.next_cells.text",
    "next_cells": "isoplan.engine.planning.next_cells.answer",
}


def percent(width: float) -> str:
    """Return ``width``, half the width of an interval of a logarithm, as text such as "± 5.7 %"."""
    if not math.isfinite(width):
        return "not bounded"
    if width > math.log(2):
        return f"a factor {math.exp(width):.2g}"
    return f"± {100 * math.expm1(width):.2g} %"


def between(width: Width) -> str:
    """Return the range of an expected width as text; empty if the width was not simulated."""
    if math.isnan(width.low):
        return ""
    return f"{percent(width.low)} to {percent(width.high)}"


def asked(found: NextCells) -> str:
    """Return the first narrowed quantity as a phrase, such as "the loss at 10^20 FLOPs"."""
    name, q = found.advice.estimands[0].name, found.question
    of = f"at {power10(q.value)} FLOPs" if q.kind == "budget" else f"for {found.fit.spec.y} {q.value:.4g}"
    return f"{'the ' if name not in ('N', 'D') else ''}{name}{'*' if name in ('N', 'D') else ''} {of}"


def sentence(found: NextCells) -> str:
    """Return the advice in one sentence."""
    advice, n = found.advice, len(found.advice.cells)
    if advice.stop:
        paying = [r for r in advice.ladder if r.spend > found.spend and pays(advice.now[0], r.width)]
        more = f" {_spent(found, paying[0])}" if paying else ""
        return f"This spend does not pay. {advice.stop}{more}"
    share = advice.cost / found.whole
    rounds = f" in {len(advice.rounds)} rounds" if len(advice.rounds) > 1 else ""
    return (
        f"Train {n} cell{'s' if n > 1 else ''}{rounds} for {power10(advice.cost)} FLOPs ({100 * share:.2g} % of the "
        f"target run). The 68 % interval of {asked(found)}, now {percent(advice.now[0])}, is then expected to be "
        f"{percent(advice.after[-1].expected)}."
    )


def _spent(found: NextCells, rung: Rung) -> str:
    """Return a sentence on the interval that the spend of ``rung`` is expected to reach."""
    then, now = percent(rung.width.expected), percent(found.advice.now[0])
    return f"With {100 * rung.spend / found.whole:.2g} % of the target run, it is expected to be {then} (now {now})."


def test_sentence(found: NextCells) -> str:
    """Return a sentence on the cell that tests the law near the answer; empty if there is none."""
    test = found.advice.test
    if test is None:
        return ""
    at = found.advice.candidates.columns
    return (
        f"The cell with N = {count(float(at['N'][test.cell]), 3)} and D = {count(float(at['D'][test.cell]), 3)} tests "
        f"the law nearest to the answer: its {found.fit.spec.y} should be between {test.low:.4g} and {test.high:.4g} "
        "(95 %). Outside this range, the law is wrong there, and the expected widths do not hold."
    )


def cell_rows(found: NextCells) -> list[tuple[str, ...]]:
    """Return the table of the cells as texts: first the headings, then one row per cell in the order of training."""
    advice, at = found.advice, found.advice.candidates
    rows: list[tuple[str, ...]] = [("Cell", "Round", "N", "D", "Compute", "Of the target run")]
    number = 0
    for i, cells in enumerate(advice.rounds):
        for cell in cells:
            number += 1
            cost = float(at.cost[cell])
            rows.append(
                (
                    str(number),
                    str(i + 1),
                    count(float(at.columns["N"][cell]), 3),
                    count(float(at.columns["D"][cell]), 3),
                    power10(cost),
                    f"{100 * cost / found.whole:.2g} %",
                )
            )
    return rows


def round_rows(found: NextCells) -> list[tuple[str, ...]]:
    """Return the expected interval after each round as texts."""
    rows: list[tuple[str, ...]] = [
        ("After", "Expected 68 % interval", "Range"),
        ("now", percent(found.advice.now[0]), ""),
    ]
    rows += [(f"round {i + 1}", percent(w.expected), between(w)) for i, w in enumerate(found.advice.after)]
    return rows


def ladder_rows(found: NextCells) -> list[tuple[str, ...]]:
    """Return the ladder of spends as texts."""
    head = ("Spend", "Of the target run", "Cells", "Expected 68 % interval", "Range")
    return [head, *(_rung(found, rung) for rung in found.advice.ladder)]


def _rung(found: NextCells, rung: Rung) -> tuple[str, ...]:
    share = f"{100 * rung.spend / found.whole:.2g} %"
    return power10(rung.spend), share, str(len(rung.cells)), percent(rung.width.expected), between(rung.width)


def as_text(found: NextCells) -> str:
    """Return the advice as text for a terminal."""
    blocks = [sentence(found), "\n".join(aligned(cell_rows(found))), "\n".join(aligned(round_rows(found)))]
    if found.advice.ladder:
        blocks.append("\n".join(aligned(ladder_rows(found))))
    return "\n\n".join([*blocks, *filter(None, [test_sentence(found)]), f"Compute rule: {found.rule.text}."])


def to_json(found: NextCells) -> dict[str, Any]:
    """Return the JSON object that ``isoplan next --json`` prints.

    Each width in it is half the width of a 68 % interval, in logarithms.
    """
    advice, at = found.advice, found.advice.candidates
    cells = [
        {"round": i + 1, "N": float(at.columns["N"][c]), "D": float(at.columns["D"][c]), "C": float(at.cost[c])}
        for i, part in enumerate(advice.rounds)
        for c in part
    ]
    test = advice.test
    return {
        "schema": 1,
        "question": found.question.to_json(),
        "fit": found.fit.hash,
        "law": found.fit.spec.law,
        "y": found.fit.spec.y,
        "compute": found.rule.to_json(),
        "narrow": [one.name for one in advice.estimands],
        "next_cells": cells,
        "now": [finite(x) for x in advice.now],
        "after": [_width(w) for w in advice.after],
        "ladder": [
            {"spend": r.spend, "cells": len(r.cells), "cost": r.cost, "width": _width(r.width)} for r in advice.ladder
        ],
        "test": None
        if test is None
        else {
            "N": float(at.columns["N"][test.cell]),
            "D": float(at.columns["D"][test.cell]),
            "low95": test.low,
            "high95": test.high,
        },
        "target_compute": found.whole,
        "stop": advice.stop,
        "sentence": sentence(found),
        "warnings": [],
    }


def _width(width: Width) -> dict[str, Any]:
    return {"expected": finite(width.expected), "low": finite(width.low), "high": finite(width.high)}


def document(found: NextCells, options: Mapping[str, Any], fit: str = "fit.json", group: str = "") -> Document:
    """Return the advice as a document.

    ``options`` are the arguments of ``next_cells`` that follow the argument ``rule``, by name. ``fit`` is the file that
    the script reads, and ``group`` selects a group of runs in this file.
    """
    at, lines = found.advice.candidates, list[Line]()
    for number, cell in enumerate(found.advice.cells, 1):
        for axis, unit in (("N", "parameters"), ("D", sample_unit(found.fit))):
            lines.append((f"Cell {number}: {axis}", Quantity(float(at.columns[axis][cell]), unit=unit)))
        lines.append((f"Cell {number}: compute", Quantity(float(at.cost[cell]), unit="FLOPs")))
    notes = (*filter(None, [test_sentence(found)]), f"Compute rule: {found.rule.text}.")
    return Document(sentence(found), tuple(lines), notes, to_json(found), _script(found, options, fit, group))


def _script(found: NextCells, options: Mapping[str, Any], fit: str, group: str) -> str:
    asked = [repr(found.question.kind), repr(found.question.value)]
    asked += [limits_literal(found.question.limits)] if found.question.limits.given else []
    given = [f"rule=read_rule({literal(found.rule.to_json())})", *(f"{name}={x!r}" for name, x in options.items())]
    spend = f"TypedSpend(flops={found.spend!r})"
    body = [
        f"fit = {reading(fit, group)}",
        f"question = Question({', '.join(asked)})",
        *call("advice", "next_cells", ["fit", "question", spend, *given]),
        "print(as_text(advice))",
    ]
    return script(sentence(found), body, HOMES)
