"""Answer to "Next cells" as JSON and document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from isoplan.engine.arrays import finite
from isoplan.engine.design.candidates import Candidates
from isoplan.engine.design.cost_unit import FLOPS
from isoplan.engine.design.widths import Width
from isoplan.engine.fitting.types.possible_values import sample_unit
from isoplan.engine.hardware.machine import HOUR
from isoplan.engine.planning.answer.document import Document, Line, warned
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.answer.script import array, call, literal, reading, script
from isoplan.engine.planning.next_cells.answer import NextCells
from isoplan.engine.planning.next_cells.text import place, remarks, sentence
from isoplan.engine.planning.next_cells.typed import typed_spend
from isoplan.engine.planning.plan.document import limits_literal
from isoplan.engine.planning.scenario.prices_json import prices_json
from isoplan.engine.schema import COST

HOMES = {
    "listed_candidates": "isoplan.engine.design.candidates",
    "Question": "isoplan.engine.planning",
    "TypedSpend": "isoplan.engine.planning.next_cells.typed",
    "as_text": "isoplan.engine.planning.next_cells.text",
    "next_cells": "isoplan.engine.planning.next_cells.answer",
}


def to_json(found: NextCells) -> dict[str, Any]:
    """Return the JSON object that ``isoplan next --json`` prints.

    Its widths are half widths of 68 % intervals, in logarithms.
    """
    advice, at = found.advice, found.advice.candidates
    cells = [
        {
            "round": i + 1,
            **({} if at.row is None else {"row": int(at.row[c])}),
            **({} if at.settings is None else {"settings": str(at.settings[c])}),
            **{"N": float(at.columns["N"][c]), "D": float(at.columns["D"][c]), "C": float(at.compute[c])},
            "cost": float(at.cost[c]),
            "repeat": bool(found.repeats[c]),
            **({} if found.seconds is None else {"hours": finite(float(found.seconds[c]) / HOUR)}),
            **({} if found.money is None else {"money": finite(float(found.money[c]))}),
        }
        for i, part in enumerate(advice.rounds)
        for c in part
    ]
    test = advice.test
    return {
        "schema": 1,
        "question": found.plan.question.to_json(),
        "fit": found.fit.hash,
        "law": found.fit.spec.law,
        "y": found.fit.spec.y,
        "compute": found.plan.compute.to_json(),
        **({} if found.plan.prices is None else {"prices": prices_json(found.plan.prices)}),
        "narrow": [one.name for one in advice.estimands],
        "weights": [one.weight for one in advice.estimands],
        "next_cells": cells,
        "now": [finite(x) for x in advice.now],
        "after": [[_width(w) for w in widths] for widths in advice.after],
        "ladder": [
            {
                "spend": r.spend,
                "cells": len(r.cells),
                "cost": r.cost,
                "widths": [_width(w) for w in r.widths],
                "errors": [finite(x) for x in r.errors],
            }
            for r in advice.ladder
        ],
        "test": None
        if test is None
        else {
            "N": float(at.columns["N"][test.cell]),
            "D": float(at.columns["D"][test.cell]),
            "low95": test.low,
            "high95": test.high,
        },
        "left_out": found.far,
        "parallel": found.parallel,
        **({} if found.round_seconds is None else {"round_hours": [finite(x / HOUR) for x in found.round_seconds]}),
        "target_compute": found.whole,
        "target_cost": found.target_cost,
        "cost_unit": found.unit.name,
        "pays": advice.pays,
        "verdict": advice.narrowing.verdict,
        "twice": None
        if advice.further is None or advice.twice is None
        else {"verdict": advice.further.verdict, "widths": [_width(w) for w in advice.twice]},
        "sentence": sentence(found),
        "warnings": [w.to_json() for w in found.plan.warnings],
    }


def _width(width: Width) -> dict[str, Any]:
    return {"expected": finite(width.expected), "low": finite(width.low), "high": finite(width.high)}


def as_document(
    found: NextCells,
    options: Mapping[str, Any],
    fit: str = "fit.json",
    group: str = "",
    candidates: Candidates | None = None,
) -> Document:
    """Return the advice as a document.

    ``options`` are the keyword-only arguments of ``next_cells``, by name, except ``candidates``. ``fit`` is the file
    that the script reads, and ``group`` selects a group of runs in this file. ``candidates`` are the listed cells.
    """
    at, lines = found.advice.candidates, list[Line]()
    for position, cell in enumerate(found.advice.cells, 1):
        for axis, unit in (("N", "parameters"), ("D", sample_unit(found.fit))):
            lines.append((f"Cell {position}: {axis}", Quantity(float(at.columns[axis][cell]), unit=unit)))
        lines.append((f"Cell {position}: compute", Quantity(float(at.compute[cell]), unit="FLOPs")))
        if found.charged or found.unit != FLOPS:
            lines.append((f"Cell {position}: cost", Quantity(float(at.cost[cell]), unit=found.unit.name)))
    places = ((f"Cell {i}", *place(at, cell)) for i, cell in enumerate(found.advice.cells, 1))
    named = "row" if at.settings is None else "settings"
    listed = () if at.row is None else tuple(f"{cell}: {named} {place}." for cell, place in places)
    notes = (*remarks(found), *listed, f"Compute rule: {found.plan.compute.text}.")
    notes = (*notes, *warned(found.plan.warnings))
    return Document(
        sentence(found), tuple(lines), notes, to_json(found), _script(found, options, fit, group, candidates)
    )


def _script(found: NextCells, options: Mapping[str, Any], fit: str, group: str, candidates: Candidates | None) -> str:
    asked = [repr(found.plan.question.kind), repr(found.plan.question.value)]
    asked += [limits_literal(found.plan.question.limits)] if found.plan.question.limits.given else []
    given = [f"rule=read_rule({literal(found.plan.compute.to_json())})"]
    given += [f"prices=read_prices({literal(prices_json(found.plan.prices))})"] if found.plan.prices is not None else []
    given += [*(f"{name}={x!r}" for name, x in options.items())]
    amount = asdict(typed_spend(found.spend, found.unit))
    spend = f"TypedSpend({', '.join(f'{name}={x!r}' for name, x in amount.items() if x not in (None, ''))})"
    listed = [] if candidates is None else listing(candidates)
    given += ["candidates=cells"] if listed else []
    body = [
        f"fit = {reading(fit, group)}",
        *listed,
        f"question = Question({', '.join(asked)})",
        *call("advice", "next_cells", ["fit", "question", spend, *given]),
        "print(as_text(advice))",
    ]
    return script(sentence(found), body, HOMES)


def listing(cells: Candidates) -> list[str]:
    """Return the source lines that list the candidates as the variable ``cells``."""
    row = np.arange(len(cells)) if cells.row is None else cells.row
    columns = {**cells.columns, "C": cells.compute, "row": row}
    columns |= {} if cells.listed_cost is None else {COST: cells.listed_cost}
    lines = [line for name, x in columns.items() for line in (f"{name} = {array(x)[0]}", *array(x)[1:])]
    named = ""
    if cells.settings is not None:
        lines += ["settings = np.array([", *(f"    {text!r}," for text in cells.settings.tolist()), "])"]
        named += ", settings=settings"
    if cells.listed_cost is not None:
        named += f", cost={COST}"
    return [*lines, f"cells = listed_candidates(N, D, C, row{named})"]
