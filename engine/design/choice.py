"""Sets of cells that narrow the estimands most for a given spend.

A greedy search adds the cell with the highest gain / cost^exponent until the spend is used. No single exponent is best:
the gain per cost (exponent 1) is best if many cells may be trained, and the gain alone (exponent 0) if few cells may be
trained. The search therefore uses several exponents. In the sets that it finds, single cells are exchanged until no
exchange helps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.design.linear_models import LinearModels

EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0)
TIE = 1e-9
"""Differences below this number count as zero. Differences between scores of cells are relative to the best score. If
several cells have the best score, the first of them is chosen.
"""
EXCHANGED, PASSES = 2, 3
"""EXCHANGED: number of the best sets of the search in which cells are exchanged. PASSES: maximum number of passes in
which every cell of such a set can be exchanged."""


def best_sets(models: LinearModels, cost: Floats, spend: float, most: int) -> list[tuple[int, ...]]:
    """Return different sets of at most ``most`` cells that together cost at most ``spend``, the best set first.

    ``cost`` (m,) is the cost of each candidate. One of the sets is the best single cell. The result is empty if no cell
    is affordable.
    """

    def remaining(cells: tuple[int, ...]) -> float:
        return models.after(cells).remaining

    found = [_greedy(models, cost, spend, most, exponent) for exponent in EXPONENTS]
    best = sorted({frozenset(cells): cells for cells in found}.values(), key=remaining)[:EXCHANGED]
    exchanged = [_exchanged(models, cost, spend, cells) for cells in best]
    sets = {frozenset(cells): cells for cells in (*exchanged, *best, found[0][:1])}
    return sorted(filter(None, sets.values()), key=remaining)


def _greedy(models: LinearModels, cost: Floats, spend: float, most: int, exponent: float) -> tuple[int, ...]:
    """Return the cells that the greedy search adds, in this order."""
    cells: list[int] = []
    while len(cells) < most:
        cell = _best(models.after(cells).gains() / cost**exponent, cells, cost, spend - cost[cells].sum())
        if cell is None:
            break
        cells.append(cell)
    return tuple(cells)


def _exchanged(models: LinearModels, cost: Floats, spend: float, cells: tuple[int, ...]) -> tuple[int, ...]:
    """Return ``cells`` after all exchanges of one cell for another that decrease the error."""
    least = models.after(cells).remaining
    for _ in range(PASSES):
        start = least
        for i in range(len(cells)):
            others = (*cells[:i], *cells[i + 1 :])
            state = models.after(others)
            gains = state.gains()
            cell = _best(gains, others, cost, spend - cost[list(others)].sum())
            if cell is not None and state.remaining - gains[cell] < least - TIE:
                cells, least = (*cells[:i], cell, *cells[i + 1 :]), state.remaining - float(gains[cell])
        if least >= start - TIE:
            break
    return cells


def _best(score: Floats, chosen: Sequence[int], cost: Floats, left: float) -> int | None:
    """Return the cell with the highest ``score`` that is not ``chosen`` and costs at most ``left``.

    The result is None if there is no such cell. If cells are ``chosen`` already, it is also None if no further cell
    decreases the error.
    """
    free = cost <= left * (1 + TIE)
    free[list(chosen)] = False
    if not free.any():
        return None
    allowed = np.where(free, score, -np.inf)
    if len(chosen) and allowed.max() <= 0:
        return None
    return int(np.flatnonzero(allowed >= allowed.max() - TIE * abs(allowed.max()))[0])
