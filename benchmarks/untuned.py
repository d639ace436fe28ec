"""What a target costs and what one more run comes to, on designs that tuned no rule: one true floor each."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from benchmarks.calibration.cases import Case
from benchmarks.calibration.page import COVERS
from benchmarks.calibration.simulate import COLUMNS, table
from benchmarks.coverage.designs import DESIGNS, HELD_OUT_SEED
from benchmarks.report import Report

TABLES, REFITS = 200, 200
SEED = 9_000_000
"""Of the first table of a design."""
SHOWN = ("far", "run", "law")


def run() -> Report:
    """Simulate the tables of each design over all cores."""
    rows = []
    with ProcessPoolExecutor() as pool:
        for design in (one for one in DESIGNS.values() if not one.tuned):
            one = partial(table, Case(design, "log-normal", 0.0), REFITS)
            found = np.array(list(pool.map(one, range(SEED, SEED + TABLES), chunksize=10)))
            shares = (
                " / ".join(f"{100 * np.mean(found[:, COLUMNS.index(f'{what} {level}')]):.1f}" for level in (68, 95))
                for what in SHOWN
            )
            rows.append((design.name, design.text, *shares))
    return Report(
        "What a target costs on designs that tuned no rule",
        f"As in [calibration.md](calibration.md), with one true floor for each design: {TABLES} tables each, {REFITS} "
        f"refits. The held-out designs were drawn from the seed {HELD_OUT_SEED} after the rules were frozen. Goal: the "
        f"68 % interval of the compute that a far target needs contains the truth within {100 * COVERS:g} points and "
        "two binomial standard errors (7); with few runs or no floor it may contain it more often, not less.",
        ("design", "runs", "C of a far target, 68 / 95 %", "one more run, 68 / 95 %", "the law alone, 68 / 95 %"),
        tuple(rows),
    )
