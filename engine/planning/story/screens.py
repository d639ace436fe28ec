"""A story: a plan explained on five screens, each with one picture and one sentence of at most 40 words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.possible_values import sample_unit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.drawing.cheapest_path import Bought, CheapestPath
from isoplan.engine.planning.drawing.cost_curve import CostCurve, Mark, cost_curve, cost_of
from isoplan.engine.planning.optimum.surface import samples_for, size_for
from isoplan.engine.planning.plan.answer import Plan, spans
from isoplan.engine.planning.plan.metric import Through
from isoplan.engine.planning.plan.parts import Saving
from isoplan.engine.planning.plan.saving import save_against
from isoplan.engine.planning.plan.support import MARKED, farthest
from isoplan.engine.planning.story import sentences
from isoplan.engine.planning.story.sentences import Comparison, Stated, Words
from isoplan.engine.schema import Runs

TITLES = ("The question", "The runs", "The law", "The cost", "The saving")
STEPS = 40
"""Number of positions of the money slider, without the position of the plan."""
RANGE = (30.0, 30.0)
"""Largest factors by which the slider goes below and above the cost of the plan."""
NEXT = 1000.0
"""Additional money, in the currency of the plan. The last screen shows its effect."""


ONE_SIZE = 1.5
"""The runs count as models of one size if their largest N is less than this many times their smallest N."""


@dataclass(frozen=True)
class Step:
    """Position of the money slider: its label, its sentence, its point, and the items of its cost as a caption."""

    label: str
    sentence: str
    mark: Mark
    caption: str = ""


@dataclass(frozen=True, eq=False)
class RunsPicture:
    """Picture of the runs over N and D, coloured by ``y``. ``label`` and ``samples`` are shown as names of y and D."""

    runs: Runs
    y: str
    label: str = ""
    samples: str = ""


@dataclass(frozen=True, eq=False)
class Screen:
    """One screen: title, sentence, picture, and a ``caption`` with the items of the cost or the extrapolation.

    ``steps`` are the positions of a slider, and ``start`` is the index of the plan in ``steps``.
    """

    title: str
    sentence: str
    picture: CostCurve | RunsPicture
    steps: tuple[Step, ...] = ()
    start: int = 0
    caption: str = ""


@dataclass(frozen=True, eq=False)
class Story:
    """A title and five screens about ``plan``.

    ``fits`` are the fit of the plan and, if used, the map to its metric. ``assumed`` states the assumed prices and the
    source of bundled runs; it can be empty.
    """

    title: str
    screens: tuple[Screen, ...]
    plan: Plan
    fits: tuple[Fit, ...]
    assumed: str = ""


def tell(
    fit: Fit,
    plan: Plan,
    *,
    runs: Runs | None = None,
    map: Through | None = None,
    title: str = "",
    words: Words | None = None,
    stated: Stated | None = None,
    assumed: str = "",
) -> Story:
    """Explain ``plan`` on five screens.

    ``runs`` are the runs of ``fit``, and ``map`` predicts the metric of the story. ``words`` are the names in the
    sentences. The last screen compares the plan with ``stated``. ``assumed`` states assumed prices and the source of
    the runs; by default it names the machine. Raises PlannerError if the runs do not support the plan, or if the law
    does not determine a cost.
    """
    teller = _Teller(fit, plan, runs, map, words or Words(), stated or Stated())
    screens = (teller.question(), teller.runs(), teller.law(), teller.cost(), teller.saving())
    if not assumed and plan.prices is not None and teller.path.cost == "money":
        assumed = f"Machine: {plan.prices.machine.text}."
    fits = (fit,) if map is None else (fit, map.map)
    return Story(title or _title(teller.words, plan, teller.spent), screens, plan, fits, assumed)


def show_plan(
    fit: Fit, plan: Plan, *, runs: Runs | None = None, map: Through | None = None, words: Words | None = None
) -> Screen:
    """Return one screen for the plan alone: its point on the cost curve, and its sentence.

    Raises PlannerError under the conditions of ``tell``.
    """
    return _Teller(fit, plan, runs, map, words or Words(), Stated()).answer()


@dataclass
class _Teller:
    """Builder of the screens, with the values that several screens use."""

    fit: Fit
    plan: Plan
    of_runs: Runs | None
    map: Through | None
    words: Words
    stated: Stated
    path: CheapestPath = field(init=False)
    spent: Quantity = field(init=False)
    curve: CostCurve = field(init=False)
    at_plan: Bought = field(init=False)
    compared: Comparison | None = field(init=False)
    next: Bought = field(init=False)

    def __post_init__(self) -> None:
        plan = self.plan
        if not plan.answers or plan.fails:
            raise PlannerError("Story: the runs do not support this plan. Choose a plan nearer to the runs.")
        self.path = CheapestPath(self.fit, plan.compute, plan.prices, self.map)
        self.spent = cost_of(plan, self.path.cost)
        if self.spent.value is None and self.path.cost == "money":  # a very small model has no known price
            self.path = CheapestPath(self.fit, plan.compute, None, self.map)
            self.spent = cost_of(plan, self.path.cost)
        if self.spent.value is None or self.spent.value <= 0:
            raise PlannerError("Story: the cost of this plan is not known. Choose a plan with a cost.")
        self.spent = replace(self.spent, unit=self.path.unit)
        w = self.words
        self.words = Words(sentences.shorten(w.quantity or self.path.y), w.samples or sample_unit(self.fit), w.question)
        spent = float(self.spent.value or 0.0)
        self.at_plan = self.path.buy(np.array([spent]))[0]
        money = self.path.cost == "money"
        bare = plan if money else replace(plan, prices=None)
        self.compared, self.next = self._compare(), self._more()
        most = max(self.next.cost, self.compared.theirs if self.compared else spent)
        curve = cost_curve(self.fit, bare, runs=self.of_runs, map=self.map, most=most)
        self.curve = replace(curve, label=w.quantity)

    def question(self) -> Screen:
        asked = sentences.ask(self.words, self.plan, self.spent, self._best_run())
        return Screen(TITLES[0], asked, replace(self.curve, plan=None, law=not self.curve.run_x.size))

    def runs(self) -> Screen:
        sentence = sentences.list_runs(self.words, self.fit, self.of_runs, self.path.y)
        low, high = self.fit.data.ranges.get("N", (1.0, 1.0))
        if self.of_runs is None or not self.curve.run_x.size:
            return Screen(TITLES[1], sentence, replace(self.curve, plan=None, goal=None))
        if high < ONE_SIZE * low:
            return Screen(TITLES[1], sentence, replace(self.curve, plan=None, goal=None, law=False))
        return Screen(
            TITLES[1], sentence, RunsPicture(self.of_runs, self.path.y, self.words.quantity, self.words.samples)
        )

    def law(self) -> Screen:
        sentence = sentences.state_law(self.words, self.spent, self.at_plan, self._far_of(self.at_plan))
        return Screen(TITLES[2], sentence, replace(self.curve, goal=None))

    def answer(self) -> Screen:
        far = self._far(self.plan.placed) if self.plan.question.kind == "target" else self._far_of(self.at_plan)
        sentence = sentences.answer(self.words, self.plan, self.spent, self.at_plan, far)
        parts: dict[str, float | None] = {
            line.part: line.amount.value for line in self.plan.bill if line.what == "money"
        }
        return Screen(TITLES[3], sentence, self.curve, caption=self._name_parts(parts))

    def _far_of(self, one: Bought) -> str:
        return self._far({**one.sizes, self.path.y: one.value})

    def _far(self, placed: Mapping[str, Quantity]) -> str:
        """Return a text on the largest distance of a quantity in ``placed`` from the runs; empty if all lie inside."""
        name, decades = farthest(placed)
        described = self.map.map if self.map else self.fit
        _, high = {**spans(self.fit), self.path.y: described.data.ranges.get(self.path.y)}.get(name) or (0.0, 0.0)
        predicted = self.path.y if name == "loss" and self.map is None else name
        label = self.words.quantity if predicted == self.path.y else self.fit.spec.y if name == "loss" else name
        value = placed[name].value if name else None
        return sentences.outside(self.words, label, decades, value is None or value > high)

    def _name_parts(self, amounts: Mapping[str, float | None]) -> str:
        """Return the items of a cost in money as a caption; empty for other costs and if an item is not known."""
        known = {part: x for part, x in amounts.items() if x is not None and part != "total"}
        if self.path.cost != "money" or len(known) < len(amounts) - 1:
            return ""
        return sentences.name_parts(known, self.path.unit)

    def cost(self) -> Screen:
        one, (steps, start) = self.answer(), self._steps()
        return replace(one, steps=steps, start=start)

    def saving(self) -> Screen:
        compared, more = self.compared, self.next
        far = self._far_of(more)
        sentence = sentences.save(self.words, self.spent, compared, self.at_plan, more, far)
        others = []
        if compared is not None:
            name = "our plan" if compared.stated is None else compared.stated.label(self.words)
            others.append((name, Mark(compared.theirs, compared.value)))
        if more.value.value is not None:
            money = self.path.cost == "money"
            others.append((f"+ {NEXT:,.0f} {self.path.unit}" if money else "ten times more", _mark(more)))
        caption = f"Extrapolated to {far}." if far else ""
        return Screen(TITLES[4], sentence, replace(self.curve, others=tuple(others)), caption=caption)

    def _best_run(self) -> Mark | None:
        """Return the best run in the picture; None if the picture has no runs."""
        y = self.curve.run_y
        if not y.size:
            return None
        described = self.map.map if self.map else self.fit
        i = int(np.argmax(y) if described.larger_is_better else np.argmin(y))
        return Mark(float(self.curve.run_x[i]), float(y[i]))

    def _compare(self) -> Comparison | None:
        """Return the comparison with the plan that the user typed, otherwise with ``stated``; None if neither exists.

        For a law over N and D, the stated plan reaches the same loss as the plan. For a law on one size, the stated
        plan uses a multiple of this size.
        """
        if self.plan.saving is not None:
            return self._costs(self.plan.saving, None)
        spent = float(self.spent.value or 0.0)
        axis: Literal["N", "D"] | None = "N" if self.path.axis == "N" else "D" if self.path.axis == "D" else None
        if axis is not None:
            stated = self.stated if self.stated.of == axis else Stated(10.0, axis)
            one = self.path.buy(np.array([spent * stated.factor]))[0]
            if one.value.value is None:
                return None
            return Comparison(one.cost, spent, one.value.value, replace(stated, safe=True))
        sizes = self._stated_sizes()
        if sizes is None:
            return None
        try:
            return self._costs(save_against(self.fit, self.plan, *sizes), self.stated)
        except PlannerError:
            return None

    def _stated_sizes(self) -> tuple[float, float] | None:
        """Return N and D of the stated plan, which has the same loss as the plan; None if no such N and D exist."""
        N, D, loss = (self.plan.allocation[name].value for name in ("N", "D", "loss"))
        if not self.fit.law.is_surface or N is None or D is None or loss is None:
            return None
        unique = self.plan.question.limits.unique
        v = {**self.fit.values, **({} if unique is None else {"U": np.asarray(unique)})}
        goal = np.asarray(self.fit.sign * loss)
        if self.stated.of == "N":
            N *= self.stated.factor
            D = float(samples_for(self.fit.law, v, np.asarray(N), goal))
        else:
            D *= self.stated.factor
            N = float(size_for(self.fit.law, v, np.asarray(D), goal))
        return (N, D) if math.isfinite(N * D) and min(N, D) >= 1 else None

    def _costs(self, saving: Saving, stated: Stated | None) -> Comparison | None:
        """Return the costs of ``saving`` in the unit of the story; None if one of the costs is not known."""
        theirs, ours = saving.stated["C"], saving.cheapest["C"]
        if self.path.cost == "money":
            if saving.stated_money is None or saving.cheapest_money is None:
                return None
            theirs, ours = saving.stated_money, saving.cheapest_money
        loss, spent = saving.stated["loss"].value, self.spent.value
        if theirs.value is None or ours.value is None or loss is None or spent is None:
            return None
        value = loss if self.map is None else self.map.at(self.fit.sign * loss)
        return Comparison(theirs.value, ours.value if stated is None else spent, value, stated)

    def _more(self) -> Bought:
        spent = self.spent.value or 0.0
        return self.path.buy(np.array([spent + NEXT if self.path.cost == "money" else 10 * spent]))[0]

    def _steps(self) -> tuple[tuple[Step, ...], int]:
        """Return the positions of the slider, and the index of the position that is the plan."""
        spent = float(self.spent.value or 0.0)
        costs = [float(f"{x:.2g}") for x in np.geomspace(spent / RANGE[0], spent * RANGE[1], STEPS + 1)]
        costs = [x for x in dict.fromkeys(costs) if abs(x / spent - 1) > 0.01]
        kept = [b for b in self.path.buy(np.array(costs)) if self._shown(b)]
        below = [b for b in kept if b.cost < spent]
        here = Step(
            sentences.price(self.spent),
            self.answer().sentence,
            self.curve.plan or _mark(self.at_plan),
            self.answer().caption,
        )
        steps = [*map(self._step, below), here, *map(self._step, kept[len(below) :])]
        return tuple(steps), len(below)

    def _shown(self, one: Bought) -> bool:
        """Return whether the slider shows ``one``: the runs support it, and its model size has a known price."""
        if one.value.value is None or one.beyond > MARKED:
            return False
        N = one.sizes.get("N", Quantity(None)).value
        prices = self.plan.prices
        return self.path.cost != "money" or prices is None or N is None or N >= prices.machine.least

    def _step(self, one: Bought) -> Step:
        spent = Quantity(one.cost, unit=self.path.unit, note="given")
        sentence = sentences.buy(self.words, spent, one, self._far_of(one))
        return Step(sentences.price(spent), sentence, _mark(one), self._name_parts(self._bill(one)))

    def _bill(self, one: Bought) -> dict[str, float | None]:
        """Return the money of ``one`` for each item (training, simulation, ...); empty if N, D or C is not known."""
        N, D, C = (one.sizes.get(name, Quantity(None)).value for name in ("N", "D", "C"))
        if self.plan.prices is None or N is None or D is None or C is None:
            return {}
        unique = self.plan.question.limits.unique
        lines = self.plan.prices.lines(C, N, D if unique is None else min(D, unique))
        return {line.part: float(line.amount) for line in lines if line.what == "money"}


def _mark(one: Bought) -> Mark:
    return Mark(one.cost, one.value.value or math.nan, None, one.value.ci68)


def _title(words: Words, plan: Plan, spent: Quantity) -> str:
    """Return the default title of a story: the target or the budget of the plan."""
    if plan.question.kind == "target":
        return f"{words.quantity} {plan.question.value:g}"
    return f"{words.quantity} for {sentences.price(spent)}"
