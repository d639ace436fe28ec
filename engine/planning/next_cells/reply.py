"""Answer to "Next cells" for the page, the terminal and Python: its sentences, tables and charts."""

from __future__ import annotations

from functools import partial
from typing import Any

from isoplan.engine.design.pretend import can_pretend
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.types.unfitted import UnfittedRuns
from isoplan.engine.planning.next_cells.answer import next_cells
from isoplan.engine.planning.next_cells.document import as_document
from isoplan.engine.planning.next_cells.first import choose_first
from isoplan.engine.planning.next_cells.first_text import first_answer
from isoplan.engine.planning.next_cells.picture import chart_ladder, chart_map
from isoplan.engine.planning.next_cells.text import (
    as_text,
    asked,
    cell_rows,
    ladder_rows,
    remarks,
    round_rows,
)
from isoplan.engine.planning.next_cells.typed import charge_in
from isoplan.engine.planning.plan.money import in_compute
from isoplan.engine.planning.questions.answer import Answer, Part, Table
from isoplan.engine.planning.questions.given import Given

BAND = "; the band is the range over simulated outcomes"
"""Part of the caption of the chart of spends, if the expected intervals have a range."""


def answer(fit: Fit | UnfittedRuns, given: Given) -> Answer:
    """Return the cells that narrow the answer most, or the cells to train first if the runs do not determine the law.

    Raises PlannerError under the conditions of ``next_cells`` and ``choose_first``.
    """
    v = given.values
    options: dict[str, Any] = {
        "cells": _whole(v["max_cells"], "max_cells"),
        "rounds": _whole(v["rounds"], "rounds"),
        "narrow": v["narrow"],
        "sizes": v["sizes"],
        "samples": v["samples"],
        "charge": charge_in(v["spend"].unit, v["run_charge"]),
        "near": v["near_optimum"],
        "parallel": _whole(v["parallel"], "parallel"),
    }
    if isinstance(fit, UnfittedRuns):
        shared = {name: options[name] for name in ("cells", "sizes", "samples", "charge")}
        return first_answer(
            choose_first(fit, given.loss, v["spend"], given.rule, given.prices, **shared, candidates=given.candidates)
        )
    asked_of, prices = in_compute(fit, given.loss, given.prices, given.rule)
    found = next_cells(fit, asked_of, v["spend"], given.rule, prices, **options, candidates=given.candidates)
    folded = not found.advice.pays
    parts = [
        Part(chart=partial(chart_map, found), folded=folded,
             caption="The colour of a candidate shows by how much it alone would narrow the 68 % interval."),
        Part(_table(cell_rows(found), "The cells in the order of training."), folded=folded),
        Part(_table(round_rows(found), "The expected interval after each round."), title="After each round",
             folded=folded),
    ]  # fmt: skip
    if found.advice.ladder:
        parts += [
            Part(_table(ladder_rows(found), "Spends and the intervals that they are expected to reach."),
                 title="Other spends"),
            Part(chart=partial(chart_ladder, found), folded=folded,
                 caption=f"The star is the advised spend{BAND if can_pretend(fit) else ''}."),
        ]  # fmt: skip
    return Answer(
        found,
        as_text(found),
        as_document(found, options, given.file, given.group, given.candidates),
        found.plan.warnings,
        f"next cells for {asked(found)}",
        tuple(remarks(found)),
        parts=tuple(parts),
        rows=found.rows if found.advice.pays else (),
    )


def _whole(value: float, name: str) -> int:
    if not (value >= 1 and float(value).is_integer()):
        raise PlannerError(f"Option {name}: {value:g} is not a whole number of at least 1. Correct it.")
    return int(value)


def _table(lines: list[tuple[str, ...]], alt: str) -> Table:
    head, *rows = lines
    return Table(head, tuple(rows), alt)
