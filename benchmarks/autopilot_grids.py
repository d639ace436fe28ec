"""Autopilot in bundled grids of real cells: FLOPs that it needs for the interval of the full grid, and its answer.

The losses of the cells are stored, so nothing is trained. The question is the loss at ten times the largest budget of
the grid. The autopilot stops when its 68 % interval is as narrow as that of the fit to all cells.
"""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmarks.autopilot import replay
from benchmarks.report import Report
from isoplan.app.autopilot.deciding import fit_cells
from isoplan.app.autopilot.decisions import STOPS, Reason
from isoplan.app.autopilot.specification import GridCells, Seen, Specification, Task
from isoplan.data.files import records
from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.design.candidates import listed_candidates
from isoplan.engine.fitting import Fit, FitSpec, fit
from isoplan.engine.fitting.solver import kernels
from isoplan.engine.planning.next_cells.answer import Present, present
from isoplan.engine.schema import Roles, Runs

GRIDS = ("teacher_student", "jets_one_pass")
SEEDS, REFITS = 5, 200
"""Number of loops per grid, and number of refits of the difference between two answers."""


@dataclass(frozen=True)
class Loop:
    """Result of one loop. ``share`` is the compute as a fraction of the full grid.

    ``widths`` are the half widths of the full grid and of the loop, ``difference`` the answer of the loop minus that of
    the full grid, and ``ends`` the 95 % interval of this difference if the law is right. All are in logarithms.
    """

    reason: Reason
    rounds: int
    cells: int
    share: float
    widths: tuple[float, float]
    difference: float
    ends: tuple[float, float]


def simulate(grid: str, seed: int) -> Loop:
    """Run one loop in the bundled grid called ``grid``."""
    table = records(f"grids/{grid}.csv")
    N, D, C, loss = (np.array([float(row[name]) for row in table]) for name in ("N", "D", "C", "loss"))
    names = tuple(f"{row:03d}" for row in range(len(N)))
    cells = GridCells(names, (0,) * len(names), listed_candidates(N, D, C))
    spec = Specification(family=grid, cells=names, budget=10 * float(C.max()), seed=seed)
    whole = fit_cells(Task(spec, cells), Seen(dict(zip(names, loss.tolist(), strict=True))))
    asked = present(whole, spec.question)
    task = Task(spec.model_copy(update={"until": math.expm1(asked.widths[0])}), cells)
    made, seen = replay(task, loss, np.zeros(len(loss)))
    rows, part = cells.rows(seen.losses), fit_cells(task, seen)
    return Loop(
        made[-1].reason,
        len(made) - 1,
        len(rows),
        float(C[rows].sum() / C.sum()),
        (asked.widths[0], present(part, spec.question).widths[0]),
        answer(asked, part) - answer(asked, whole),
        difference(asked, whole, rows, seed),
    )


def answer(asked: Present, made: Fit) -> float:
    """Return the logarithm of the answer of the fit ``made``."""
    return float(asked.estimands[0].logs(made.values))


def difference(asked: Present, whole: Fit, rows: list[int], seed: int) -> tuple[float, float]:
    """Return the 95 % interval of (answer from the cells ``rows``) - (answer from all cells), if the law is right.

    The residuals of all cells are drawn again ``REFITS`` times, and the law is fitted to both tables.
    """
    assert whole.runs is not None
    columns, n = dict(whole.runs.columns), len(whole.runs.y)
    residual = np.log(whole.runs.y / whole.predict(columns))
    residual *= math.sqrt(n / max(n - len(whole.law.names), 1))
    random = np.random.default_rng(seed)
    found = []
    for _ in range(REFITS):
        y = whole.predict(columns) * np.exp(random.choice(residual, n))
        parts = [refitted(whole, y, np.asarray(chosen, np.int64)) for chosen in (rows, range(n))]
        found.append(answer(asked, parts[0]) - answer(asked, parts[1]))
    low, high = np.nanquantile(found, [0.025, 0.975])
    return float(low), float(high)


def refitted(whole: Fit, y: Floats, rows: Ints) -> Fit:
    """Return a fit of the law of ``whole`` to the losses ``y`` of the cells ``rows``, without refits."""
    assert whole.runs is not None
    values = {axis: x[rows] for axis, x in whole.runs.columns.items()} | {"loss": y[rows]}
    spec = FitSpec(law=whole.spec.law, bootstrap=0, seed=whole.spec.seed)
    return fit(spec, Runs(np.arange(len(rows)), values, Roles(N="N", D="D", loss="loss"), {}))


def run() -> Report:
    """Run ``SEEDS`` loops in each grid in parallel, and report what they needed."""
    asked = list(product(GRIDS, range(SEEDS)))
    with ProcessPoolExecutor(initializer=kernels.load) as pool:
        loops = list(pool.map(simulate, *zip(*asked, strict=True)))
    sentence = (
        "An autopilot chooses cells of a bundled grid to determine the loss at ten times the largest budget. The "
        "losses of the cells are stored. The autopilot stops when its 68 % interval is as narrow as that of a fit to "
        "all cells. Goals: it uses at most a third of the FLOPs of the grid, and the difference between its answer and "
        "that of all cells is inside the 95 % interval of this difference. The 95 % interval assumes that the law is "
        "right."
    )
    columns = ("grid", "seed", "stop", "rounds", "cells", "FLOPs", "half width of the grid", "reached", "difference",
               "95 % interval of the difference")  # fmt: skip
    rows = tuple((grid, str(seed), *_row(loop)) for (grid, seed), loop in zip(asked, loops, strict=True))
    return Report("Autopilot in bundled grids", sentence, columns, rows)


def _row(loop: Loop) -> tuple[str, ...]:
    percents = [f"{100 * math.expm1(x):+.0f} %" for x in (loop.difference, *loop.ends)]
    return (
        STOPS[loop.reason],
        str(loop.rounds),
        str(loop.cells),
        f"{loop.share:.0%}",
        *(f"{100 * math.expm1(x):.1f} %" for x in loop.widths),
        percents[0],
        f"{percents[1]} to {percents[2]}",
    )
