"""Advice on the next cells: the set, its order and rounds, the expected widths, and a ladder of spends."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import accumulate

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.design.adaptive import adapted
from isoplan.engine.design.candidates import Candidates, check_candidates, check_pays
from isoplan.engine.design.choice import best_sets
from isoplan.engine.design.cost_unit import FLOPS, CostUnit
from isoplan.engine.design.covariance import covariance
from isoplan.engine.design.early_stop import nearest_cell
from isoplan.engine.design.estimand import Estimand, check_fit, present_widths
from isoplan.engine.design.hedge import affordable
from isoplan.engine.design.linear_models import LinearModels
from isoplan.engine.design.pretend import can_pretend, pretend_widths
from isoplan.engine.design.widths import Narrowing, Width, Widths, best_narrowing
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.diagnostics.single_runs import scatter, times, widen
from isoplan.engine.fitting.types.result import Fit

LADDER = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Spends of the ladder, as fractions of the cost of the target run."""
TEST_LEVEL = 0.95
"""Level of the interval of the cell that tests the law."""
BEYOND = 1
"""Number of simulated outcomes beyond each end of a range.

With 12 simulated outcomes, the range extends from the second smallest to the second largest width. Another outcome is
inside this range with a probability of 9 / 13 = 69 %.
"""
COMPARED = 3
"""Number of sets per spend whose widths are simulated."""


@dataclass(frozen=True)
class Spend:
    """Limits of the advice: the number of ``cells``, the number of ``rounds`` of training, and the cost ``amount``.

    ``unit`` is the unit of the amount and of the costs of the candidates.
    """

    amount: float
    cells: int = 12
    rounds: int = 4
    unit: CostUnit = FLOPS

    def __post_init__(self) -> None:
        if not (math.isfinite(self.amount) and self.amount > 0):
            raise PlannerError(f"Spend: {self.amount:g} is not positive. Give a positive number, such as 1e18.")
        if self.cells < 1 or self.rounds < 1:
            raise PlannerError("Cells and rounds: give at least one of each.")


@dataclass(frozen=True)
class Rung:
    """One spend of the ladder: the best set of cells for this spend, its cost, and the expected widths.

    ``excess`` (k,) are the mean square errors that a deviation from the law adds. They are 0 if the advice takes no
    deviation into account.
    """

    spend: float
    cells: tuple[int, ...]
    cost: float
    widths: Widths
    excess: tuple[float, ...]

    @property
    def errors(self) -> tuple[float, ...]:
        """Errors (k,) of the logarithms of the estimands: half the width and the deviation, added in squares."""
        return tuple(
            math.hypot(width.expected, math.sqrt(more)) for width, more in zip(self.widths, self.excess, strict=True)
        )


@dataclass(frozen=True)
class LawTest:
    """The advised cell nearest to the place of the estimand, and the 95 % prediction interval of its y."""

    cell: int
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Advice:
    """The cells to train next, as indices of the ``candidates``.

    ``rounds`` contains the cells of each round, in the order of training: the cheap cells first. ``now`` (k) are the
    present half widths of the ``estimands``, and ``after`` the expected half widths after each round. ``ladder``
    contains the rungs of the spend, of twice the spend and of all spends in ``LADDER``, without spends that are too
    small for any cell.
    ``twice`` are the expected half widths for twice the spend. ``ladder`` is empty and ``twice`` is None if the cost of
    the target run is unknown. ``test`` is None if the first estimand has no place. ``gains`` (m,) are the relative
    decreases of the width of the first estimand, from 0 to 1, that the linear models give for each candidate alone.
    """

    candidates: Candidates
    estimands: tuple[Estimand, ...]
    gains: Floats
    rounds: tuple[tuple[int, ...], ...]
    now: tuple[float, ...]
    after: tuple[Widths, ...]
    ladder: tuple[Rung, ...]
    twice: Widths | None
    test: LawTest | None

    @property
    def cells(self) -> tuple[int, ...]:
        """All cells in the order of training."""
        return tuple(cell for cells in self.rounds for cell in cells)

    @property
    def cost(self) -> float:
        """Cost of all cells."""
        return float(np.sum(self.candidates.cost[list(self.cells)]))

    @property
    def narrowing(self) -> Narrowing:
        """The expected decrease of the width after all rounds, for the estimand with the best verdict."""
        return self.narrowed(self.after[-1])

    @property
    def further(self) -> Narrowing | None:
        """The expected further decrease if the spend is doubled; None if it is unknown."""
        return None if self.twice is None else best_narrowing(self.after[-1], self.twice)

    @property
    def pays(self) -> bool:
        """Whether the cells may be worth their cost. This is true if the verdict is "pays" or "undecided"."""
        return self.narrowing.verdict != "does not pay"

    def narrowed(self, widths: Widths) -> Narrowing:
        """Return the decrease from the present widths to ``widths``, for the estimand with the best verdict."""
        return best_narrowing([Width(now) for now in self.now], widths)


