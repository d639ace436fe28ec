"""Advice on the next cells: the set, its order and rounds, the expected widths, and a ladder of spends."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.design.candidates import Candidates, check_candidates
from isoplan.engine.design.choice import best_sets
from isoplan.engine.design.covariance import Covariance, covariance
from isoplan.engine.design.estimand import Estimand, check_estimand, half_width
from isoplan.engine.design.pretend import can_pretend, pretend_widths, scatter
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.quantities import count

LADDER = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Spends of the ladder, as fractions of the cost of the target run."""
PAYS = 0.15
"""Smallest relative decrease of the width at which training pays."""
COMPARED = 3
"""Number of sets per spend whose widths are simulated."""
WITHIN = 1.96
"""Normal score of the 95 % prediction interval of the cell that tests the law."""


@dataclass(frozen=True)
class Spend:
    """Limits of the advice: the cost ``amount``, the number of ``cells``, and the number of ``rounds`` of training."""

    amount: float
    cells: int = 12
    rounds: int = 4

    def __post_init__(self) -> None:
        if not (math.isfinite(self.amount) and self.amount > 0):
            raise PlannerError(f"Spend: {self.amount:g} is not positive. Give a positive number, such as 1e18.")
        if self.cells < 1 or self.rounds < 1:
            raise PlannerError("Cells and rounds: give at least one of each.")


@dataclass(frozen=True)
class Width:
    """Half the width of a 68 % interval, in logarithms: its expected value, and its range over simulated outcomes.

    ``low`` and ``high`` are NaN if the width was not simulated.
    """

    expected: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Rung:
    """One spend of the ladder: the best set of cells for this spend, its cost, and the expected width."""

    spend: float
    cells: tuple[int, ...]
    cost: float
    width: Width


@dataclass(frozen=True)
class TestCell:
    """The cell nearest to the place of the estimand, and the 95 % prediction interval of its loss."""

    cell: int
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Advice:
    """The cells to train next, as indices of the ``candidates``.

    ``rounds`` contains the cells of each round, in the order of training: the cheap cells first. ``now`` (k) are the
    present half widths of the estimands, and ``after`` the expected half width of the first estimand after each round.
    ``gains`` (m,) is the fraction by which each candidate alone would narrow the estimands. ``stop`` is the reason why
    more training does not pay, or "".
    """

    candidates: Candidates
    estimands: tuple[Estimand, ...]
    rounds: tuple[tuple[int, ...], ...]
    now: tuple[float, ...]
    after: tuple[Width, ...]
    gains: Floats
    ladder: tuple[Rung, ...]
    test: TestCell | None
    stop: str = ""

    @property
    def cells(self) -> tuple[int, ...]:
        """All cells in the order of training."""
        return tuple(cell for cells in self.rounds for cell in cells)

    @property
    def cost(self) -> float:
        """Cost of all cells, in the unit of the candidates."""
        return float(np.sum(self.candidates.cost[list(self.cells)]))


def advise(
    fit: Fit,
    estimands: Sequence[Estimand],
    candidates: Candidates,
    spend: Spend,
    *,
    whole: float | None = None,
    tolerance: float = 0.0,
    hedge: bool = True,
    seed: int = 0,
) -> Advice:
    """Return the cells of ``candidates`` that narrow ``estimands`` most within ``spend``.

    ``whole`` is the cost of the target run, for the ladder of spends. ``tolerance`` is the half width, as a fraction of
    the first estimand, at which no more cells are needed. ``hedge`` allows for a smooth deviation of the runs from the
    law. Equal inputs give equal advice. Raises PlannerError if the fit cannot answer an estimand, if candidates are
    wrong, or if no candidate is affordable.
    """
    for one in estimands:
        check_estimand(fit, one)
    check_candidates(fit, candidates)
    if np.min(candidates.cost) > spend.amount:
        raise PlannerError(
            f"Spend: {count(spend.amount, 3)} {candidates.unit} do not pay for the cheapest candidate, which costs "
            f"{count(float(np.min(candidates.cost)), 3)}. Raise the spend, or add cheaper candidates."
        )
    before = covariance(fit, candidates, estimands, hedge)

    def promised(cells: Sequence[int], more: int = 1) -> Width:
        return promise(fit, candidates, estimands, before, cells, seed + more)

    spends = sorted({spend.amount, *(share * (whole or 0.0) for share in LADDER)} - {0.0})
    rungs = {rung.spend: rung for rung in ladder(candidates, before, promised, spends, spend.cells)}
    rounds = in_rounds(rungs[spend.amount].cells, candidates.cost, spend.rounds)
    trained = [sum(rounds[: i + 1], ()) for i in range(len(rounds))]
    found = Advice(
        candidates,
        tuple(estimands),
        rounds,
        tuple(half_width(fit.resampling, float(one.logs(fit.values)), one.logs(fit.draws)) for one in estimands),
        _never_wider((*map(promised, trained[:-1]), rungs[spend.amount].width)),
        1 - np.sqrt(np.maximum(1 - before.after().gains() / before.after().remaining, 0)),
        tuple(rung for rung in rungs.values() if whole),
        test_cell(fit, candidates, estimands[0], spend.amount),
    )
    return replace(found, stop=_stop(found, tolerance))


