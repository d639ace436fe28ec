"""Conversion of a budget in money to FLOPs by the prices of a plan, and reading of typed budgets."""

from __future__ import annotations

import math
import re

import numpy as np

from isoplan.engine import amounts
from isoplan.engine.amounts import MONEY, parse_amount
from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule, increasing_root
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.optimum.constrained import money as total
from isoplan.engine.planning.optimum.frontier import paid
from isoplan.engine.planning.plan.solve import Task, solve
from isoplan.engine.planning.scenario.fields import FIELDS, Place
from isoplan.engine.planning.scenario.limits import NO_LIMITS, Limits
from isoplan.engine.planning.scenario.prices import Prices
from isoplan.engine.quantities import LONGEST, Reading, count, parse_flops

LEAST = 1.0
"""Lower end, in FLOPs, of the search for the budget that costs a given amount of money."""
_WORDS = "|".join(re.escape(word) for word in sorted({w for words in MONEY.values() for w in words}, key=len)[::-1])
_MONEY = re.compile(rf"(?:{_WORDS})s?\s*[\d.,].*|.*\d.*?(?:{_WORDS})s?\s*", re.IGNORECASE | re.DOTALL)


def is_money(text: str) -> bool:
    """Return whether a typed budget is an amount of money, such as "500 EUR", "$1.5k" or "2 M€"."""
    return len(text) <= LONGEST and _MONEY.fullmatch(text.strip()) is not None


def flops_for_money(
    fit: Fit, money: float, prices: Prices, rule: ComputeRule | None = None, limits: Limits = NO_LIMITS
) -> float:
    """Return the budget in FLOPs whose plan costs ``money`` in total, in the currency of ``prices``.

    Without prices for samples and queries, the result is the training compute that ``money`` buys. Otherwise it is the
    budget at which the total of the bill equals ``money``, by ``rule`` and within ``limits``. Raises PlannerError if an
    hour of the machine has no price, if ``money`` is not positive, or if it does not pay for any training.
    """
    if not (math.isfinite(money) and money > 0):
        raise PlannerError(f"The budget of {money:g} {prices.currency} is not positive. Give a positive number.")
    rates = prices.rates
    if not rates.weighs and not rates.fixed:
        return money / rates.flop

    def excess(x: Floats, *_: Floats) -> Floats:
        """Return the logarithm of the total cost of the plan for exp(x) FLOPs, divided by ``money``."""
        most = {name: np.full(np.shape(x), limit) for name, limit in limits.given.items()}
        task = Task(rule or fit.compute, {}, prices=prices)
        at = paid(fit, solve(fit.law, fit.values, task, {"budget": np.exp(x), **most}, None), task.rule)
        return np.log(total(at.N, at.D, at.C, at.U, rates) / money)

    most = money / rates.flop
    if float(excess(np.asarray(math.log(LEAST)))) > 0:
        raise PlannerError(
            f"{count(money, 3)} {prices.currency} do not pay for any training at these prices of samples and queries: "
            "give more money, or lower these prices."
        )
    root = float(np.exp(increasing_root(excess, math.log(LEAST), math.log(most), 0.0)))
    return root if math.isfinite(root) else most  # no root: the limits prevent the plan from spending all of the money


def read_budget(
    fit: Fit,
    text: str,
    prices: Prices | None,
    place: Place,
    rule: ComputeRule | None = None,
    limits: Limits = NO_LIMITS,
) -> Reading:
    """Read a budget in FLOPs, device hours or money; return it in FLOPs, with a note on the conversion.

    Money needs ``prices`` in its currency. Raises PlannerError that names the field by ``place``.
    """
    what = FIELDS["budget"].called(place)
    if not is_money(text):
        return parse_flops(text, what)
    hour = prices.machine.price if prices is not None else None
    if prices is None or hour is None:
        device, price = (FIELDS[name].called(place) for name in ("device", "hour_price"))
        raise PlannerError(f"The {what} {text.strip()!r} is money: give the {device} and the {price} with it.")
    amount = parse_amount(text, what, amounts.money(prices.currency))
    machine = prices.machine
    note = f"{count(hour, 3)} {prices.currency} per hour of {machine.device.name} at {machine.share}"
    more = [name for name, one in (("samples", prices.simulation), ("queries", prices.inference)) if one is not None]
    paid = f", with the cost of {' and '.join(more)}" if more else ""
    return Reading(flops_for_money(fit, amount, prices, rule, limits), note + paid)
