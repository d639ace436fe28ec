"""Ranking of the settings of a recipe by the cost of another value of each setting."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoplan.engine.planning.answer import quantity
from isoplan.engine.planning.answer.format import between, number
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.recommender.alternatives import MORE_SAMPLES, MORE_STEPS
from isoplan.engine.planning.recommender.choice import LABELS, Alternative, Choice, Setting
from isoplan.engine.quantities import count
from isoplan.engine.quantities import number as plain_number

if TYPE_CHECKING:
    from isoplan.engine.planning.recommender.recipe import Recipe

TITLE = "What a wrong choice costs"
UNITS = "Sorted by cost. Costs in different units are not comparable."
RANKED: tuple[Setting, ...] = ("s", "K", "B", "N", "lr")
"""Settings of the ranking. D is not ranked, because N and the budget determine D."""


@dataclass(frozen=True)
class Cost:
    """The cost of another value ``x`` of one setting, for one metric.

    ``amount`` is the cost compared with the recommended value: how much worse the metric becomes, or how many times as
    many samples or training steps are needed. ``factor`` is ``x`` divided by the recommended value, which is in
    ``unit``. If no cost is known, ``x`` and ``factor`` are None, and the note of ``amount`` is the reason.
    """

    setting: Setting
    metric: str
    amount: Quantity
    x: float | None = None
    factor: float | None = None
    unit: str = ""

    @property
    def other(self) -> str:
        """The other value and its ratio to the recommended value, such as "2.53 M negatives (4 times)"; or "-"."""
        if self.x is None or self.factor is None:
            return "-"
        text = {"s": f"{100 * self.x:.3g} %", "B": f"{self.x:,.0f}"}.get(self.setting, count(self.x, 3))
        return f"{text} {self.unit.removeprefix('% ')} ({plain_number(self.factor, 2)} times)".replace("  ", " ")

    @property
    def text(self) -> str:
        """The cost in words, such as "2.38 times as many samples"; "-" if it is not known."""
        if self.amount.value is None:
            return "-"
        cost, unit = number(self.amount), self.amount.unit
        return f"{cost} {unit}" if unit in (MORE_SAMPLES, MORE_STEPS) else f"{unit} worse by {cost}"

    @property
    def interval(self) -> str:
        """The 68 % interval of the cost; "-" if it is not known."""
        return "-" if self.amount.value is None else between(self.amount, self.amount.ci68) or "-"

    @property
    def reason(self) -> str:
        """Reason why the cost or its interval is not known; empty if both are known."""
        return self.amount.note

    @property
    def label(self) -> str:
        """Name of the line in exports."""
        return f"Cost of another choice: {LABELS[self.setting]}{f' of {self.other}' if self.x is not None else ''}"

    def to_json(self) -> dict[str, Any]:
        """Return the cost as a JSON object."""
        named = {"setting": self.setting, "label": self.label, "x": self.x, "factor": self.factor}
        return {**named, **quantity.to_json(self.amount)}


def rank_costs(recipe: Recipe) -> tuple[Cost, ...]:
    """Return the costs of the other values that the cards show, for all settings, sorted.

    Costs in the unit of the metric come first, then costs in the unit of another metric, costs in samples or training
    steps, and settings without a known cost. Among costs in the same unit, the largest comes first.
    """
    found = (cost for setting in RANKED for cost in _costs(recipe.metric, recipe.choices[setting]))
    return tuple(sorted(found, key=_order))


def _costs(metric: str, choice: Choice) -> Iterable[Cost]:
    best = choice.value.value
    if best is None or not choice.otherwise:
        return [Cost(choice.setting, metric, Quantity(None, note=choice.unpriced.rstrip(".")))]
    return [_cost(metric, choice, other, best) for other in choice.otherwise]


def _cost(metric: str, choice: Choice, other: Alternative, best: float) -> Cost:
    return Cost(choice.setting, metric, other.amount, other.x, other.x / best, choice.value.unit)


def _order(cost: Cost) -> tuple[int, str, float]:
    amount = cost.amount
    if amount.value is None:
        return 3, "", 0.0
    group = 0 if amount.unit == cost.metric else 2 if amount.unit in (MORE_SAMPLES, MORE_STEPS) else 1
    return group, amount.unit, -amount.value


def cost_table(recipes: Iterable[Recipe]) -> tuple[dict[str, str], ...]:
    """Return the ranking of each recipe as rows of texts by column; the metric is named if there are several."""
    costs = [cost for recipe in recipes for cost in rank_costs(recipe)]
    several = len({cost.metric for cost in costs}) > 1
    return tuple(
        ({"Metric": cost.metric} if several else {})
        | {"Setting": LABELS[cost.setting], "Other choice": cost.other, "Cost": cost.text}
        | {"68 %": cost.interval, "Note": cost.reason}
        for cost in costs
    )