def in_rounds(cells: Sequence[int], cost: Floats, rounds: int) -> tuple[tuple[int, ...], ...]:
    """Return ``cells`` in at most ``rounds`` groups of about equal number, the cheapest cells first."""
    order = sorted(cells, key=lambda cell: (float(cost[cell]), cell))
    parts = np.array_split(np.array(order, np.int64), min(rounds, len(order)))
    return tuple(tuple(int(cell) for cell in part) for part in parts)


def _never_wider(widths: Sequence[Width]) -> tuple[Width, ...]:
    """Return the widths after successive rounds. The expected width never increases, up to the last round.

    The widths are simulated separately, so an earlier width can be smaller by chance than the last one.
    """
    last = widths[-1].expected
    least = np.minimum.accumulate([max(width.expected, last) for width in widths])
    return tuple(replace(width, expected=float(x)) for width, x in zip(widths, least, strict=True))


def promise(
    fit: Fit,
    candidates: Candidates,
    estimands: Sequence[Estimand],
    before: Covariance,
    cells: Sequence[int],
    seed: int = 0,
) -> Width:
    """Return the expected half width of the first estimand after the training of ``cells``.

    It is the median over simulated outcomes if the fit can be repeated with them, and otherwise follows from the
    covariance. It is at most the present half width, because cells are not expected to widen an interval.
    """
    first = estimands[0]
    now = half_width(fit.resampling, float(first.logs(fit.values)), first.logs(fit.draws))
    if can_pretend(fit):
        widths = pretend_widths(fit, candidates.take(sorted(cells)), estimands, seed)[:, 0]
        return Width(min(float(np.median(widths)), now), float(np.min(widths)), float(np.max(widths)))
    return Width(now * float(np.sqrt(before.after(cells).variance[0] / before.variance[0])))


def ladder(
    candidates: Candidates,
    before: Covariance,
    promised: Callable[[Sequence[int], int], Width],
    spends: Sequence[float],
    most: int,
) -> Iterator[Rung]:
    """Yield a rung for each of the increasing ``spends``: the set of at most ``most`` cells with the smallest width.

    ``promised(cells, seed)`` returns the expected width of a set. For each spend, the widths of the sets with the
    smallest variances are compared. The width of the best set is then simulated again with another seed, because the
    smallest of several simulated widths is too small on average. If the set of a smaller spend has a smaller width,
    that set is used again. Spends that pay for no candidate are omitted.
    """
    best: Rung | None = None
    for spend in spends:
        sets = best_sets(before, candidates.cost, spend, most)[:COMPARED]
        if not sets:
            continue
        cells = min(sets, key=lambda cells: promised(cells, 0).expected)
        rung = Rung(spend, cells, float(np.sum(candidates.cost[list(cells)])), promised(cells, 1))
        best = rung if best is None or rung.width.expected < best.width.expected else replace(best, spend=spend)
        yield best


def test_cell(fit: Fit, candidates: Candidates, estimand: Estimand, most: float) -> TestCell | None:
    """Return the affordable candidate nearest to the place of ``estimand``, in logarithms of the axes.

    ``most`` is the maximum cost of the cell. The result is None if the estimand has no place.
    """
    axes = fit.law.axes
    if any(axis not in estimand.at for axis in axes):
        return None
    far = sum(np.log(candidates.columns[axis] / estimand.at[axis]) ** 2 for axis in axes)
    cell = int(np.argmin(np.where(candidates.cost <= most, far, np.inf)))
    at = {axis: x[cell : cell + 1] for axis, x in candidates.columns.items()}
    best, draws = float(fit.predict(at)[0]), fit.predict_draws(at)[:, 0]
    noise, log = scatter(fit), fit.spec.log_residuals
    spread = np.std(np.log(draws)) if log else np.std(draws)
    reach = WITHIN * math.hypot(float(spread), noise)
    ends = (best * math.exp(-reach), best * math.exp(reach)) if log else (best - reach, best + reach)
    return TestCell(cell, *ends)


def pays(now: float, width: Width) -> bool:
    """Return whether ``width`` is narrower than the present half width ``now`` by at least ``PAYS``."""
    return not math.isfinite(now) or width.expected <= (1 - PAYS) * now


def _stop(advice: Advice, tolerance: float) -> str:
    """Return the reason why training does not pay, or ""."""
    if tolerance and advice.now[0] <= math.log1p(tolerance):
        return f"The 68 % interval is already within {100 * tolerance:g} %."
    if not pays(advice.now[0], advice.after[-1]):
        return f"All cells together would narrow the interval by less than {100 * PAYS:g} %."
    return ""
