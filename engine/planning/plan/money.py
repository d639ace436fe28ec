"""Budgets in money: reading of typed amounts, and their conversion to FLOPs and limits by the prices of a plan."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from isoplan.engine import amounts
from isoplan.engine.amounts import is_money, parse_amount
from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule, increasing_root
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.optimum.constrained import money as total
from isoplan.engine.planning.optimum.frontier import paid
from isoplan.engine.planning.plan.solve import Task, solve
from isoplan.engine.planning.plan.utilisation import with_reached_utilisation
from isoplan.engine.planning.scenario.fields import FIELDS, Place
from isoplan.engine.planning.scenario.limits import NO_LIMITS, Limits, Question
from isoplan.engine.planning.scenario.prices import Prices
from isoplan.engine.quantities import Reading, count, parse_flops

LEAST = 1.0
"""Lower end, in FLOPs, of the search for the budget that costs a given amount of money."""


def spendable(
    fit: Fit, money: float, prices: Prices, rule: ComputeRule | None = None, limits: Limits = NO_LIMITS
) -> tuple[float, Limits]:
    """Return the budget in FLOPs and the limits of a plan that spends at most ``money``, in the currency of ``prices``.

    If samples or queries have a price, the best plan for the money can differ from the compute-optimal plan. For a law
    over N and D, the result is then the largest compute that the money can buy, and ``limits`` with the money as a
    further limit. In all other cases the result is the budget of ``flops_for_money``, and ``limits``. Raises
    PlannerError under the conditions of ``flops_for_money``.
    """
    rates = prices.rates
    if not fit.law.is_surface or not (rates.weighs or rates.fixed):
        return flops_for_money(fit, money, prices, rule, limits), limits
    _check_pays(fit, money, prices, rule, limits)
    least = money if limits.money is None else min(money, limits.money)
    return (money - rates.fixed) / rates.flop, replace(limits, money=least)


def flops_for_money(
    fit: Fit, money: float, prices: Prices, rule: ComputeRule | None = None, limits: Limits = NO_LIMITS
) -> float:
    """Return the budget in FLOPs whose plan costs ``money`` in total, in the currency of ``prices``.

    Without prices for samples and queries, the result is the training compute that ``money`` buys. Otherwise it is the
    budget at which the total of the bill equals ``money``, by ``rule`` and within ``limits``. Raises PlannerError if an
    hour of the machine has no price, if ``money`` is not positive, or if ``money`` does not pay for any training.
    """
    rates = prices.rates
    most = money / rates.flop
    if not (rates.weighs or rates.fixed):
        _check_positive(money, prices)
        return most
    _check_pays(fit, money, prices, rule, limits)

    def excess(x: Floats, *_: Floats) -> Floats:
        """Return ln(total / ``money``), where total is the total cost of the plan for exp(x) FLOPs."""
        return np.log(_total(fit, np.exp(x), prices, rule, limits) / money)

    root = float(np.exp(increasing_root(excess, math.log(LEAST), math.log(most), 0.0)))
    return root if math.isfinite(root) else most  # no root: the limits prevent the plan from spending all of the money


def in_compute(
    fit: Fit, question: Question, prices: Prices | None, rule: ComputeRule | None = None
) -> tuple[Question, Prices | None]:
    """Convert a budget in money to a budget in FLOPs by ``flops_for_money``, and return it with its prices.

    The money pays for training and samples, not for queries. If the user gave no utilisation, the prices have the
    utilisation that the compute-optimal model of the budget reaches. Any other question is returned unchanged, with
    its prices. Raises PlannerError under the conditions of ``flops_for_money``.
    """
    if question.money is None or prices is None:
        return question, prices
    money, limits, rule = question.money, question.limits, rule or fit.compute

    def compute(some: Prices) -> float:
        return flops_for_money(fit, money, some, rule, limits)

    def size(some: Prices) -> float:
        return float(Task(rule, {"budget": compute(some), **limits.given}, prices=some).best(fit).N)

    alone = replace(prices, inference=None)
    reached = with_reached_utilisation(alone, size) or alone
    return replace(question, value=compute(reached)), replace(reached, inference=prices.inference)


def _total(fit: Fit, C: Floats, prices: Prices, rule: ComputeRule | None, limits: Limits) -> Floats:
    """Return the total cost of the plans for ``C`` FLOPs, in the shape of ``C``."""
    most = {name: np.full(np.shape(C), limit) for name, limit in limits.given.items()}
    task = Task(rule or fit.compute, {}, prices=prices)
    at = paid(fit, solve(fit.law, fit.values, task, {"budget": C, **most}, None), task.rule)
    return total(at.N, at.D, at.C, at.U, prices.rates)


def _check_positive(money: float, prices: Prices) -> None:
    if not (math.isfinite(money) and money > 0):
        raise PlannerError(f"The budget of {money:g} {prices.currency} is not positive. Give a positive number.")


def _check_pays(fit: Fit, money: float, prices: Prices, rule: ComputeRule | None, limits: Limits) -> None:
    """Raise PlannerError if ``money`` is not positive, or if it does not pay for the plan of ``LEAST`` FLOPs."""
    _check_positive(money, prices)
    if float(_total(fit, np.asarray(LEAST), prices, rule, limits)) > money:
        raise PlannerError(
            f"{count(money, 3)} {prices.currency} do not pay for any training at these prices of samples and queries: "
            "give more money, or lower these prices."
        )


def read_budget(text: str, prices: Prices | None, limits: Limits, place: Place) -> tuple[Question, Reading | None]:
    """Read a budget in FLOPs, device hours or money, and return the question and how the text was interpreted.

    The second result is None for money. The value of the question is then the largest compute that the money can buy.
    Raises PlannerError if the text is wrong, and under the conditions of ``read_money``.
    """
    if is_money(text):
        money = read_money(text, prices, place)
        C = math.nan if prices is None else money / prices.rates.flop
        return Question("budget", C, limits, money=money), None
    reading = parse_flops(text, FIELDS["budget"].called(place))
    return Question("budget", reading.value, limits), reading


def read_money(text: str, prices: Prices | None, place: Place) -> float:
    """Read a budget in money, such as "500 EUR", in the currency of ``prices``.

    Raises PlannerError if the amount is wrong or in another currency, or if an hour of the machine has no price. The
    message names the field as ``place`` (page, terminal or Python) calls it.
    """
    what = FIELDS["budget"].called(place)
    if prices is None or prices.machine.price is None:
        device, price = (FIELDS[name].called(place) for name in ("device", "hour_price"))
        missing = f"the {price}" if prices is not None else f"the {device} and the {price}"
        raise PlannerError(f"The {what} {text.strip()!r} is money: give {missing} with it.")
    amount = parse_amount(text, what, amounts.money(prices.currency))
    if not amount > 0:
        raise PlannerError(f"The {what} {text.strip()!r} is not positive. Give a positive number.")
    return amount
