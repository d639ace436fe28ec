"""Cards of a recipe: value, interval and source of each setting for each metric, and the cost of another value.

Page, terminal, exports and reports show the numbers and sentences of these cards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.planning.answer import quantity
from isoplan.engine.planning.answer.format import between, number
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.optimum.frontier import frontier
from isoplan.engine.planning.plan.support import MARKED
from isoplan.engine.planning.recommender.alternatives import MORE_SAMPLES, MORE_STEPS
from isoplan.engine.planning.recommender.choice import FAILED, LABELS, NOT_LOCATED, Choice, Setting
from isoplan.engine.planning.recommender.evidence import Evidence
from isoplan.engine.planning.recommender.recipe import Recipe, Recommendation, lender
from isoplan.engine.planning.recommender.settings import LearningRate
from isoplan.engine.planning.recommender.sweep import Optimum, at_budget
from isoplan.engine.planning.recommender.text import shown
from isoplan.engine.quantities import count, power10
from isoplan.engine.quantities import number as plain_number

CARDS: tuple[Setting, ...] = ("s", "K", "B", "N", "D", "lr")
"""Settings in the order of their cards."""
MANY = 2048.0
"""Batch size of the paper (behavioural, Table 7) for which the card of the learning rate shows a second rate."""
FALLS = 1.1
"""K counts as decreasing with the budget if (optimum of K at the next smaller budget) / (optimum of K at the given
budget) is above this number.
"""
RULES = 1.25
"""The card of D also shows the cost by a second compute rule if the two costs differ by at least this factor."""

TOO_FAR = "too far beyond the runs for an interval"
"""Reason why a guess has no interval."""


class Badge(Enum):
    """Source of the value on a card."""

    OWN = "from your runs"
    PUBLISHED = "from published runs"
    BORROWED = "borrowed"
    MEMORY = "memory limit"
    GUESS = "guess"
    TYPED = "typed"
    UNKNOWN = "not known"


@dataclass(frozen=True)
class Card:
    """One setting of a recipe for one metric.

    ``value`` is in the unit of display, for example the embedder share in percent. ``least`` is True if the value is a
    lower limit. ``lender`` is the metric that provides the law for the value; it is empty if ``metric`` has its own
    law. ``sweeps`` is the range of the optima of all swept budgets, in the unit of ``value``. ``what_if`` is one line
    on the cost of another value. ``reason`` states where the value comes from, or why it is missing. ``complaint``
    states why the user's runs do not determine the setting; it is empty if these runs determine the setting, or if no
    run varies it. ``caution`` states the cost of the plan by another compute rule; it is empty if the difference is
    small.
    """

    setting: Setting
    metric: str
    value: Quantity
    badge: Badge
    what_if: str
    reason: str
    least: bool = False
    lender: str = ""
    sweeps: tuple[float, float] | None = None
    complaint: str = ""
    caution: str = ""

    @property
    def label(self) -> str:
        """Name of the setting."""
        return LABELS[self.setting]

    @property
    def text(self) -> str:
        """Value with its unit; "-" if the card has no value."""
        if self.value.value is None:
            return "-"
        return f"{'at least ' if self.least else ''}{number(self.value)} {self.value.unit}".strip()

    @property
    def sure(self) -> Quantity:
        """The value with the intervals that are shown: a guess has no interval."""
        return replace(self.value, ci68=None, ci95=None) if self.badge is Badge.GUESS else self.value

    @property
    def interval(self) -> str:
        """68 % interval; if it is not known, the range of the optima of all swept budgets; "-" if neither is known."""
        if self.sure.ci68 is not None:
            return f"68 %: {between(self.value, self.sure.ci68)}"
        if self.sweeps is not None and self.value.value is not None and not self.least:
            return f"swept budgets: {between(self.value, self.sweeps)}"
        return "-"

    @property
    def no_interval(self) -> str:
        """Reason why ``interval`` is "-"; empty if an interval exists or the value is missing."""
        if self.interval != "-" or self.value.value is None:
            return ""
        if self.least:
            return "a lower limit has no interval"
        if self.badge is Badge.MEMORY:
            return "the memory of the devices determines this value"
        if self.badge is Badge.GUESS and self.setting != "lr":
            return TOO_FAR
        note = next((part for part in self.value.note.split("; ") if part.startswith("no ")), "")
        return note or "no interval is published"

    @property
    def source(self) -> str:
        """Text of the badge, such as "borrowed from val_loss", where val_loss provides the law."""
        return f"{self.badge.value} from {self.lender}" if self.badge is Badge.BORROWED else self.badge.value

    def to_json(self) -> dict[str, Any]:
        """Return the card as a JSON object; a guess has no interval."""
        return {
            "setting": self.setting,
            "metric": self.metric,
            **quantity.to_json(self.sure),
            "text": self.text,
            "interval": self.interval,
            "badge": self.source,
            "what_if": self.what_if,
            "complaint": self.complaint,
            "caution": self.caution,
        }


Cards = Mapping[Setting, tuple[Card, ...]]
"""Cards by setting, one per metric."""


def make_cards(answer: Recommendation, evidence: Evidence, own: Evidence, metrics: Sequence[str] = ()) -> Cards:
    """Return the cards of ``answer`` by setting, one card for each of ``metrics`` (by default, the serving metric).

    ``evidence`` is all evidence of the answer, and ``own`` the evidence from the user's runs alone.
    """
    names = tuple(metrics) or (answer.served,)
    return {
        setting: tuple(_card(answer, answer.recipes[metric], setting, evidence, own) for metric in names)
        for setting in CARDS
    }


def differing(cards: Sequence[Card]) -> tuple[tuple[Card, ...], ...]:
    """Group the cards of one setting by equal value and source, in the order of the metrics."""
    groups: dict[tuple[str, ...], list[Card]] = {}
    for card in cards:
        groups.setdefault((card.text, card.source, card.complaint), []).append(card)
    return tuple(tuple(group) for group in groups.values())


def _card(answer: Recommendation, recipe: Recipe, setting: Setting, evidence: Evidence, own: Evidence) -> Card:
    choice = recipe.choices[setting]
    band = choice.band
    if band is not None and setting == "s":
        band = 100 * band[0], 100 * band[1]
    failed = next((said for said in choice.remarks if said.startswith((FAILED, NOT_LOCATED))), "")
    if not failed and setting == "D":
        failed = next((said for said in recipe.choices["N"].remarks if said.startswith(FAILED)), "")
    inside = choice.value.value is not None and recipe.binds == "FLOPs"
    return Card(
        setting,
        recipe.metric,
        shown(choice),
        _badge(answer, recipe, choice, own),
        _what_if(answer, recipe, choice, evidence),
        choice.note or choice.value.note,
        setting == "K" and recipe.binds == "sweep",
        choice.borrowed,
        band if setting == "s" or inside else None,
        failed,
        _other_rule(recipe) if setting == "D" and choice.value.value is not None else "",
    )


def _other_rule(recipe: Recipe) -> str:
    """Return one line on the cost of the plan by the step formula.

    The text is empty if this cost and the compute of the plan differ by less than the factor ``RULES``.
    """
    factor = 1.0 if recipe.step is None else float(recipe.step.factor)
    if 1 / RULES < factor < RULES:
        return ""
    return f"By the step formula the plan costs {plain_number(factor, 3)} times as much."


def _badge(answer: Recommendation, recipe: Recipe, choice: Choice, own: Evidence) -> Badge:
    """Return the source of the value of ``choice``. A value far beyond the runs counts as a guess."""
    if choice.value.value is None:
        return Badge.UNKNOWN
    if choice.setting == "lr":
        return Badge.GUESS if answer.settings.scaling == LearningRate() else Badge.TYPED
    if choice.setting == "B" and answer.settings.batch is not None:
        return Badge.TYPED
    if choice.borrowed:
        return Badge.BORROWED
    if choice.setting == "K" and recipe.binds == "memory":
        return Badge.MEMORY
    if choice.value.beyond > MARKED:
        return Badge.GUESS
    return Badge.OWN if determines(own, choice.setting, recipe.metric) else Badge.PUBLISHED


def determines(own: Evidence, setting: Setting, metric: str) -> bool:
    """Return whether the evidence ``own`` determines ``setting`` for ``metric``."""
    optima = {"s": own.share, "K": own.negatives}.get(setting, ())
    optima = tuple(one for one in optima if one.located)
    laws = own.batch if setting == "B" else own.allocation if setting in ("N", "D") else {}
    return metric in laws or any(one.metric == metric for one in optima)


def _what_if(answer: Recommendation, recipe: Recipe, choice: Choice, evidence: Evidence) -> str:
    """Return one line on the effect of another value of the setting; empty if the setting has no value."""
    if choice.value.value is None:
        return ""
    if choice.setting in ("N", "D"):
        return _size(recipe, choice, evidence)
    if choice.setting == "lr":
        scaling = answer.settings.scaling
        other = replace(choice.value, value=scaling.rate * float(np.sqrt(MANY / scaling.batch)), ci68=None)
        return f"At a batch of {MANY:,.0f} sequences: {number(other)}."
    priced = costs(choice)
    if choice.setting == "K":
        return " ".join(filter(None, (f"{priced}." if priced else "", _negatives(answer, recipe, choice, evidence))))
    if priced:
        return f"{priced}."
    return f"The cost of another {'share' if choice.setting == 's' else 'batch'} is not published."


def costs(choice: Choice) -> str:
    """Return the costs of other values of a setting, such as "recall@10 worse by 0.003 (0.002 to 0.004) at 6 %".

    The 68 % interval is omitted if there are several values.
    """
    alone = len(choice.otherwise) == 1
    said = []
    for other in choice.otherwise:
        at = f"{100 * other.x:.3g} %" if choice.setting == "s" else count(other.x, 2)
        amount = other.amount
        cost = number(amount) if alone or amount.value is None else plain_number(amount.value, 2)
        sure = f" ({between(amount, amount.ci68)})" if amount.ci68 and alone else ""
        if amount.unit in (MORE_SAMPLES, MORE_STEPS):
            said.append(f"{other.x:,.0f}: {cost}{sure} {amount.unit}")
        else:
            said.append(f"{'by' if said else f'{amount.unit} worse by'} {cost}{sure} at {at}")
    return "; ".join(said) if said and "times" in said[0] else ", ".join(said)


def _size(recipe: Recipe, choice: Choice, evidence: Evidence) -> str:
    """Return a line for the card of N or D.

    The card of N shows the cost of half this N at the same budget. The card of D shows N and D at ten times the budget.
    """
    plan, law = recipe.plan, lender(evidence, recipe.metric)
    if plan is None or choice.value.value is None:
        return ""
    C, unit = float(plan.question.value), recipe.choices["D"].value.unit or "events"
    if choice.setting == "D":
        fit, budget = evidence.allocation[law], np.asarray(10 * C)
        N = frontier(fit.law, fit.values, budget, plan.compute).N
        return f"Ten times the budget: {_counted(plan.compute.samples(budget, N))} {unit}, {_counted(N)} parameters."
    if choice.otherwise:
        return f"{costs(choice)}."
    half = choice.value.value / 2
    events = f"{_counted(plan.compute.samples(C, half))} {unit}"
    return f"Half of N: {events} for the same FLOPs; the effect on the metric is not known."


def _counted(x: ArrayLike) -> str:
    return count(float(np.asarray(x)), 2)


def _negatives(answer: Recommendation, recipe: Recipe, choice: Choice, evidence: Evidence) -> str:
    """Return what limits the number of negatives K, or why K is smaller than at a smaller budget."""
    if recipe.binds == "memory":
        return "Memory limits K: a larger model leaves less memory for negatives, so K decreases with the budget."
    if recipe.binds == "sweep":
        return "The runs still improve at the largest K of the sweep."
    if falls := _falling(evidence, choice.borrowed or recipe.metric, answer.budget):
        return falls
    room = "" if recipe.cap is None else f" Memory holds {count(float(recipe.cap), 3)}."
    return "" if choice.otherwise else f"The cost of another K is not published.{room}"


def _falling(evidence: Evidence, metric: str, C: float) -> str:
    """Return why K is smaller than the optimum at the next smaller swept budget; empty if it is not smaller."""
    at = at_budget(evidence.negatives, metric, C)
    if at is None or at.x.value is None:
        return ""
    own = [one for one in evidence.negatives if one.metric == metric and one.inside and one.x.value is not None]
    below = [one for one in own if one.budget < at.budget]
    last: Optimum | None = max(below, key=lambda one: one.budget, default=None)
    if last is None or last.x.value is None or last.x.value <= FALLS * at.x.value:
        return ""
    before = f"K is smaller than at {power10(last.budget)} FLOPs ({count(last.x.value, 3)})"
    if at.x.ci68 is None or last.x.ci68 is None:
        return f"{before}: the optima scatter and have no interval."
    if at.x.ci68[1] >= last.x.ci68[0]:
        return f"{before}: the intervals overlap, so this may be chance."
    return f"{before}: each negative costs FLOPs, so fewer remain for the model and the events."
