"""Running cells (training runs) whose end cannot change an answer, so that their training can be stopped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.design.candidates import Candidates
from isoplan.engine.design.estimand import Estimand, present_widths
from isoplan.engine.design.pretend import can_pretend, join_cells
from isoplan.engine.fitting.solver.kernels import READING_PAYS, compiled
from isoplan.engine.fitting.solver.multistart import best_fit, refits
from isoplan.engine.fitting.solver.problem import problem
from isoplan.engine.fitting.types.result import Fit


def cells_to_stop(
    fit: Fit, estimand: Estimand, grid: Candidates, running: Sequence[int], low: Floats, high: Floats, share: float
) -> dict[int, float]:
    """Return the ``running`` cells that would move ``estimand`` by less than ``share``, with their largest moves.

    ``running`` (m) are indices of the cells of ``grid``. Their final losses are from ``low`` (m,) to ``high`` (m,). The
    cell of the grid that is nearest to the place of the estimand tests the law and is never returned. No cell is
    returned if the estimand has no place, or if the law cannot be fitted again with simulated losses. Raises
    PlannerError if ``fit`` cannot answer ``estimand``.
    """
    if not len(running) or not can_pretend(fit) or any(axis not in estimand.at for axis in fit.law.axes):
        return {}
    moves = largest_moves(fit, estimand, grid.take(running), low, high)
    test = nearest_cell(estimand, grid, fit.law.axes)
    found = {int(cell): float(move) for cell, move in zip(running, moves, strict=True) if move < share}
    return {cell: move for cell, move in found.items() if cell != test}


def largest_moves(fit: Fit, estimand: Estimand, cells: Candidates, low: Floats, high: Floats) -> Floats:
    """Return how much ``estimand`` changes at most if one of the ``cells`` is added with its loss ``low`` or ``high``.

    For each of the m cells and each of its two losses, the law is fitted again to the runs and this cell. ``low`` and
    ``high`` have the shape (m,). The changes (m,) are fractions of half the width of the present 68 % interval of the
    estimand. A change is infinite if a new fit does not give a finite estimand. ``fit`` must satisfy ``can_pretend``.
    Raises PlannerError if ``fit`` cannot answer ``estimand``.
    """
    assert fit.runs is not None
    (width,) = present_widths(fit, [estimand])
    compiled(READING_PAYS)  # loads the kernels, if their cache is complete
    n, m = len(fit.runs.y), len(cells)
    runs, table, cell = join_cells(fit.runs, cells), np.arange(2 * m), np.tile(np.arange(m), 2)
    y = np.tile(np.concatenate([fit.runs.y, fit.predict(cells.columns)]), (2 * m, 1))
    y[table, n + cell] = np.concatenate([low, high])
    counts = np.hstack([np.ones((2 * m, n)), np.eye(m)[cell]])
    p = problem(fit.law, fit.spec, dict(runs.columns), y, runs.weight)
    theta = refits(p, best_fit(p.of(slice(0, 1))), lambda i, j: counts[i:j], 2 * m)
    moves = np.abs(estimand.logs(fit.law.values(p.external(theta))) - float(estimand.logs(fit.values))) / width
    return np.asarray(np.max(np.where(np.isfinite(moves), moves, np.inf).reshape(2, m), axis=0))


def nearest_cell(estimand: Estimand, cells: Candidates, axes: Sequence[str]) -> int:
    """Return the index of the cell that is nearest to the place of ``estimand``, in logarithms of the ``axes``."""
    far = np.sum([np.log(cells.columns[axis] / estimand.at[axis]) ** 2 for axis in axes], axis=0)
    return int(np.argmin(far))
