"""One simulated table: its advice is followed in rounds, and the result is compared with the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.next_cells.baselines import cheapest_cells, iso_flop_cells, random_cells
from benchmarks.next_cells.linear import Linear, best_design
from benchmarks.next_cells.truths import Truth, estimand, first_cells, measured, optimum, sought, table
from isoplan.engine.arrays import Floats
from isoplan.engine.design.advice import Spend, advise
from isoplan.engine.design.candidates import Candidates
from isoplan.engine.design.estimand import half_width
from isoplan.engine.design.widths import Width
from isoplan.engine.fitting import Fit, FitSpec, fit

CELLS, ROUNDS, REFITS = 12, 4, 500
BASELINES = ("random", "iso-FLOP", "cheapest first")


@dataclass(frozen=True)
class Design:
    """Design standard deviation divided by that of the planner who knows the truth, and FLOPs of the baselines.

    ``factors`` are the FLOPs with which each of ``BASELINES`` reaches the same design standard deviation, divided by
    the FLOPs of the advised cells. They are infinite if the baseline does not reach it.
    """

    ratio: float
    factors: tuple[float, ...]


@dataclass(frozen=True)
class Outcome:
    """Result of one simulated table."""

    design: Design | None  # None if the law that is fitted is wrong
    error: float  # estimated minus true logarithm of the loss
    covered: bool  # whether the 68 % interval contains the truth
    promise: Width  # promised half width after the next round
    reached: float  # half width after the next round
    whole: float  # half width after all rounds, divided by the promised half width


def simulate(truth: Truth, spend: float, hedge: bool, seed: int) -> Outcome:
    """Simulate one table, follow the advice in ``ROUNDS`` rounds, and return the result.

    ``spend`` is a fraction of the target budget. Each cell is measured at most once.
    """
    random = np.random.default_rng([seed, round(spend * 100)])
    cells = truth.candidates()
    start = first_cells(cells, random)
    loss = measured(truth, cells, random)
    promises, reached, known = list[tuple[Width, Width]](), list[float](), start.tolist()
    left, made = spend * truth.budget, fitted(cells, known, loss, seed)
    for rounds in range(ROUNDS, 0, -1):
        open_cells = np.setdiff1d(np.arange(len(cells)), known)
        limits = Spend(left, max(CELLS - (len(known) - len(start)), 1), rounds)
        if len(known) - len(start) >= CELLS or not (cells.cost[open_cells] <= left).any():
            break
        one = estimand(truth.budget, optimum(truth, made.theta))
        advice = advise(made, [one], cells.take(open_cells), limits, hedge=hedge, seed=seed)
        promises.append((advice.after[0][0], advice.after[-1][0]))
        taken = open_cells[list(advice.rounds[0])].tolist()
        known += taken
        left -= float(cells.cost[taken].sum())
        made = fitted(cells, known, loss, seed)
        reached.append(half(made, truth))
    log = float(sought(truth, made.values))
    ends = made.resampling.interval(log, sought(truth, made.draws), 0.68)
    if ends is None or not promises:
        raise RuntimeError(f"seed {seed}: the fit has no interval, or no cell was affordable")
    return Outcome(
        designed(truth, spend, cells, start.tolist(), known, seed) if is_fitted(truth) else None,
        log - truth.sought(),
        ends[0] <= truth.sought() <= ends[1],
        promises[0][0],
        reached[0],
        reached[-1] / promises[0][1].expected,
    )


def is_fitted(truth: Truth) -> bool:
    """Return whether the law of ``truth`` is the law that is fitted."""
    return truth.power == 1 and truth.product == 0


def designed(
    truth: Truth, spend: float, cells: Candidates, start: Sequence[int], known: Sequence[int], seed: int
) -> Design:
    """Compare the design of the cells ``known``, which begin with the cells ``start``, with other designs."""
    N, D = cells.columns["N"], cells.columns["D"]
    linear = Linear(truth, N, D)
    sd, spent = linear.sd(known), float(cells.cost[list(known[len(start) :])].sum())
    others = (
        random_cells(linear, start, cells.cost, truth.budget, sd, CELLS, seed),
        iso_flop_cells(truth, N[list(start)], D[list(start)], sd),
        cheapest_cells(linear, start, cells.cost, sd),
    )
    best = best_design(linear, start, cells.cost, spend * truth.budget, CELLS)
    return Design(sd / best, tuple(flops / spent for flops in others))


def fitted(cells: Candidates, known: Sequence[int], loss: Floats, seed: int) -> Fit:
    """Fit the law to the cells ``known``."""
    spec = FitSpec(objective="ols-log", bootstrap=REFITS, seed=seed)
    return fit(spec, table(cells.take(known), loss[list(known)]))


def half(made: Fit, truth: Truth) -> float:
    """Return half the width of the 68 % interval of the logarithm of the loss at the target budget."""
    return half_width(made.resampling, float(sought(truth, made.values)), sought(truth, made.draws))