def advise(
    fit: Fit,
    estimands: Sequence[Estimand],
    candidates: Candidates,
    spend: Spend,
    *,
    whole: float | None = None,
    hedge: bool = True,
    seed: int = 0,
    aims: Sequence[Estimand] = (),
) -> Advice:
    """Return the cells of ``candidates`` that narrow ``estimands`` most within ``spend``.

    ``whole`` is the cost of the target run, for the ladder of spends. ``hedge`` allows for a smooth deviation of the
    runs from the law. If ``aims`` are given, the sets narrow the aims in place of the estimands. All widths are those
    of the estimands. Equal inputs give equal advice. Raises PlannerError if the fit cannot answer an estimand, if
    candidates are wrong, or if no candidate is affordable.
    """
    check_fit(fit)
    now = present_widths(fit, estimands)
    check_candidates(fit, candidates)
    check_pays(candidates, spend.amount, spend.unit)

    @cache
    def sets(models: LinearModels, amount: float) -> list[tuple[int, ...]]:
        return best_sets(models, candidates.cost, amount, spend.cells)[:COMPARED]

    before = covariance(fit, candidates, estimands, hedge)
    if before.deviation is not None:
        before = affordable(before, lambda models: sets(models, spend.amount)[0])
    aimed = covariance(fit, candidates, aims, hedge) if aims else before

    @cache
    def less(cells: tuple[int, ...], first: tuple[int, ...]) -> Floats:
        return adapted(before, candidates.cost, first, cells)

    @cache
    def promised(cells: tuple[int, ...], first: tuple[int, ...], more: int = 1) -> Widths:
        return promise(fit, candidates, estimands, before, now, cells, seed + more, less(cells, first))

    def rung(amount: float, cells: tuple[int, ...], more: int) -> Rung:
        cost, excess = float(np.sum(candidates.cost[list(cells)])), tuple(before.after(cells).excess.tolist())
        first = in_rounds(cells, candidates.cost, spend.rounds)[0]
        return Rung(amount, cells, cost, promised(tuple(sorted(cells)), first, more), excess)

    def score(one: Rung) -> float:
        return _score(estimands, now, one.errors)

    spends = {spend.amount, *(() if whole is None else (2 * spend.amount, *(share * whole for share in LADDER)))}
    rungs = {one.spend: one for one in ladder(partial(sets, aimed), rung, score, sorted(spends))}
    rounds = in_rounds(rungs[spend.amount].cells, candidates.cost, spend.rounds)
    trained = list(accumulate(rounds))
    return Advice(
        candidates,
        tuple(estimands),
        before.deviating(0).narrowing(),
        rounds,
        now,
        _never_wider((*(promised(cells, rounds[0]) for cells in trained[:-1]), rungs[spend.amount].widths)),
        tuple(one for one in rungs.values() if whole is not None),
        None if whole is None else rungs[2 * spend.amount].widths,
        find_law_test(fit, candidates, estimands[0], trained[-1]),
    )


