"""Parts of a plan besides its allocation: flat range, bill, worth of limits, cost by a second rule, reachability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from isoplan.engine.costs import ComputeRule, read_rule
from isoplan.engine.fitting.types.result import Interval
from isoplan.engine.planning.answer import quantity
from isoplan.engine.planning.answer.format import Row, as_row
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.scenario.limits import LimitName
from isoplan.engine.planning.scenario.prices import Part

Verdict = Literal["reachable", "out of reach", "uncertain", "not determined"]
VERDICTS: tuple[Verdict, ...] = ("reachable", "out of reach", "uncertain", "not determined")


@dataclass(frozen=True)
class Flat:
    """Range around the optimum at constant compute in which the loss is within ``tolerance`` (relative) of the best.

    ``N`` has its two ends, and ``D`` the D at each of them: ``D[0]`` belongs to ``N[0]``. An end is 0 or infinite if
    the loss stays within the tolerance. ``low`` and ``high`` are the 68 % intervals of the two ends of N. They are None
    without resamples, and if such an interval is unbounded.
    """

    tolerance: float
    N: Interval
    D: Interval
    low: Interval | None = None
    high: Interval | None = None


@dataclass(frozen=True)
class CostLine:
    """A line of the bill: the part of the plan (such as training), the kind of cost (such as money), and the amount."""

    part: Part
    what: str
    amount: Quantity

    @property
    def row(self) -> Row:
        """The line as a row of a table, with all texts formatted."""
        return as_row(f"{self.part.capitalize()}, {self.what}", self.amount)

    def to_json(self) -> dict[str, Any]:
        """Return the line as a JSON object."""
        return {"part": self.part, "what": self.what, "amount": quantity.to_json(self.amount)}


@dataclass(frozen=True)
class Worth:
    """A limit and its worth for the plan: the limit ``most``, the amount ``used``, and the gain from a larger limit.

    ``binds`` states that the limit is reached. ``slope`` is the gain per additional unit of the limit, ``ten`` the gain
    from ten per cent more. For a budget the gain is the improvement of y (positive is better). For a target it is the
    money saved, or the FLOPs saved if there are no prices. ``one_sided`` states that a decrease of the limit costs at
    another rate than an increase gains, because another limit is reached at the same point.
    """

    limit: LimitName
    most: float
    used: float
    binds: bool
    slope: Quantity
    ten: Quantity
    one_sided: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the worth as a JSON object."""
        gains = {"slope": quantity.to_json(self.slope), "ten": quantity.to_json(self.ten)}
        rest = {name: getattr(self, name) for name in ("limit", "most", "used", "binds", "one_sided")}
        return rest | gains


@dataclass(frozen=True)
class SecondRuleCost:
    """Cost of a plan by a second compute rule: ``C`` in FLOPs, and ``factor``, which is this C divided by the plan's C.

    ``D`` is the number of samples that the plan's C pays for by the second rule at the same N.
    """

    rule: ComputeRule
    C: Quantity
    D: Quantity
    factor: Quantity
    sentence: str

    def to_json(self) -> dict[str, Any]:
        """Return the cost as a JSON object."""
        numbers = {name: quantity.to_json(getattr(self, name)) for name in ("C", "D", "factor")}
        return {"compute": self.rule.to_json(), **numbers, "sentence": self.sentence}


@dataclass(frozen=True)
class Reachability:
    """Statement on whether a target can be reached.

    It has a ``verdict``, its ``probability`` (None if it is not known), and a ``text`` to show. The verdicts
    "reachable" and "out of reach" have at least 95 % confidence. "uncertain" has a probability, "not determined" has
    none. The text is empty if there is nothing to report.
    """

    verdict: Verdict
    probability: float | None
    text: str


def read_line(raw: Mapping[str, Any]) -> CostLine:
    """Read a line of a bill from a JSON object. Raises KeyError, ValueError or PlannerError if it is not one."""
    if raw["part"] not in get_args(Part):
        raise ValueError(f"part {raw['part']!r}")
    return CostLine(raw["part"], str(raw["what"]), quantity.from_json(raw["amount"]))


def read_worth(raw: Mapping[str, Any]) -> Worth:
    """Read the worth of a limit from a JSON object. Raises KeyError, ValueError or PlannerError if it is not one."""
    if raw["limit"] not in get_args(LimitName):
        raise ValueError(f"limit {raw['limit']!r}")
    slope, ten = (quantity.from_json(raw[name]) for name in ("slope", "ten"))
    return Worth(
        raw["limit"], float(raw["most"]), float(raw["used"]), bool(raw["binds"]), slope, ten, bool(raw["one_sided"])
    )


def read_restated(raw: Mapping[str, Any]) -> SecondRuleCost:
    """Read the cost by a second rule from a JSON object.

    Raises KeyError, ValueError or PlannerError if the object is not such a cost.
    """
    C, D, factor = (quantity.from_json(raw[name]) for name in ("C", "D", "factor"))
    return SecondRuleCost(read_rule(raw["compute"]), C, D, factor, str(raw["sentence"]))
