"""Reading of the budget of a recipe: FLOPs, device hours, or money at the price of a device hour."""

from __future__ import annotations

import math

import numpy as np

from isoplan.engine.amounts import is_money
from isoplan.engine.costs import ComputeRule
from isoplan.engine.planning.optimum.frontier import frontier
from isoplan.engine.planning.plan.money import read_money
from isoplan.engine.planning.plan.utilisation import with_reached_utilisation
from isoplan.engine.planning.recommender.columns import metric_names
from isoplan.engine.planning.recommender.evidence import Evidence, with_fallback
from isoplan.engine.planning.recommender.recipe import lender
from isoplan.engine.planning.recommender.typed_settings import PRICE
from isoplan.engine.planning.scenario.fields import FIELDS, Place, Texts
from isoplan.engine.planning.scenario.prices import Prices
from isoplan.engine.planning.scenario.typed_prices import read_prices
from isoplan.engine.planning.scenario.typed_rules import refuse_alone
from isoplan.engine.quantities import Reading, count, parse_flops


def read_budget(
    text: str,
    texts: Texts,
    metric: str,
    own: Evidence,
    printed: Evidence | None,
    rule: ComputeRule | None,
    place: Place,
) -> Reading:
    """Read the budget ``text`` and return its FLOPs, with a note on how it was read.

    An amount of money is divided by the price of one FLOP on the device in ``texts``. If no utilisation is given, the
    default is used. If the recommended model is too small to reach the default, the utilisation that it reaches is
    used, as in a plan. The model follows from ``metric``, the evidence and ``rule``, as in ``reply``. Raises
    PlannerError if the budget cannot be read, if money is given without a device or its price, or if a price is given
    but the budget is not money.
    """
    if not is_money(text):
        alone = next((one.name for one in PRICE if texts.get(one.name, "") not in ("", one.usual(place))), "")
        if alone:
            refuse_alone(alone, "budget", place, " in money")
        return parse_flops(text, FIELDS["budget"].called(place))
    prices = read_prices({name: texts.get(name, "") for name in ("device", "devices", *(f.name for f in PRICE))}, place)
    money = read_money(text, prices, place)
    assert prices is not None  # read_money refuses money without prices
    evidence = own if printed is None else with_fallback(own, printed)
    law = lender(evidence, next(iter(metric_names(metric)), ""))

    def size(some: Prices) -> float:
        """Return N of the recipe for the money at ``some`` prices; NaN if no law determines N."""
        if not law:
            return math.nan
        fit = evidence.allocation[law]
        return float(frontier(fit.law, fit.values, np.asarray(money / some.rates.flop), rule or fit.compute).N)

    used = with_reached_utilisation(prices, size) or prices
    C, machine = money / used.rates.flop, used.machine
    hours = count(float(machine.device_hours(C)), 3)
    return Reading(
        C, f"{hours} {machine.device.name} hours at {machine.price:g} {used.currency} per hour and {machine.share}"
    )
