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
    """Flatness of the iso-FLOP curve: N and D between which the loss is within ``tolerance`` of the best.

    ``D[0]`` belongs to ``N[0]``. An end that the curve never reaches is 0 or infinite. ``low`` and ``high`` are the 68
    % intervals of the two ends of N. They are None without resamples and if such an interval is unbounded.
    """

    tolerance: float
    N: Interval
    D: Interval
    low: Interval | None = None
    high: Interval | None = None


@dataclass(frozen=True)
class CostLine:
    """A line of the bill: the part of the plan, the kind of cost, and the amount."""

    part: Part
    what: str
    amount: Quantity

    @property
    def row(self) -> Row:
        """The line as a table row, ready to show."""
        return as_row(f"{self.part.capitalize()}, {self.what}", self.amount)

    def to_json(self) -> dict[str, Any]:
        """Return the line for JSON."""
        return {"part": self.part, "what": self.what, "amount": quantity.to_json(self.amount)}


@dataclass(frozen=True)
class Worth:
    """A limit and its worth at the answer: its amount, the amount in use, and the gain from more of it.

    ``slope`` is the gain per additional unit of the limit, ``ten`` the gain from ten per cent more. For a budget the
    gain is in y (positive is better). For a target it is in money, or in FLOPs without prices. ``one_sided`` if less of
    it costs at another rate than more of it gains, because another limit becomes active.
    """

    limit: LimitName
    most: float
    used: float
    binds: bool
    slope: Quantity
    ten: Quantity
    one_sided: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the worth for JSON."""
        gains = {"slope": quantity.to_json(self.slope), "ten": quantity.to_json(self.ten)}
        rest = {name: getattr(self, name) for name in ("limit", "most", "used", "binds", "one_sided")}
        return rest | gains


@dataclass(frozen=True)
class SecondRuleCost:
    """Cost of a plan by another compute rule, in FLOPs and as a ``factor`` of the plan's C.

    ``D`` is what that rule pays for with the plan's C at the same N.
    """

    rule: ComputeRule
    C: Quantity
    D: Quantity
    factor: Quantity
    sentence: str

    def to_json(self) -> dict[str, Any]:
        """Return the cost for JSON."""
        numbers = {name: quantity.to_json(getattr(self, name)) for name in ("C", "D", "factor")}
        return {"compute": self.rule.to_json(), **numbers, "sentence": self.sentence}


@dataclass(frozen=True)
class Reachability:
    """Answer to whether a target can be reached: ``verdict``, ``probability`` if it is known, and ``text`` to show.

    The text is empty if there is nothing to report. "reachable" and "out of reach" are stated with at least 95 %
    confidence. "uncertain" has a probability, "not determined" has none.
    """

    verdict: Verdict
    probability: float | None
    text: str


def read_line(raw: Mapping[str, Any]) -> CostLine:
    """Read a line from a JSON object; raises KeyError, ValueError or PlannerError if it is not a line."""
    if raw["part"] not in get_args(Part):
        raise ValueError(f"part {raw['part']!r}")
    return CostLine(raw["part"], str(raw["what"]), quantity.from_json(raw["amount"]))


def read_worth(raw: Mapping[str, Any]) -> Worth:
    """Read a worth from a JSON object; raises KeyError, ValueError or PlannerError if it is not a worth."""
    if raw["limit"] not in get_args(LimitName):
        raise ValueError(f"limit {raw['limit']!r}")
    slope, ten = (quantity.from_json(raw[name]) for name in ("slope", "ten"))
    return Worth(
        raw["limit"], float(raw["most"]), float(raw["used"]), bool(raw["binds"]), slope, ten, bool(raw["one_sided"])
    )


def read_restated(raw: Mapping[str, Any]) -> SecondRuleCost:
    """Read the cost by a second rule from a JSON object; raises KeyError, ValueError or PlannerError if it is none."""
    C, D, factor = (quantity.from_json(raw[name]) for name in ("C", "D", "factor"))
    return SecondRuleCost(read_rule(raw["compute"]), C, D, factor, str(raw["sentence"]))
