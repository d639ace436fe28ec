"""Question 5: a smaller model for the same loss, what it costs to train, and the size that is cheapest over its life.

On the surface E + A N^-alpha + B D^-beta a model of k_N times the best size reaches the same loss on
k_D = (1 - (k_N^-alpha - 1) beta/alpha)^(-1/beta) times the samples, and on none below k_N = (1 + alpha/beta)^(-1/alpha)
(de Vries 2023, "Go smol or go home"). With inference the cheapest size is smaller than the best for training alone
(Sardana et al. 2024, "Beyond Chinchilla-Optimal", arXiv:2401.00448, eq. 2). Both hold for any surface and rule here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.costs import ComputeRule
from engine.errors import PlannerError
from engine.fitting.result import Fit
from engine.laws import Point
from engine.laws.law import Floats, Values
from engine.laws.numeric import least
from engine.planning import plan as plans
from engine.planning.budget import no_optimum
from engine.planning.frontier import frontier, least_compute
from engine.planning.level import is_surface, samples_for, size_for
from engine.planning.plan import Question
from engine.planning.prices import Inference, Prices
from engine.planning.quantity import Quantity, measure, thin
from engine.planning.reach import bound, floor_of
from engine.planning.within import FAR, SECTIONS, WIDTH
from engine.quantities import rounded

POINTS = 80
LARGEST = 3.0
"""The largest model that the curve shows, in units of the best one."""
NEAREST = 1.02
"""The smallest, in units of the one that no number of samples brings to the loss."""


@dataclass(frozen=True, eq=False)
class SameLoss:
    """Models that reach one loss: arrays (s,) over ``fraction`` = N / N*, with 68 % ends of the overhead.

    ``overhead`` is C / C* - 1, ``more`` D / D*. Ends are NaN without resamples and infinite where a resample never gets
    there. ``smallest`` is the fraction below which no number of samples reaches the loss.
    """

    best: Point
    fraction: Floats
    N: Floats
    D: Floats
    more: Floats
    overhead: Floats
    low68: Floats
    high68: Floats
    smallest: Quantity


@dataclass(frozen=True)
class Lifetime:
    """The size that trains and answers at least cost: ``N``, ``D``, the training's ``C``, and the ``total``.

    ``total``, ``training_alone`` (the total of the model that is best for training alone) and ``saved`` (the share of
    it that is saved) count FLOPs, or money where compute has a price. ``fraction`` is N over the best for training.
    """

    N: Quantity
    D: Quantity
    C: Quantity
    total: Quantity
    training_alone: Quantity
    saved: Quantity
    fraction: Quantity


def same_loss(fit: Fit, question: Question, rule: ComputeRule | None = None, *, n: int = POINTS) -> SameLoss:
    """The loss-equivalent curve through the answer to ``question``; every resample around its own answer.

    Raises PlannerError for a law that is no surface over N and D, and where the best fit has no answer.
    """
    _check(fit, question)
    rule, few = rule or fit.compute, thin(fit)
    best, draws = _answer(fit, fit.values, question, rule), _answer(few, few.draws, question, rule)
    _known(fit, question, best)
    floors = [
        size_for(fit.law, v, np.asarray(np.inf), at.loss) / at.N for v, at in ((fit.values, best), (few.draws, draws))
    ]
    fraction = np.unique(np.r_[np.geomspace(NEAREST * float(floors[0]), LARGEST, n), 1.0])
    N = fraction * best.N
    D = samples_for(fit.law, fit.values, N, best.loss)
    overhead = rule.flops_anywhere(N, D) / best.C - 1
    v = {name: x[:, None] for name, x in few.draws.items()}
    sizes = fraction * draws.N[:, None]
    needed = samples_for(fit.law, v, sizes, draws.loss[:, None])
    over = np.where(np.isinf(needed), np.inf, rule.flops_anywhere(sizes, needed) / draws.C[:, None] - 1)
    low, high = few.resampling.band(overhead, over, 0.68)
    return SameLoss(
        best, fraction, N, D, D / best.D, overhead, low, high, measure(few, float(floors[0]), floors[1], "of N*")
    )


def lifetime(
    fit: Fit, question: Question, inference: Inference, rule: ComputeRule | None = None, prices: Prices | None = None
) -> Lifetime:
    """The N and D that reach the loss of ``question`` at least cost of training and inference together.

    For a budget that is the loss that the budget reaches at its best, for each resample its own. Costs are FLOPs, or
    money where ``prices`` give an hour of the machine a price (that of ``inference`` its own where it has one). Raises
    PlannerError for a law that is no surface over N and D, and where the best fit has no answer.
    """
    _check(fit, question)
    rule = rule or fit.compute
    (best, first), (draws, firsts) = (
        (_longer(fit, v, at, inference, rule, prices), at)
        for v, at in ((v, _answer(fit, v, question, rule)) for v in (fit.values, fit.draws))
    )
    _known(fit, question, first)
    priced = prices is not None and prices.machine.price is not None
    unit = prices.currency if prices is not None and priced else "FLOPs"
    totals = [_total(at, inference, prices) for at in (best, draws, first, firsts)]

    def said(one: Floats, many: Floats, unit: str) -> Quantity:
        return measure(fit, float(one), np.broadcast_to(many, len(fit.resamples)), unit)

    with np.errstate(invalid="ignore"):
        return Lifetime(
            said(best.N, draws.N, "parameters"),
            said(best.D, draws.D, plans.sample_unit(fit)),
            said(best.C, draws.C, "FLOPs"),
            said(totals[0], totals[1], unit),
            said(totals[2], totals[3], unit),
            said(1 - totals[0] / totals[2], 1 - totals[1] / totals[3], "of the total"),
            said(best.N / first.N, draws.N / firsts.N, "of N*"),
        )


def _check(fit: Fit, question: Question) -> None:
    if question.kind == "budget" and not (np.isfinite(question.value) and question.value > 0):
        raise PlannerError(
            f"A budget of {question.value:g} FLOPs reaches no loss: give a positive number, such as 1e20."
        )
    if question.metric:
        raise PlannerError(f"A target {question.metric} does not say which loss: ask for the {fit.spec.y} behind it.")
    if not is_surface(fit.law):
        raise PlannerError(
            f"The law {fit.law.name} does not say what another model of the same loss costs: fit a surface over N "
            "and D, such as chinchilla."
        )


def _known(fit: Fit, question: Question, best: Point) -> None:
    """Raise PlannerError where the best fit has no answer."""
    if np.isinf(best.N):
        limit = floor_of(fit).value or 0.0
        raise PlannerError(
            f"A target {fit.spec.y} of {question.value:g} is out of reach, because the {bound(fit)} of the best fit is "
            f"{rounded(limit)}: ask for an easier one."
        )
    if np.isnan(best.N):
        raise PlannerError(no_optimum(fit))


def _answer(fit: Fit, v: Values, question: Question, rule: ComputeRule) -> Point:
    if question.kind == "budget":
        return frontier(fit.law, v, np.asarray(question.value), rule)
    return least_compute(fit.law, v, np.asarray(fit.sign * question.value), rule)


def _longer(fit: Fit, v: Values, at: Point, inference: Inference, rule: ComputeRule, prices: Prices | None) -> Point:
    """Along the iso-loss curve through ``at`` the point of least total cost."""
    there = np.isfinite(at.N)
    loss = np.where(there, at.loss, np.nan)
    low = np.where(there, np.log(size_for(fit.law, v, np.asarray(np.inf), at.loss)), 0.0)

    def point(x: Floats) -> Point:
        N = np.exp(x)
        D = samples_for(fit.law, v, N, loss)
        return Point(N, D, rule.flops_anywhere(N, D), loss)

    def total(x: Floats) -> Floats:
        found = _total(point(x), inference, prices)
        return np.where(np.isfinite(found), found, FAR * (1 + low + 2 * WIDTH - x))

    found = point(least(total, low, low + 2 * WIDTH, SECTIONS))
    N, D, C = (np.where(there, x, y) for x, y in ((found.N, at.N), (found.D, at.D), (found.C, at.C)))
    return Point(N, D, C, at.loss)


def _total(at: Point, inference: Inference, prices: Prices | None) -> Floats:
    """Training and inference together: FLOPs, or money where compute has a price."""
    served = inference.compute(at.N)
    if prices is None or prices.machine.price is None:
        return at.C + served
    return prices.machine.money(at.C) + (inference.machine or prices.machine).money(served)
