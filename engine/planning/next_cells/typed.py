"""Typed inputs of "Next cells": the spend, a range of sizes, and the quantities to narrow. No numpy is imported."""

from __future__ import annotations

import re
from dataclasses import dataclass

from isoplan.engine import amounts
from isoplan.engine.amounts import currency_of, is_money, is_time, parse_amount
from isoplan.engine.design.cost_unit import FLOPS, HOURS, CostUnit, money
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import cut, parse_flops, parse_number, parse_share

NAMES = ("answer", "loss", "compute", "N", "D")
"""Quantities that can be narrowed. The answer is the loss at a budget, or the compute for a target loss."""
ANSWER = {"answer": 1.0}
"""Weights of the narrowed quantities by default."""


@dataclass(frozen=True)
class TypedSpend:
    """A spend: a ``share`` of the compute of the target run, ``flops``, ``hours`` of training, or ``money``.

    One of them is given, and the others are None. Money is in ``currency``.
    """

    share: float | None = None
    flops: float | None = None
    hours: float | None = None
    money: float | None = None
    currency: str = ""

    @property
    def unit(self) -> CostUnit:
        """The unit of the spend and of the costs of the cells. A share of the target run is in FLOPs."""
        if self.money is not None:
            return money(self.currency)
        return FLOPS if self.hours is None else HOURS

    def amount(self, whole: float) -> float:
        """Return the spend in its unit for a target run of ``whole`` FLOPs."""
        if self.share is not None:
            return self.share * whole
        return next((x for x in (self.flops, self.hours, self.money) if x is not None), 0.0)


def typed_spend(amount: float, unit: CostUnit) -> TypedSpend:
    """Return the spend of ``amount`` in ``unit``."""
    if unit == FLOPS:
        return TypedSpend(flops=amount)
    return TypedSpend(hours=amount) if unit == HOURS else TypedSpend(money=amount, currency=unit.name)


def parse_spend(text: str, what: str) -> TypedSpend:
    """Read "5 %" or "0.05" as a share of the target run, and any other text as ``parse_cost`` does.

    A number without a unit is a share if it is at most 1. Raises PlannerError if ``text`` is neither a share nor a
    cost, or if a share is not positive.
    """
    plain = re.fullmatch(r"\s*[0-9.,eE+-]+\s*", text)
    if "%" in text or (plain and parse_number(text, what) <= 1):
        share = parse_share(text, what)
        if not 0 < share <= 1:
            raise PlannerError(f"The {what} {cut(text)!r} is not between 0 and 1. Give a share such as 5 %.")
        return TypedSpend(share=share)
    return parse_cost(text, what)


def parse_cost(text: str, what: str) -> TypedSpend:
    """Read "2 h" as hours of training, "20 EUR" as money, and "1e18" or "2 H100 hours" as FLOPs.

    Raises PlannerError if ``text`` is none of these.
    """
    if is_money(text):
        currency = currency_of(text)
        return TypedSpend(money=parse_amount(text, what, amounts.money(currency)), currency=currency)
    if is_time(text):
        return TypedSpend(hours=parse_amount(text, what, amounts.HOURS))
    return TypedSpend(flops=parse_flops(text, what).value)


def charge_in(unit: CostUnit, charge: TypedSpend | None) -> float:
    """Return the typed ``charge`` per run, 0 if there is none. Raises PlannerError if it is not in ``unit``."""
    amount = 0.0 if charge is None else charge.amount(0.0)
    if charge is not None and amount and charge.unit != unit:
        raise PlannerError(
            f"Charge per run: it is in {charge.unit.name}, but the spend is in {unit.name}. Give both in one unit."
        )
    return amount


def parse_range(text: str, what: str) -> tuple[float, float]:
    """Read a range such as "1e6..1e8". Raises PlannerError if it is not two increasing positive numbers."""
    low, dots, high = text.partition("..")
    ends = (parse_number(low, what), parse_number(high, what)) if dots else (0.0, 0.0)
    if not 0 < ends[0] < ends[1]:
        raise PlannerError(f"The {what} {cut(text)!r} is not a range. Write two increasing numbers, such as 1e6..1e8.")
    return ends


def parse_factor(text: str, what: str) -> float:
    """Read a factor such as "2". Raises PlannerError if it is not above 1."""
    factor = parse_number(text, what)
    if not factor > 1:
        raise PlannerError(f"The {what} {cut(text)!r} is not above 1. Give a factor such as 2.")
    return factor


def parse_quantities(text: str, what: str) -> dict[str, float]:
    """Read names of ``NAMES`` with commas between them, such as "loss,N" or "loss:2,N:1"; return their weights.

    A name without a weight has the weight 1. Raises PlannerError for any other name, and for a weight that is not
    positive.
    """
    weights = dict[str, float]()
    for part in filter(None, map(str.strip, text.split(","))):
        name, colon, weight = (piece.strip() for piece in part.partition(":"))
        if name not in NAMES:
            raise PlannerError(f"The {what} {cut(name)!r} is unknown. Use one of {', '.join(NAMES)}.")
        weights[name] = parse_number(weight, f"weight of {name}") if colon else 1.0
        if not weights[name] > 0:
            raise PlannerError(f"The weight of {name} is {weights[name]:g}. Give a positive number, such as {name}:2.")
    if not weights:
        raise PlannerError(f"The {what} is empty. Use one of {', '.join(NAMES)}.")
    return weights
