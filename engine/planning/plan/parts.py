"""Parts of a plan in addition to N, D and C: flat range, bill, worth of limits, second rule, reachability, saving."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from isoplan.engine.costs import ComputeRule, read_rule
from isoplan.engine.fitting.types.result import Interval
from isoplan.engine.planning.answer import quantity
from isoplan.engine.planning.answer.format import Row, as_row, number, with_interval
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.plan.support import extrapolation
from isoplan.engine.planning.scenario.limits import LimitName
from isoplan.engine.planning.scenario.prices import Part

Verdict = Literal["reachable", "out of reach", "uncertain", "not determined"]
VERDICTS: tuple[Verdict, ...] = ("reachable", "out of reach", "uncertain", "not determined")

LEAST_SAVING = 0.5
"""Smallest saving that is reported, in percent. With a smaller saving, the user's own plan counts as the cheapest."""


@dataclass(frozen=True)
class Flat:
    """Range of N around the optimum in which the loss is worse than the best loss by at most ``tolerance`` (relative).

    The budget and the limits are the same in the whole range. ``N`` contains the lower and the upper end of the range,
    and ``D`` the number of samples at each end. If the loss at every smaller N is within ``tolerance``, the lower end
    is 0. If the loss at every larger N is within ``tolerance``, the upper end is infinite. ``low`` and ``high`` are the
    68 % intervals of the two ends of N. An interval is None if the fit has no resamples or if the interval is
    unbounded.
    """

    tolerance: float
    N: Interval
    D: Interval
    low: Interval | None = None
    high: Interval | None = None


@dataclass(frozen=True)
class CostLine:
    """A line of a bill: the part of the plan (such as training), the kind of cost (such as money), and the amount."""

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
    """Worth of a limit for the plan: the gain from a larger limit.

    ``most`` is the value of the limit, and ``used`` the amount that the plan uses. ``binds`` states that the limit is
    reached. ``slope`` is the gain per additional unit of the limit, and ``ten`` the gain if the limit is ten per cent
    larger. For a budget the gain is the improvement of y (positive is better). For a target the gain is the money
    saved, or the FLOPs saved if there are no prices. ``one_sided`` states that the slope differs between an increase
    and a decrease of the limit, because a second limit is reached at the same point.
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
    """Cost of the N and D of a plan by a second compute ``rule``.

    ``C`` is this cost in FLOPs, and ``factor`` is ``C`` divided by the compute of the plan. By the second rule, the
    compute of the plan suffices to train a model of the plan's N on ``D`` samples.
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

    ``probability`` is the probability that the target can be reached; None if this number is not known. ``text`` is the
    sentence to show; empty if there is nothing to report. The verdicts "reachable" and "out of reach" have at least
    95 % confidence. The verdict "uncertain" has a probability; the verdict "not determined" has no probability.
    """

    verdict: Verdict
    probability: float | None
    text: str


@dataclass(frozen=True)
class Saving:
    """Saving of the cheapest plan compared with a plan that the user stated, at the same loss.

    ``stated`` contains N, D, C and loss of the stated plan, and ``cheapest`` the same numbers of the cheapest plan.
    ``flops`` is the saving in FLOPs, and ``percent`` the saving in percent of the compute of the stated plan. ``y`` is
    the name of the loss. ``stated_money`` and ``cheapest_money`` are the totals of the two bills, and ``money`` is
    their difference; all three are None without prices. If ``in_money`` is true, the cheapest plan is the plan of least
    money, and ``percent`` is the saving in percent of the money of the stated plan.
    """

    stated: Mapping[str, Quantity]
    cheapest: Mapping[str, Quantity]
    flops: Quantity
    percent: Quantity
    y: str
    stated_money: Quantity | None = None
    cheapest_money: Quantity | None = None
    money: Quantity | None = None
    in_money: bool = False

    @property
    def sentence(self) -> str:
        """The comparison in one or two sentences."""
        N, D, C, loss = (self.stated[name] for name in ("N", "D", "C", "loss"))
        one = f"{number(N)} {N.unit} on {number(D)} {D.unit} reach {self.y} {number(loss)} for {number(C)} FLOPs."
        if self.in_money and self.percent.value is None:
            return f"{one} The money that another plan saves is {self.percent.note}."
        if self.percent.value is None or self.percent.value < LEAST_SAVING:
            return f"{one} No plan is cheaper by more than {LEAST_SAVING:g} %."
        n, d = (self.cheapest[name] for name in ("N", "D"))
        saved = f"{self.percent.value:.2g} % of the {'money' if self.in_money else 'compute'}"
        if self.money is not None and self.money.value is not None:
            saved = f"{with_interval(self.money)}, or {saved}"
        far = extrapolation(self.cheapest, self.y)
        return f"{one} {number(n)} {n.unit} on {number(d)} {d.unit} reach the same {self.y} and save {saved}{far}."

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as a JSON object."""
        money = {"stated_money": self.stated_money, "cheapest_money": self.cheapest_money, "money": self.money}
        return {
            "stated": {name: quantity.to_json(q) for name, q in self.stated.items()},
            "cheapest": {name: quantity.to_json(q) for name, q in self.cheapest.items()},
            "flops": quantity.to_json(self.flops),
            "percent": quantity.to_json(self.percent),
            **{name: quantity.to_json(q) for name, q in money.items() if q is not None},
            **({"in_money": True} if self.in_money else {}),
            "sentence": self.sentence,
        }


def read_line(raw: Mapping[str, Any]) -> CostLine:
    """Read a line of a bill from a JSON object. Raises KeyError, ValueError or PlannerError for any other object."""
    if raw["part"] not in get_args(Part):
        raise ValueError(f"part {raw['part']!r}")
    return CostLine(raw["part"], str(raw["what"]), quantity.from_json(raw["amount"]))


def read_worth(raw: Mapping[str, Any]) -> Worth:
    """Read the worth of a limit from a JSON object. Raises KeyError, ValueError or PlannerError for other objects."""
    if raw["limit"] not in get_args(LimitName):
        raise ValueError(f"limit {raw['limit']!r}")
    slope, ten = (quantity.from_json(raw[name]) for name in ("slope", "ten"))
    return Worth(
        raw["limit"], float(raw["most"]), float(raw["used"]), bool(raw["binds"]), slope, ten, bool(raw["one_sided"])
    )


def read_restated(raw: Mapping[str, Any]) -> SecondRuleCost:
    """Read the cost by a second compute rule from a JSON object.

    Raises KeyError, ValueError or PlannerError if the object does not describe such a cost.
    """
    C, D, factor = (quantity.from_json(raw[name]) for name in ("C", "D", "factor"))
    return SecondRuleCost(read_rule(raw["compute"]), C, D, factor, str(raw["sentence"]))


def read_saving(raw: Mapping[str, Any], y: str) -> Saving:
    """Read a comparison with a stated plan from a JSON object; ``y`` is the name of the predicted quantity.

    Raises KeyError, ValueError or PlannerError if the object does not describe such a comparison.
    """
    stated, cheapest = ({name: quantity.from_json(q) for name, q in raw[key].items()} for key in ("stated", "cheapest"))
    flops, percent = (quantity.from_json(raw[name]) for name in ("flops", "percent"))
    names = ("stated_money", "cheapest_money", "money")
    ours, theirs, money = (quantity.from_json(raw[name]) if name in raw else None for name in names)
    return Saving(stated, cheapest, flops, percent, y, ours, theirs, money, bool(raw.get("in_money", False)))
