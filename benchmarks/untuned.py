"""Coverage of two intervals on table designs that were not used to tune the method.

One interval is for the compute that reaches a target loss. The other interval is for the result of one more run.
"""

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
"""Seed of the first simulated table of each design. The seed increases by 1 for each further table."""
QUANTITIES = ("far", "run", "law")


def run() -> Report:
    """Simulate the tables of each design on all cores, and report the coverage."""
    rows = []
    with ProcessPoolExecutor() as pool:
        for design in (one for one in DESIGNS.values() if not one.tuned):
            one = partial(table, Case(design, "log-normal", 0.0), REFITS)
            results = np.array(list(pool.map(one, range(SEED, SEED + TABLES), chunksize=10)))
            shares = (
                " / ".join(f"{100 * np.mean(results[:, COLUMNS.index(f'{what} {level}')]):.1f}" for level in (68, 95))
                for what in QUANTITIES
            )
            rows.append((design.name, design.text, *shares))
    return Report(
        "Cost of a target on designs on which no rule was tuned",
        "The intervals are tested as in [calibration.md](calibration.md), but each design has one true floor. There "
        f"are {TABLES} tables per design and {REFITS} refits per fit. The held-out designs were drawn from the seed "
        f"{HELD_OUT_SEED} after the rules were frozen. Goal: the 68 % interval of the compute for a far target "
        f"contains the true value in 68 % of the tables, within {100 * COVERS:g} percentage points plus two binomial "
        "standard errors (7 points). With few runs or no floor, a larger share is allowed, but not a smaller one.",
        ("design", "runs", "C of a far target, 68 / 95 %", "one more run, 68 / 95 %", "the law alone, 68 / 95 %"),
        tuple(rows),
    )
