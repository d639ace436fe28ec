"""Cells (training runs) that are spread over N and D at a low cost, for the first fit of a law."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.design.candidates import Candidates
from isoplan.engine.planning.next_cells.answer import AXES

CHEAP = 1 / 3
"""Part of the cells from which the first cells are chosen: the cheapest third."""
LEVELS = 3
"""Number of different values of N and of D that the first cells should have, if the grid has them."""
THRIFT = 0.25
"""Weight of the cost against the distance to the chosen cells. Both have the range 0 to 1 among the cheap cells."""


def spread(cells: Candidates, known: Sequence[int], free: Sequence[int], many: int, spend: float) -> list[int]:
    """Return at most ``many`` rows of ``free`` that are spread over N and D and together cost at most ``spend``.

    The distance is measured in log N and log D, from the chosen cells and from the rows ``known`` that are trained
    already. Each cell is the one with the largest distance, less a penalty for its cost, among the cheap cells.
    """
    if not len(free):
        return []
    pool = _cheap(cells, known, np.array(free, np.int64), many)
    at = np.log(np.stack([cells.columns[axis] for axis in AXES], axis=1))
    low, high = at[pool].min(axis=0), at[pool].max(axis=0)
    at = (at - low) / np.where(high > low, high - low, 1.0)
    price = np.log(cells.cost)
    price = (price - price[pool].min()) / (np.ptp(price[pool]) or 1.0)
    chosen = list[int]()
    while len(chosen) < many:
        left = spend - float(cells.cost[chosen].sum())
        open_rows = pool[~np.isin(pool, chosen) & (cells.cost[pool] <= left)]
        if not len(open_rows):
            break
        gain = _distance(at, open_rows, [*known, *chosen]) - THRIFT * price[open_rows]
        chosen.append(int(open_rows[np.flatnonzero(gain >= gain.max() - 1e-9)[0]]))
    return chosen


def _cheap(cells: Candidates, known: Sequence[int], free: Ints, many: int) -> Ints:
    """Return the cheapest rows of ``free``: as many as a third of the grid.

    They are more if ``many`` is larger, or if the cheapest third and ``known`` have too few values of N or D.
    """
    order = free[np.lexsort((free, cells.cost[free]))]
    size = max(round(CHEAP * len(cells)), many)
    while size < len(order) and not _varied(cells, np.r_[np.array(known, np.int64), order[:size]]):
        size += 1
    return order[:size]


def _varied(cells: Candidates, rows: Ints) -> bool:
    return all(len(np.unique(x[rows])) >= min(LEVELS, len(np.unique(x))) for x in cells.columns.values())


def _distance(at: Floats, rows: Ints, from_rows: Sequence[int]) -> Floats:
    """Return the distance of each of ``rows`` to the nearest of ``from_rows``; 0 if there are none."""
    if not len(from_rows):
        return np.zeros(len(rows))
    apart = at[rows][:, None, :] - at[list(from_rows)][None, :, :]
    return np.asarray(np.sqrt((apart**2).sum(axis=2)).min(axis=1), float)
