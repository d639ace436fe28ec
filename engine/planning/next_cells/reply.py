"""Answer to "Next cells" for the page, the terminal and Python: its sentences, tables and chart."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.next_cells.answer import NextCells, next_cells
from isoplan.engine.planning.next_cells.text import (
    as_text,
    asked,
    cell_rows,
    document,
    ladder_rows,
    law_test_sentence,
    percent,
    round_rows,
)
from isoplan.engine.planning.plan.money import in_compute
from isoplan.engine.planning.questions.answer import Answer, Part, Table
from isoplan.engine.planning.questions.chart import Axis, Chart, Curve, Marker
from isoplan.engine.planning.questions.given import Given
from isoplan.engine.quantities import power10

SPACE = 3.0
"""Factor by which the axis of the chart extends below the smallest spend and above the largest spend."""


def answer(fit: Fit, given: Given) -> Answer:
    """Return the cells that narrow the answer most. Raises PlannerError under the conditions of ``next_cells``."""
    v = given.values
    options: dict[str, Any] = {
        "cells": _whole(v["max_cells"], "max_cells"),
        "rounds": _whole(v["rounds"], "rounds"),
        "narrow": v["narrow"],
        "sizes": v["sizes"],
        "samples": v["samples"],
        "charge": v["run_charge"] or 0.0,
    }
    asked_of, prices = in_compute(fit, given.loss, given.prices, given.rule)
    found = next_cells(fit, asked_of, v["spend"], given.rule, prices, **options, candidates=given.candidates)
    parts = [
        Part(_table(cell_rows(found), "The cells in the order of training."), partial(chart_ladder, found),
             caption="The star is the advised spend; the band is the range over simulated outcomes.",
             folded=not found.advice.pays),
        Part(_table(round_rows(found), "The expected interval after each round."), title="After each round",
             folded=not found.advice.pays),
        Part(_table(ladder_rows(found), "Spends and the intervals that they are expected to reach."),
             title="Other spends"),
    ]  # fmt: skip
    return Answer(
        found,
        as_text(found),
        document(found, options, given.file, given.group, given.candidates),
        found.plan.warnings,
        f"next cells for {asked(found)}",
        tuple(filter(None, [law_test_sentence(found)])),
        parts=tuple(part for part in parts if part.table is not None and part.table.rows),
        rows=found.rows,
    )


def _whole(value: float, name: str) -> int:
    if not (value >= 1 and float(value).is_integer()):
        raise PlannerError(f"Option {name}: {value:g} is not a whole number of at least 1. Correct it.")
    return int(value)


def _table(lines: list[tuple[str, ...]], alt: str) -> Table:
    head, *rows = lines
    return Table(head, tuple(rows), alt)


def chart_ladder(found: NextCells) -> Chart:
    """Return the chart of the expected half width of the first narrowed quantity against the spend.

    Spends without a bounded interval are omitted.
    """
    advice = found.advice
    rungs = sorted((r for r in advice.ladder if np.isfinite(r.widths[0].expected)), key=lambda rung: rung.cost)
    spends = np.array([rung.cost for rung in rungs])
    expected, low, high = (
        np.array([100 * np.expm1(getattr(rung.widths[0], name)) for rung in rungs])
        for name in ("expected", "low", "high")
    )
    now, then = (100 * float(np.expm1(x)) for x in (advice.now[0], advice.after[-1][0].expected))
    bounded = np.r_[expected, then, 1.0][np.isfinite(np.r_[expected, then, 1.0])]
    seen = np.r_[bounded, now, high]
    top = 1.1 * min(float(np.max(seen[np.isfinite(seen)])), 3 * float(np.max(bounded)))
    band = (np.minimum(low, top), np.minimum(high, top)) if np.isfinite(low).all() else None
    ends = np.r_[spends, advice.cost]
    everywhere = np.ones(len(spends), bool)
    star = Marker(advice.cost, then, f"<b>Advised</b><br>{power10(advice.cost)} FLOPs<br>± {then:.2g} %")
    return Chart(
        "next-cells",
        f"Expected half width of the 68 % interval of {asked(found)} against the compute spent on cells: now "
        f"{percent(advice.now[0])}, then {percent(advice.after[-1][0].expected)}.",
        Axis("Compute spent on cells", float(ends.min()) / SPACE, float(ends.max()) * SPACE, "FLOPs", log=True),
        Axis("Half width of the 68 % interval", 0.0, top, "%"),
        curves=(Curve(spends, expected, everywhere, everywhere, hover="%{x:.2e} FLOPs<br>± %{y:.2g} %<extra></extra>",
                      band=band),),
        markers=(star,) if np.isfinite(then) else (),
        columns={"spend": spends, "expected": expected, "low": low, "high": high},
    )  # fmt: skip