def in_rounds(cells: Sequence[int], cost: Floats, rounds: int) -> tuple[tuple[int, ...], ...]:
    """Return ``cells`` in at most ``rounds`` groups, the cheapest cells first.

    Each round trains half of the cells that are left, and the last round trains all of them. The choice of the few
    expensive cells depends most on the law. They are therefore chosen last.
    """
    left, parts = sorted(cells, key=lambda cell: (float(cost[cell]), cell)), list[tuple[int, ...]]()
    for after in range(min(rounds, len(left)) - 1, -1, -1):
        many = max(min(-(-len(left) // 2), len(left) - after), 1) if after else len(left)
        parts.append(tuple(left[:many]))
        left = left[many:]
    return tuple(parts)


def _score(estimands: Sequence[Estimand], now: Sequence[float], errors: Sequence[float]) -> float:
    """Return the weighted sum of the squares of (error / present width) over the estimands; smaller is better."""
    ratios = [error / (x if math.isfinite(x) else 1.0) for error, x in zip(errors, now, strict=True)]
    return float(sum(one.weight * ratio**2 for one, ratio in zip(estimands, ratios, strict=True)))


def _never_wider(rounds: Sequence[Widths]) -> tuple[Widths, ...]:
    """Return the widths after successive rounds, with expected widths that never increase from round to round.

    The widths of the rounds are simulated separately, so the width after an earlier round can by chance be smaller than
    the width after the last round. It is then raised to the width after the last round.
    """
    found = list[Widths]()
    for widths in rounds:
        least = [max(width.expected, last.expected) for width, last in zip(widths, rounds[-1], strict=True)]
        most = [one.expected for one in found[-1]] if found else [math.inf] * len(widths)
        raised = [replace(width, expected=x) for width, x in zip(widths, least, strict=True)]
        found.append(tuple(width.at_most(x) for width, x in zip(raised, most, strict=True)))
    return tuple(found)


def promise(
    fit: Fit,
    candidates: Candidates,
    estimands: Sequence[Estimand],
    before: LinearModels,
    now: Sequence[float],
    cells: Sequence[int],
    seed: int = 0,
    less: Floats | float = 1.0,
) -> Widths:
    """Return the expected half widths of the estimands after the training of ``cells``.

    If the law can be fitted again to simulated outcomes, the widths are medians over these outcomes. Otherwise they
    follow from the linear models. They are multiplied by ``less`` (k,), the factors by which the choice of later rounds
    decreases them.
    They are at most the present half widths ``now``: cells are not expected to widen an interval.
    """
    if can_pretend(fit):
        widths = less * pretend_widths(fit, candidates, sorted(cells), estimands, seed)
        found = [_width(x) for x in widths.T]
        return tuple(width.at_most(most) for width, most in zip(found, now, strict=True))
    ratio = less * before.after(cells).sd / before.sd
    return tuple(Width(x * float(part)) for x, part in zip(now, ratio, strict=True))


def _width(outcomes: Floats) -> Width:
    """Return the width with the simulated ``outcomes`` (n,)."""
    ordered = np.sort(outcomes)
    return Width(
        float(np.median(outcomes)), float(ordered[BEYOND]), float(ordered[-1 - BEYOND]), tuple(outcomes.tolist())
    )


def ladder(
    sets: Callable[[float], Sequence[tuple[int, ...]]],
    rung: Callable[[float, tuple[int, ...], int], Rung],
    score: Callable[[Rung], float],
    spends: Sequence[float],
) -> Iterator[Rung]:
    """Yield the rung of each of the increasing ``spends``: the set of cells with the best ``score``.

    ``rung(spend, cells, seed)`` returns a set with its expected widths. For each spend, the sets with the smallest
    errors by the linear models, ``sets(spend)``, are compared. The widths of the set with the best score are then
    simulated again with another seed, because the smallest of several simulated widths is too small on average. If the
    set of a smaller spend has a better score, it is used again. Spends that pay for no candidate are omitted.
    """
    best: Rung | None = None
    for spend in spends:
        compared = sets(spend)
        if not compared:
            continue
        found = rung(spend, min(compared, key=lambda cells: score(rung(spend, cells, 0))), 1)
        best = found if best is None or score(found) < score(best) else replace(best, spend=spend)
        yield best


def find_law_test(fit: Fit, candidates: Candidates, estimand: Estimand, cells: Sequence[int]) -> LawTest | None:
    """Return the cell of ``cells`` that is nearest to the place of ``estimand``, in logarithms of the axes.

    Its interval contains the uncertainty of the law and the scatter of a single run. The result is None if the estimand
    has no place, or if the scatter is unknown.
    """
    axes, at, single = fit.law.axes, candidates.take(cells).columns, scatter(fit)
    if any(axis not in estimand.at for axis in axes) or single is None:
        return None
    nearest = nearest_cell(estimand, candidates.take(cells), axes)
    place = {axis: x[nearest : nearest + 1] for axis, x in at.items()}
    best = float(fit.predict(place)[0])
    ends = fit.resampling.interval(best, fit.predict_draws(place)[:, 0], TEST_LEVEL)
    ends = widen(best, ends, times(fit, TEST_LEVEL) * single, fit.spec.log_residuals)
    return None if ends is None else LawTest(int(cells[nearest]), *ends)
