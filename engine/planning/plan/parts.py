"""Parts of a plan besides its allocation: its flat range, bill, worth of limits, and cost by a second compute rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from isoplan.engine.costs import ComputeRule, read_rule
from isoplan.engine.fitting.types.result import Interval
from isoplan.engine.planning.answer import quantity
from isoplan.engine.planning.answer.format import Row, as_row
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.scenario.limits import LimitName
from isoplan.engine.planning.scenario.prices import Part


@dataclass(frozen=True)
class Flat:
    """How flat the iso-FLOP curve is: N and D between which the loss is within ``tolerance`` of the best.

    ``D[0]`` belongs to ``N[0]``. An end that the curve never reaches is 0 or infinite. ``low`` and ``high`` are the
    68 % intervals of the two ends of N, None without resamples and where such an interval is unbounded.
    """

    tolerance: float
    N: Interval
    D: Interval
    low: Interval | None = None
    high: Interval | None = None


@dataclass(frozen=True)
class CostLine:
    """One line of the bill: the part of the plan, what of it, and how much."""

    part: Part
    what: str
    amount: Quantity

    @property
    def row(self) -> Row:
        """The line ready to show."""
        return as_row(f"{self.part.capitalize()}, {self.what}", self.amount)

    def to_json(self) -> dict[str, Any]:
        """The line for JSON."""
        return {"part": self.part, "what": self.what, "amount": quantity.to_json(self.amount)}


@dataclass(frozen=True)
class Worth:
    """A limit at its answer: how much there is, how much of it the answer uses, and what more of it is worth.

    ``slope`` is the gain for one more unit of the limit, ``ten`` the gain of ten per cent more: in y for a budget
    (positive is better), in money, or FLOPs where nothing has a price, for a target. ``one_sided`` where less of it
    costs at another rate than more of it gains, because another limit begins to bind.
    """

    limit: LimitName
    most: float
    used: float
    binds: bool
    slope: Quantity
    ten: Quantity
    one_sided: bool = False

    def to_json(self) -> dict[str, Any]:
        """The worth for JSON."""
        gains = {"slope": quantity.to_json(self.slope), "ten": quantity.to_json(self.ten)}
        rest = {name: getattr(self, name) for name in ("limit", "most", "used", "binds", "one_sided")}
        return rest | gains


@dataclass(frozen=True)
class SecondRuleCost:
    """The plan by another compute rule: what its N and D cost then, as FLOPs and as a ``factor`` of the plan's C.

    ``D`` is what that rule pays for with the plan's C at the same N.
    """

    rule: ComputeRule
    C: Quantity
    D: Quantity
    factor: Quantity
    sentence: str

    def to_json(self) -> dict[str, Any]:
        """The statement for JSON."""
        numbers = {name: quantity.to_json(getattr(self, name)) for name in ("C", "D", "factor")}
        return {"compute": self.rule.to_json(), **numbers, "sentence": self.sentence}


def read_line(raw: Mapping[str, Any]) -> CostLine:
    """The line in a JSON object; raises KeyError, ValueError or PlannerError where it is none."""
    if raw["part"] not in get_args(Part):
        raise ValueError(f"part {raw['part']!r}")
    return CostLine(raw["part"], str(raw["what"]), quantity.from_json(raw["amount"]))


def read_worth(raw: Mapping[str, Any]) -> Worth:
    """The worth in a JSON object; raises KeyError, ValueError or PlannerError where it is none."""
    if raw["limit"] not in get_args(LimitName):
        raise ValueError(f"limit {raw['limit']!r}")
    slope, ten = (quantity.from_json(raw[name]) for name in ("slope", "ten"))
    return Worth(
        raw["limit"], float(raw["most"]), float(raw["used"]), bool(raw["binds"]), slope, ten, bool(raw["one_sided"])
    )


def read_restated(raw: Mapping[str, Any]) -> SecondRuleCost:
    """The statement in a JSON object; raises KeyError, ValueError or PlannerError where it is none."""
    C, D, factor = (quantity.from_json(raw[name]) for name in ("C", "D", "factor"))
    return SecondRuleCost(read_rule(raw["compute"]), C, D, factor, str(raw["sentence"]))
