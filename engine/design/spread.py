"""Cells (training runs) that are spread over the axes at a low cost, for the first fit of a law."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.design.candidates import Candidates

CHEAP = 1 / 3
"""Part of the cells from which the first cells are chosen: the cheapest third."""
LEVELS = 3
"""Number of different values of each axis that the first cells should have, if the grid has them."""
FREEDOM = 5
"""Degrees of freedom below which the interval of a fit is not trusted. A first fit needs ``FREEDOM`` more runs than it
has parameters."""
INDEPENDENT = 0.05
"""The axes count as independent if the smallest singular value of their logarithms, with the means subtracted, is above
this fraction of the largest singular value.
"""
THRIFT = 0.25
"""Weight of the cost against the distance to the chosen cells. Both have the range 0 to 1 among the cheap cells."""


def first_cells(
    cells: Candidates, trained: Mapping[str, Floats], parameters: int, most: int, spend: float
) -> list[int]:
    """Return at most ``most`` of ``cells`` that, with the runs ``trained``, are enough for the fit of a law.

    ``trained`` contains the values (n,) of each axis, and ``parameters`` is the number of free parameters of the law.
    The cells are spread over the axes, cost at most ``spend`` together, and are in the order of their costs. Their
    number is ``parameters + FREEDOM - n``, or larger if this number of cells does not vary the axes independently.
    """
    n, m = len(next(iter(trained.values()))), len(cells)
    joined = {axis: np.concatenate([x, trained[axis]]) for axis, x in cells.columns.items()}
    cost = np.concatenate([cells.cost, np.ones(n)])  # the costs of trained runs are not used
    every, known, chosen = Candidates(joined, cost, cost), range(m, m + n), list[int]()
    for many in range(min(max(parameters + FREEDOM - n, 1), most), most + 1):
        chosen = spread(every, known, range(m), many, spend)
        rows = [*known, *chosen]
        if len(chosen) < many or (_varied(every, np.array(rows)) and _independent(every, rows)):
            break
    return sorted(chosen, key=lambda cell: (float(cells.cost[cell]), cell))


def _independent(cells: Candidates, rows: Sequence[int]) -> bool:
    """Return whether the axes vary independently of each other in the cells at ``rows``."""
    logs = np.log(np.stack([x[rows] for x in cells.columns.values()], axis=1))
    values = np.linalg.svd(logs - logs.mean(axis=0), compute_uv=False)
    return bool(values[-1] > INDEPENDENT * values[0])


def spread(cells: Candidates, known: Sequence[int], free: Sequence[int], many: int, spend: float) -> list[int]:
    """Return at most ``many`` rows of ``free`` that are spread over the axes and together cost at most ``spend``.

    The distance is measured in logarithms of the axes, from the chosen cells and from the rows ``known``, which are
    trained already. The next cell is always the cheap cell with the largest distance, after a penalty for its cost is
    subtracted.
    """
    if not len(free):
        return []
    pool = _cheap(cells, known, np.array(free, np.int64), many)
    at = np.log(np.stack([*cells.columns.values()], axis=1))
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

    More rows are returned if ``many`` is larger, or if the cheapest third and ``known`` have too few values of an axis.
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
