"""Advice on the next cells in simulated tables: how close its designs come to those of a planner who knows the truth.

The tables are simulated from three true laws with 2 % noise. Each table starts with eight cheap runs. The quantity to
predict is the logarithm of the loss at a target budget. At most twelve cells are added in four rounds. Together they
cost at most 5 % or 20 % of the target budget. Each candidate costs at most 20 % of the target budget.

The design standard deviation is the standard deviation of this quantity after the starting runs and the chosen cells.
It is computed from the true law, linearised at its parameters. The planner who knows the truth chooses the cells that
minimise the design standard deviation: first by the greedy search that the advice also uses, and then by exchanges of
single cells until no exchange reduces the design standard deviation.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from benchmarks.report import Report
from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.costs import ComputeRule
from isoplan.engine.design.advice import Spend, advise
from isoplan.engine.design.candidates import Candidates, grid_candidates
from isoplan.engine.design.choice import best_sets
from isoplan.engine.design.covariance import Covariance
from isoplan.engine.design.estimand import Estimand, half_width
from isoplan.engine.fitting import Fit, FitSpec, fit
from isoplan.engine.laws import get_law
from isoplan.engine.laws.law import Values
from isoplan.engine.planning.optimum.frontier import frontier
from isoplan.engine.schema import Roles, Runs

RULE, LAW = ComputeRule(), get_law("chinchilla")
NOISE, STARTS, CELLS, ROUNDS, TABLES, REFITS = 0.02, 8, 12, 4, 50, 500
SPENDS = (0.05, 0.2)
MOST, PER_DECADE = 0.2, 4
"""Largest cost of a candidate as a fraction of the target budget, and number of candidates per decade of N and D."""


@dataclass(frozen=True)
class Truth:
    """A true law (E, A, B, alpha, beta), its target budget, and the ranges of N and D of the candidates."""

    name: str
    theta: tuple[float, ...]
    budget: float
    N: tuple[float, float]
    D: tuple[float, float]

    def candidates(self) -> Candidates:
        """Return all cells of the ranges that cost at most ``MOST`` of the target budget."""
        return grid_candidates(self.N, self.D, RULE, MOST * self.budget, PER_DECADE)

    def values(self, rows: Floats) -> Values:
        """Return parameter values of shape (r,) from the parameters ``rows`` (r, 5)."""
        return LAW.values(rows)


TRUTHS = (
    Truth("jets-like", (0.49, 3.8, 90.0, 0.30, 0.40), 1e16, (1e4, 1e7), (1e6, 1e9)),
    Truth("Chinchilla", (1.82, 482.0, 2085.4, 0.3478, 0.3658), 1e21, (1e8, 2e10), (1e9, 2e11)),
    Truth("no floor", (0.0, 12.0, 12.0, 0.15, 0.16), 1e18, (1e6, 1e9), (1e7, 1e10)),
)


def estimand(budget: float, at: tuple[float, float]) -> Estimand:
    """Return the loss at ``budget`` FLOPs, whose optimum is near ``at`` (N, D)."""
    return Estimand("loss", "", lambda v: frontier(LAW, v, np.asarray(budget), RULE).loss, {"N": at[0], "D": at[1]})


def optimum(truth: Truth, theta: Floats) -> tuple[float, float]:
    """Return N and D of the lowest loss at the target budget for the parameters ``theta`` (5,)."""
    best = frontier(LAW, LAW.values(theta), np.asarray(truth.budget), RULE)
    return float(best.N), float(best.D)


def table(cells: Candidates, loss: Floats) -> Runs:
    """Return the runs ``cells`` with their losses."""
    N, D = cells.columns["N"], cells.columns["D"]
    values = {"N": N, "D": D, "loss": loss, "C": np.asarray(RULE.flops(N, D), float)}
    return Runs(np.arange(len(N)), values, Roles(N="N", D="D", loss="loss"), {})


def measured(truth: Truth, cells: Candidates, random: np.random.Generator) -> Floats:
    """Simulate the losses of ``cells``."""
    return LAW.predict(np.array(truth.theta), cells.columns) * np.exp(NOISE * random.standard_normal(len(cells)))


def first_cells(truth: Truth, cells: Candidates, random: np.random.Generator) -> Ints:
    """Return eight random cells of the cheapest third that vary both N and D."""
    cheap = np.argsort(cells.cost, kind="stable")[: len(cells) // 3]
    while True:
        chosen = random.choice(cheap, STARTS, replace=False)
        if all(len(np.unique(cells.columns[axis][chosen])) >= 3 for axis in ("N", "D")):
            return np.sort(chosen)


class Linear:
    """The problem linearised at the true parameters: slopes of ln L of the cells (m, p), and of the estimand (p,)."""

    def __init__(self, truth: Truth, cells: Candidates) -> None:
        theta = np.array(truth.theta)
        free = theta > 0
        steps = 1e-5 * np.where(free, theta, 1e-3)
        up, down = (theta + sign * np.diag(steps) for sign in (1, -1))
        self.slopes = (np.log(LAW.predict(up, cells.columns)) - np.log(LAW.predict(down, cells.columns))).T / (
            2 * steps
        )
        one = estimand(truth.budget, optimum(truth, theta))
        self.slope = (one.logs(LAW.values(up)) - one.logs(LAW.values(down))) / (2 * steps)
        scale = np.where(free, theta, 1.0)
        self.slopes, self.slope = self.slopes * scale, self.slope * scale

    def sd(self, chosen: Sequence[int]) -> float:
        """Return the standard deviation of the estimand if the cells ``chosen`` are measured."""
        information = self.slopes[list(chosen)].T @ self.slopes[list(chosen)] / NOISE**2
        return float(np.sqrt(self.slope @ np.linalg.pinv(information, rcond=1e-13, hermitian=True) @ self.slope))

    def covariance(self, known: Sequence[int]) -> Covariance:
        """Return the covariance of the cells and the estimand if the cells ``known`` are measured."""
        information = self.slopes[list(known)].T @ self.slopes[list(known)] / NOISE**2
        spread = np.asarray(np.linalg.pinv(information, rcond=1e-13, hermitian=True), float)
        return Covariance(self.slopes[None], self.slope[None, None], spread[None], NOISE**2, np.array([1.0]))


def best_design(linear: Linear, known: Sequence[int], cost: Floats, spend: float) -> float:
    """Return the design standard deviation of the planner who knows the truth."""
    cells = list(best_sets(linear.covariance(known), cost, spend, CELLS)[0])
    best = linear.sd([*known, *cells])
    improved = True
    while improved:
        improved = False
        for i, cell in product(range(CELLS), range(len(cost))):
            trial = [*cells[:i], cell, *cells[i + 1 :]]
            if len(set(trial)) < len(trial) or cost[trial].sum() > spend:
                continue
            sd = linear.sd([*known, *trial])
            if sd < best * (1 - 1e-6):
                cells, best, improved = trial, sd, True
    return best


@dataclass(frozen=True)
class Outcome:
    """Result of one simulated table."""

    ratio: float  # design standard deviation divided by that of the planner who knows the truth
    error: float  # estimated minus true logarithm of the loss
    covered: bool  # whether the 68 % interval contains the truth
    promised: float  # half width promised for the next round
    reached: float  # half width after the next round
    low: float
    high: float
    whole: float  # half width reached with all cells, divided by the promised half width


def simulate(truth: Truth, spend: float, hedge: bool, seed: int) -> Outcome:
    """Simulate one table, follow the advice in ``ROUNDS`` rounds, and return the result."""
    random = np.random.default_rng([seed, round(spend * 100)])
    cells, linear = truth.candidates(), Linear(truth, truth.candidates())
    known = list(first_cells(truth, cells, random))
    loss = measured(truth, cells, random)  # each cell is measured at most once
    target = estimand(truth.budget, optimum(truth, np.array(truth.theta)))
    sought = float(target.logs(LAW.values(np.array(truth.theta))))
    oracle = best_design(linear, known, cells.cost, spend * truth.budget)
    start, first, last, left = known.copy(), None, None, spend * truth.budget
    for remaining in range(ROUNDS, 0, -1):
        made = fitted(cells, known, loss, seed)
        if last is not None and first is None:
            first = (last, half(made, truth))
        open_cells = np.setdiff1d(np.arange(len(cells)), known)
        limits = Spend(left, CELLS - (len(known) - len(start)), remaining)
        affordable = cells.cost[open_cells] <= left
        if limits.cells < 1 or not affordable.any():
            break
        one = estimand(truth.budget, optimum(truth, made.theta))
        advice = advise(made, [one], cells.take(open_cells), limits, hedge=hedge, seed=seed)
        if last is None:
            last, promised_whole = advice.after[0][0], advice.after[-1][0]
        taken = open_cells[list(advice.rounds[0])].tolist()
        known += taken
        left -= float(cells.cost[taken].sum())
    made = fitted(cells, known, loss, seed)
    log = float(target.logs(made.values))
    ends = made.resampling.interval(log, target.logs(made.draws), 0.68)
    assert ends is not None
    assert last is not None
    first = first or (last, half(made, truth))
    return Outcome(
        linear.sd(known) / oracle,
        log - sought,
        ends[0] <= sought <= ends[1],
        first[0].expected,
        first[1],
        first[0].low,
        first[0].high,
        half(made, truth) / promised_whole.expected,
    )


def fitted(cells: Candidates, known: Sequence[int], loss: Floats, seed: int) -> Fit:
    """Fit the law to the cells ``known``."""
    spec = FitSpec(objective="ols-log", bootstrap=REFITS, seed=seed)
    return fit(spec, table(cells.take(known), loss[list(known)]))


def half(made: Fit, truth: Truth) -> float:
    """Return half the width of the 68 % interval of the logarithm of the loss at the target budget."""
    one = estimand(truth.budget, optimum(truth, np.array(truth.theta)))
    return half_width(made.resampling, float(one.logs(made.values)), one.logs(made.draws))


def run(tables: int = TABLES) -> Report:
    """Simulate tables for each truth and each spend in parallel, and report the quality of the advice."""
    rows = []
    with ProcessPoolExecutor() as pool:
        for truth, spend, hedge in product(TRUTHS, SPENDS, (False, True)):
            found = list(pool.map(partial(simulate, truth, spend, hedge), range(tables)))
            rows.append((truth.name, f"{spend:.0%}", "yes" if hedge else "no", *_row(found)))
    columns = (
        "truth",
        "spend",
        "hedge",
        "design, median (90 %)",
        "rms error",
        "coverage",
        "next batch",
        "range",
        "whole",
    )
    return Report("Next cells", __doc__.split("\n\n")[0].replace("\n", " "), columns, tuple(rows))


def _row(found: Sequence[Outcome]) -> tuple[str, ...]:
    ratio = np.array([one.ratio for one in found])
    reached, promised = np.array([one.reached for one in found]), np.array([one.promised for one in found])
    inside = np.mean([one.low <= one.reached <= one.high for one in found])
    ends = np.median([one.high / one.low for one in found])
    return (
        f"{np.median(ratio):.2f} ({np.quantile(ratio, 0.9):.2f})",
        f"{np.sqrt(np.mean([one.error**2 for one in found])):.3f}",
        f"{np.mean([one.covered for one in found]):.0%}",
        f"{np.median(reached / promised):.2f}",
        f"{inside:.0%}, factor {ends:.1f}",
        f"{np.median([one.whole for one in found]):.2f}",
    )
