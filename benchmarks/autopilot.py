"""Autopilot in simulated grids: how often its final interval contains the truth, why it stops, and what it spends.

Each loop has one of the true laws of the benchmark ``next_cells`` with 2 % noise, and a grid of about 100 cells that
cost at most 20 % of the target budget each. The autopilot starts without a finished cell. It may spend 20 % of the
target budget. It stops at the latest when the half width of the 68 % interval of the loss at the target budget is at
most 2 % or 5 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from benchmarks.next_cells.truths import TRUTHS, Truth, measured, sought
from benchmarks.report import Report
from isoplan.app.autopilot.deciding import fit_cells
from isoplan.app.autopilot.decisions import STOPS, Decision, Reason
from isoplan.app.autopilot.rounds import run_rounds
from isoplan.app.autopilot.specification import GridCells, Seen, Specification, Task
from isoplan.engine.arrays import Floats
from isoplan.engine.design.candidates import listed_candidates
from isoplan.engine.fitting.solver import kernels

LOOPS, CELLS, CAP = 50, 4, 0.2
"""Number of loops per truth and wanted interval, cells per round, and cap as a fraction of the target budget."""
UNTIL = (0.02, 0.05)


@dataclass(frozen=True)
class Loop:
    """Result of one loop: why it stopped, whether its 68 % interval contains the truth, its error and its spend.

    ``covered`` and ``error`` are None without an interval. ``share`` is the compute as a fraction of the full grid.
    """

    reason: Reason
    covered: bool | None
    error: float | None
    rounds: int
    cells: int
    share: float


def simulate(truth: Truth, until: float, seed: int) -> Loop:
    """Simulate one loop and return its result."""
    cells = truth.candidates()
    cells = listed_candidates(cells.columns["N"], cells.columns["D"], cells.compute)
    names = tuple(f"{row:03d}" for row in range(len(cells)))
    loss = measured(truth, cells, np.random.default_rng(seed))
    spec = Specification(family="simulated", cells=names, budget=truth.budget, until=until, seed=seed)
    grid = GridCells(names, (0,) * len(names), cells)
    task = Task(spec, grid, CELLS, CAP)
    made, seen = replay(task, loss, cells.cost / truth.budget)  # the target run takes one device hour
    share = float(cells.cost[grid.rows(seen.losses)].sum() / cells.cost.sum())
    if made[-1].width is None:
        return Loop(made[-1].reason, None, None, len(made) - 1, len(seen.losses), share)
    fitted = fit_cells(task, seen)
    true, best = truth.sought(), float(sought(truth, fitted.values))
    ends = fitted.resampling.interval(best, sought(truth, fitted.draws), 0.68)
    covered = ends is not None and ends[0] <= true <= ends[1]
    return Loop(made[-1].reason, covered, best - true, len(made) - 1, len(seen.losses), share)


def replay(task: Task, loss: Floats, hours: Floats) -> tuple[tuple[Decision, ...], Seen]:
    """Run an autopilot whose cells have the known losses ``loss`` (m,) and device hours ``hours`` (m,).

    Returns its decisions and the finished cells.
    """
    done, names = set[str](), task.cells.names

    def look() -> Seen:
        rows = task.cells.rows(done)
        return Seen({names[i]: float(loss[i]) for i in rows}, hours={names[i]: float(hours[i]) for i in rows})

    def train(decision: Decision) -> None:
        done.update(decision.cells)

    return run_rounds(task, (), look, train, lambda decisions: None), look()


def run(loops: int = LOOPS) -> Report:
    """Simulate loops for each truth and each wanted interval in parallel, and report the results."""
    rows = []
    with ProcessPoolExecutor(initializer=kernels.load) as pool:
        for truth, until in product(TRUTHS, UNTIL):
            found = list(pool.map(partial(simulate, truth, until), range(loops)))
            rows.append((truth.name, f"± {until:.0%}", *_row(found)))
    columns = ("truth", "until", "coverage", "rms error", *STOPS.values(), "rounds", "cells", "of the full grid")
    about = __doc__.split("\n\n")[0].replace("\n", " ") + f" {loops} loops per line."
    return Report("Autopilot", about, columns, tuple(rows))


def _row(found: Sequence[Loop]) -> tuple[str, ...]:
    known = [one for one in found if one.error is not None]
    why = Counter(one.reason for one in found)
    return (
        f"{np.mean([bool(one.covered) for one in known]):.0%}" if known else "-",
        f"{np.sqrt(np.mean([float(one.error or 0) ** 2 for one in known])):.3f}" if known else "-",
        *(f"{why[reason] / len(found):.0%}" for reason in STOPS),
        f"{np.median([one.rounds for one in found]):.0f}",
        f"{np.median([one.cells for one in found]):.0f}",
        f"{np.median([one.share for one in found]):.1%}",
    )
