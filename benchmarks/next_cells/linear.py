"""Standard deviation of the predicted quantity for a design, from the true law linearised at its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from benchmarks.next_cells.truths import LAW, NOISE, Truth, sought
from isoplan.engine.arrays import Floats
from isoplan.engine.design.choice import best_sets
from isoplan.engine.design.linear_models import LinearModels


class Linear:
    """The problem linearised at the true parameters: slopes of ln L of the cells (m, p), and of the quantity (p,).

    The law of ``truth`` must be the law that is fitted. ``N`` and ``D`` (m,) are the cells.
    """

    def __init__(self, truth: Truth, N: Floats, D: Floats) -> None:
        theta = np.array(truth.theta)
        free = theta > 0
        steps = 1e-5 * np.where(free, theta, 1e-3)
        up, down = (theta + sign * np.diag(steps) for sign in (1, -1))
        cells = {"N": N, "D": D}
        self.slopes = (np.log(LAW.predict(up, cells)) - np.log(LAW.predict(down, cells))).T / (2 * steps)
        self.slope = (sought(truth, LAW.values(up)) - sought(truth, LAW.values(down))) / (2 * steps)
        scale = np.where(free, theta, 1.0)
        self.slopes, self.slope = self.slopes * scale, self.slope * scale

    def sd(self, chosen: Sequence[int]) -> float:
        """Return the standard deviation of the quantity if the cells ``chosen`` are measured."""
        return float(np.sqrt(self.slope @ self._spread(chosen) @ self.slope))

    def covariance(self, known: Sequence[int]) -> LinearModels:
        """Return the covariance of the cells and the quantity if the cells ``known`` are measured."""
        spread = self._spread(known)
        return LinearModels(self.slopes[None], self.slope[None, None], spread[None], NOISE**2, np.array([1.0]))

    def _spread(self, chosen: Sequence[int]) -> Floats:
        information = self.slopes[list(chosen)].T @ self.slopes[list(chosen)] / NOISE**2
        return np.asarray(np.linalg.pinv(information, rcond=1e-13, hermitian=True), float)


def best_design(linear: Linear, known: Sequence[int], cost: Floats, spend: float, most: int) -> float:
    """Return the design standard deviation of the planner who knows the truth, with at most ``most`` cells.

    The planner finds cells by the greedy search that the advice also uses, and then exchanges single cells until no
    exchange reduces the design standard deviation.
    """
    cells = list(best_sets(linear.covariance(known), cost, spend, most)[0])
    best = linear.sd([*known, *cells])
    improved = True
    while improved:
        improved = False
        for i, cell in product(range(len(cells)), range(len(cost))):
            trial = [*cells[:i], cell, *cells[i + 1 :]]
            if len(set(trial)) < len(trial) or cost[trial].sum() > spend:
                continue
            sd = linear.sd([*known, *trial])
            if sd < best * (1 - 1e-6):
                cells, best, improved = trial, sd, True
    return best
