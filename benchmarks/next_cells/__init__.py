"""Advice on the next cells in simulated tables: how close its designs come to those of a planner who knows the truth.

The tables are simulated from true laws with 2 % noise. Each table starts with eight cheap runs. The quantity to predict
is the logarithm of the loss at a target budget. At most twelve cells are added in four rounds. Together they cost at
most 5 % or 20 % of the target budget. Each candidate costs at most 20 % of the target budget.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from scipy.stats import binomtest

from benchmarks.next_cells.simulation import BASELINES, Outcome, simulate
from benchmarks.next_cells.truths import INTERACTIONS, TRUTHS, Truth
from benchmarks.report import Report
from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.solver import kernels

SPENDS = (0.05, 0.2)
CONDITIONS: tuple[tuple[Truth, float, bool, int], ...] = (
    *((truth, spend, False, 200) for truth in TRUTHS for spend in SPENDS),
    *((truth, spend, True, 50) for truth in TRUTHS for spend in SPENDS),
    *((truth, 0.2, hedge, tables) for truth in INTERACTIONS for hedge, tables in ((True, 200), (False, 50))),
)
"""True law, spend as a fraction of the target budget, whether the advice is hedged, and number of tables."""
RESAMPLES = 2000


def run(conditions: Sequence[tuple[Truth, float, bool, int]] = CONDITIONS) -> Report:
    """Simulate the tables of each condition in parallel, and report the quality of the advice."""
    rows = []
    with ProcessPoolExecutor(initializer=kernels.load) as pool:
        for truth, spend, hedge, tables in conditions:
            found = list(pool.map(partial(simulate, truth, spend, hedge), range(tables)))
            row = (truth.name, f"{spend:.0%}", "yes" if hedge else "no", str(tables), *_row(found))
            print("  ".join(row), flush=True)
            rows.append(row)
    sentence = (
        "Twelve cells are added to eight cheap runs in four rounds, for 5 % or 20 % of the target budget. The design "
        "standard deviation is the standard deviation of the logarithm of the loss at the target budget after the "
        "chosen cells are measured. It is computed from the true law, linearised at its parameters, and divided by "
        "the value for a planner who knows the truth. The FLOPs of a baseline are those that it needs for the same "
        "design standard deviation. The promise is the expected "
        "half width of the 68 % interval. In square brackets: 95 % intervals, binomial for fractions and from a "
        "bootstrap over tables for other numbers. The last laws have interacting N and D, so that the fitted law is "
        "wrong. A baseline that cannot reach the standard deviation needs infinite FLOPs (never)."
    )
    columns = (
        "truth",
        "spend",
        "hedge",
        "tables",
        "design, median",
        "design, 90 %",
        *(f"FLOPs of {name}" for name in BASELINES),
        "rms error",
        "coverage",
        "next round / promise",
        "in the promised range",
        "ends of the range",
        "whole / promise",
    )
    return Report("Next cells", sentence, columns, tuple(rows))


def _row(found: Sequence[Outcome]) -> tuple[str, ...]:
    designs = [one.design for one in found if one.design]
    ratio = np.array([one.ratio for one in designs])
    factors = np.array([one.factors for one in designs])
    inside = [one.promise.low <= one.reached <= one.promise.high for one in found]
    return (
        _estimate(ratio, np.median),
        _estimate(ratio, lambda x: np.quantile(x, 0.9)),
        *(_estimate(factors[:, i] if designs else ratio, np.median) for i in range(len(BASELINES))),
        _estimate(np.array([one.error for one in found]), lambda x: np.sqrt(np.mean(x**2)), "{:.3f}"),
        _fraction([one.covered for one in found]),
        _estimate(np.array([one.reached / one.promise.expected for one in found]), np.median),
        _fraction(inside),
        f"factor {np.median([one.promise.high / one.promise.low for one in found]):.2f}",
        _estimate(np.array([one.whole for one in found]), np.median),
    )


def _estimate(x: Floats, statistic: Callable[[Floats], np.floating], form: str = "{:.2f}") -> str:
    """Return a statistic of ``x`` with its 95 % bootstrap interval as text, or "" without values."""
    if not len(x):
        return ""
    random = np.random.default_rng(0)
    draws = [statistic(random.choice(x, len(x))) for _ in range(RESAMPLES)]
    low, high = np.quantile(draws, [0.025, 0.975], method="nearest")
    text = f"{form.format(statistic(x))} [{form.format(low)}, {form.format(high)}]"
    return text.replace("inf", "never")


def _fraction(hits: Sequence[bool]) -> str:
    """Return a fraction with its exact 95 % binomial interval as text."""
    ends = binomtest(sum(hits), len(hits)).proportion_ci(0.95)
    return f"{np.mean(hits):.0%} [{ends.low:.0%}, {ends.high:.0%}]"
