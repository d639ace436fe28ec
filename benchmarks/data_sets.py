"""Test of the warning that residuals of a fit depend on a column, such as the data set of a run.

The warning should appear if the column has an effect on the loss, and should not appear otherwise.
"""

from __future__ import annotations

import time
from collections import Counter

import numpy as np

from benchmarks.report import Report
from isoplan.engine.fitting.diagnostics.pooling import offsets
from isoplan.engine.fitting.solver.kernels import load
from tests.engine.fitting.mixtures import NOISE, SHIFT, category, shifted, unshifted

TABLES = 500
DESIGNS = ((36, True), (60, True), (60, False), (258, False))
"""Designs as (number of runs, spread). If spread is false, the runs are at seven iso-FLOP budgets."""
COLUMNS = (
    *("runs", "design", "raised falsely, worst label", "false warnings per table"),
    *("found, 2 values", "found, 3 values", "time per column"),
)


def run() -> Report:
    """Simulate 500 tables per design for each of three cases, and report how often the warning appears.

    The cases are: no column has an effect; a column of 2 values shifts the loss; a column of 3 values shifts the loss.
    """
    load()
    rows = []
    for n, cloud in DESIGNS:
        false = Counter(name for seed in range(TABLES) for name in unshifted(n, seed, cloud))
        worst = max(false.values(), default=0) / TABLES
        found = [sum(shifted(n, seed, values, cloud) for seed in range(TABLES)) / TABLES for values in (2, 3)]
        shares = [f"{x:.1%}" for x in (worst, sum(false.values()) / TABLES, *found)]
        rows.append((f"{n}", "spread" if cloud else "iso-FLOP", *shares, f"{1e3 * _seconds(n):.1f} ms"))
    return Report(
        "Residuals that differ by a column",
        f"{TABLES} tables per design are simulated. Each table is fitted, and each label is tested separately. Labels "
        "without an effect: random values (2, 3 or up to 8 different ones), seeds, the half of the table, whether N is "
        "above its median, thirds of D, and whether C with random noise is above its median. Their noise is "
        f"{NOISE:.1%}, in every second table with the tails of Student's t(4). Labels with an effect: 2 or 3 equally "
        f"frequent values; each value increases the loss by {SHIFT:.0%} compared with the previous value; noise "
        f"{NOISE:.1%}. Goals: each label without an effect raises the warning in at most 1 % of the tables, and an "
        "effect is found in at least 95 %.",
        COLUMNS,
        tuple(rows),
    )


def _seconds(n: int) -> float:
    """Return the median time of testing one column of ``n`` runs, in seconds."""
    random = np.random.default_rng(0)
    x, y, residual = random.normal(size=(3, n))
    labels = {"label": category(random.integers(0, 3, n))}
    times = []
    for _ in range(20):
        start = time.perf_counter()
        offsets(residual, [x, y], labels)
        times.append(time.perf_counter() - start)
    return float(np.median(times))
