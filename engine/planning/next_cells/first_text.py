"""Answer with the cells to train first as text, JSON and document."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from isoplan.engine.design.cost_unit import FLOPS
from isoplan.engine.planning.answer.document import Document, Line
from isoplan.engine.planning.answer.format import aligned
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.answer.script import script
from isoplan.engine.planning.next_cells.answer import AXES
from isoplan.engine.planning.next_cells.document import HOMES, listing
from isoplan.engine.planning.next_cells.first import FirstCells
from isoplan.engine.planning.next_cells.text import place, share
from isoplan.engine.planning.questions.answer import Answer, Part, Table
from isoplan.engine.quantities import count, power10

UNITS = {"N": "parameters", "D": ""}
FIRST = {"first_cells": "isoplan.engine.design.spread"}


def sentence(found: FirstCells) -> str:
    """Return the answer in one sentence. ``found.unfitted.reason`` is its reason."""
    n = len(found.cells)
    whole = found.whole if found.unit == FLOPS else None
    part = "" if whole is None else f" ({share(found.cost, whole)} of the target run)"
    return (
        f"First train {n} cell{'s' * (n != 1)}, spread over N and D, for {found.unit.text(found.cost)}{part}, and ask "
        "again."
    )


def reason(found: FirstCells) -> str:
    """Return the reason why the answer contains no expected interval."""
    return f"The runs do not support an expected interval yet. {found.unfitted.reason}"


def cell_rows(found: FirstCells) -> list[tuple[str, ...]]:
    """Return the table of the cells as texts: first the headings, then one row per cell in the order of training."""
    at = found.candidates
    listed = ["Settings" if at.settings is not None else "Row"] * (at.row is not None)
    charged = bool(np.any(at.cost != at.compute))
    rows: list[tuple[str, ...]] = [("Cell", *listed, "N", "D", "Compute", *["Cost"] * charged)]
    for i, cell in enumerate(found.cells, 1):
        sizes = (count(float(at.columns[axis][cell]), 3) for axis in AXES)
        cost = [found.unit.write(float(at.cost[cell]))] * charged
        rows.append((str(i), *place(at, cell), *sizes, power10(float(at.compute[cell])), *cost))
    return rows


def to_json(found: FirstCells) -> dict[str, Any]:
    """Return the JSON object that ``isoplan next --json`` prints if the runs do not determine the law."""
    at = found.candidates
    cells = [
        {
            "round": 1,
            **({} if at.row is None else {"row": int(at.row[c])}),
            **({} if at.settings is None else {"settings": str(at.settings[c])}),
            **{"N": float(at.columns["N"][c]), "D": float(at.columns["D"][c]), "C": float(at.compute[c])},
            "cost": float(at.cost[c]),
        }
        for c in found.cells
    ]
    return {
        "schema": 1,
        "question": found.question.to_json(),
        "law": found.unfitted.spec.law,
        "y": found.unfitted.spec.y,
        "compute": found.rule.to_json(),
        "next_cells": cells,
        "reason": found.unfitted.reason,
        "target_compute": found.whole,
        "cost_unit": found.unit.name,
        "sentence": sentence(found),
    }


def first_answer(found: FirstCells) -> Answer:
    """Return the answer for the terminal and Python."""
    rows, rule, lines = cell_rows(found), f"Compute rule: {found.rule.text}.", list[Line]()
    for i, cell in enumerate(found.cells, 1):
        for axis in AXES:
            value = float(found.candidates.columns[axis][cell])
            lines.append((f"Cell {i}: {axis}", Quantity(value, unit=UNITS[axis])))
        lines.append((f"Cell {i}: compute", Quantity(float(found.candidates.compute[cell]), unit="FLOPs")))
    text = "\n\n".join([f"{sentence(found)} {reason(found)}", "\n".join(aligned(rows)), rule])
    document = Document(sentence(found), tuple(lines), (reason(found), rule), to_json(found), _script(found))
    table = Table(rows[0], tuple(rows[1:]), "The cells in the order of training.")
    return Answer(found, text, document, (), "first cells", (reason(found),), parts=(Part(table),), rows=found.rows)


def _script(found: FirstCells) -> str:
    """Return a script that prints N and D of the cells."""
    spend = repr(found.spend) if np.isfinite(found.spend) else "np.inf"
    cells = found.candidates
    body = [
        *listing(replace(cells, listed_cost=cells.cost) if np.any(cells.cost != cells.compute) else cells),
        "trained = {",
        *(f"    {axis!r}: np.array({x.tolist()!r})," for axis, x in found.trained.items()),
        "}",
        f"chosen = first_cells(cells, trained, {found.free}, {found.most}, {spend})",
        "print(np.column_stack([cells.columns[axis][chosen] for axis in trained]))",
    ]
    return script(sentence(found), body, HOMES | FIRST)
