"""True laws of the simulated tables, their candidates, and the starting runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.costs import ComputeRule
from isoplan.engine.design.candidates import Candidates, grid_candidates
from isoplan.engine.design.estimand import Estimand
from isoplan.engine.laws import get_law
from isoplan.engine.laws.law import Values
from isoplan.engine.planning.optimum.frontier import frontier
from isoplan.engine.schema import Roles, Runs

RULE, LAW = ComputeRule(), get_law("chinchilla")
NOISE, STARTS = 0.02, 8
MOST, PER_DECADE = 0.2, 4
"""Largest cost of a candidate as a fraction of the target budget, and number of candidates per decade of N and D."""


@dataclass(frozen=True)
class Truth:
    """A true law, its target budget, and the ranges of N and D of the candidates.

    ``theta`` contains the values (E, A, B, alpha, beta). With a = A N^-alpha and b = B D^-beta, the loss is
    E + (a^(1/q) + b^(1/q))^q + c a b, with q = ``power`` and c = ``product``. The defaults q = 1 and c = 0 give the law
    that is fitted. If c = 0, E = 0 and q = beta, the loss has the form of Kaplan et al. (arXiv:2001.08361, Eq. 1.5).
    """

    name: str
    theta: tuple[float, ...]
    budget: float
    N: tuple[float, float]
    D: tuple[float, float]
    power: float = 1.0
    product: float = 0.0

    def candidates(self) -> Candidates:
        """Return all cells of the ranges that cost at most ``MOST`` of the target budget."""
        return grid_candidates(self.N, self.D, RULE, MOST * self.budget, PER_DECADE)

    def loss(self, N: Floats, D: Floats) -> Floats:
        """Return the true loss of cells without noise; ``N`` and ``D`` have the same shape."""
        E, A, B, alpha, beta = self.theta
        a, b = A * N**-alpha, B * D**-beta
        return np.asarray(
            E + (a ** (1 / self.power) + b ** (1 / self.power)) ** self.power + self.product * a * b, float
        )

    def sought(self) -> float:
        """Return the logarithm of the lowest loss at the target budget, from 100,001 values of N."""
        N = np.geomspace(self.N[0] / 10, self.N[1] * 10, 100_001)
        return float(np.log(self.loss(N, np.asarray(RULE.samples(np.asarray(self.budget), N), float)).min()))


JETS, CHINCHILLA = (0.49, 3.8, 90.0, 0.30, 0.40), (1.82, 482.0, 2085.4, 0.3478, 0.3658)
TRUTHS = (
    Truth("jets-like", JETS, 1e16, (1e4, 1e7), (1e6, 1e9)),
    Truth("Chinchilla", CHINCHILLA, 1e21, (1e8, 2e10), (1e9, 2e11)),
    Truth("no floor", (0.0, 12.0, 12.0, 0.15, 0.16), 1e18, (1e6, 1e9), (1e7, 1e10)),
)
INTERACTIONS = (
    Truth("jets-like, q = 0.6", JETS, 1e16, (1e4, 1e7), (1e6, 1e9), power=0.6),
    Truth("jets-like, q = 0.4", JETS, 1e16, (1e4, 1e7), (1e6, 1e9), power=0.4),
    Truth("Chinchilla, c = 0.25", CHINCHILLA, 1e21, (1e8, 2e10), (1e9, 2e11), product=0.25),
    Truth("Chinchilla, c = 0.5", CHINCHILLA, 1e21, (1e8, 2e10), (1e9, 2e11), product=0.5),
)
"""True laws in which N and D interact, so that the fitted law is wrong."""


def estimand(budget: float, at: tuple[float, float]) -> Estimand:
    """Return the loss at ``budget`` FLOPs, whose optimum is near ``at`` (N, D)."""
    return Estimand("loss", "", lambda v: frontier(LAW, v, np.asarray(budget), RULE).loss, {"N": at[0], "D": at[1]})


def optimum(truth: Truth, theta: Floats) -> tuple[float, float]:
    """Return N and D of the lowest loss of the fitted law at the target budget, for its parameters ``theta`` (5,)."""
    best = frontier(LAW, LAW.values(theta), np.asarray(truth.budget), RULE)
    return float(best.N), float(best.D)


def sought(truth: Truth, values: Values) -> Floats:
    """Return the logarithm of the loss at the target budget for the parameter values ``values`` of the fitted law."""
    return estimand(truth.budget, optimum(truth, np.array(truth.theta))).logs(values)


def table(cells: Candidates, loss: Floats) -> Runs:
    """Return the runs ``cells`` with their losses."""
    N, D = cells.columns["N"], cells.columns["D"]
    values = {"N": N, "D": D, "loss": loss, "C": np.asarray(RULE.flops(N, D), float)}
    return Runs(np.arange(len(N)), values, Roles(N="N", D="D", loss="loss"), {})


def measured(truth: Truth, cells: Candidates, random: np.random.Generator) -> Floats:
    """Simulate the losses of ``cells``."""
    return truth.loss(cells.columns["N"], cells.columns["D"]) * np.exp(NOISE * random.standard_normal(len(cells)))


def first_cells(cells: Candidates, random: np.random.Generator) -> Ints:
    """Return eight random cells of the cheapest third that vary both N and D."""
    cheap = np.argsort(cells.cost, kind="stable")[: len(cells) // 3]
    while True:
        chosen = random.choice(cheap, STARTS, replace=False)
        if all(len(np.unique(cells.columns[axis][chosen])) >= 3 for axis in ("N", "D")):
            return np.sort(chosen)
