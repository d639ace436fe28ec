"""Comparison of saved plans side by side, with all bills at the same prices.

A saved plan contains its numbers and their intervals, but no resamples. If the fit of a plan is available, its question
is solved again, and the intervals of the bill are computed from the resamples of the fit.

Without the fit, each line of the bill is a constant times C, N or the number of unique samples. The interval of a line
is then the constant times the interval of that number. A total of several lines has no interval, because a saved plan
does not contain the correlation of the lines.

A scenario is a set of prices. It changes only the bill of a plan; N, D and C do not change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from isoplan.engine.arrays import finite
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit, Interval
from isoplan.engine.laws import Point
from isoplan.engine.planning.answer import quantity
from isoplan.engine.planning.answer.format import (
    UNREACHABLE,
    aligned,
    as_row,
    decades,
    number,
    probability,
    with_interval,
)
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.bill import OF, bill, without_time
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.plan.parts import CostLine
from isoplan.engine.planning.plan.solve import task_of
from isoplan.engine.planning.scenario.limits import named
from isoplan.engine.planning.scenario.prices import Line, Prices
from isoplan.engine.planning.scenario.prices_json import prices_json

SAME = 1e-6
"""Largest relative difference at which a recomputed number counts as equal to the saved number."""


@dataclass(frozen=True, eq=False)
class Answer:
    """Answer to the question of a plan.

    ``best`` () is the answer of the best fit, and ``draws`` (r,) are the answers of the resamples of ``fit``.
    """

    fit: Fit
    best: Point
    draws: Point


def ask_again(plan: Plan, fit: Fit, map: Fit | None = None) -> Answer | None:
    """Answer the question of ``plan`` again with ``fit``, the fit of the plan.

    ``map`` is the map that predicts the metric of the plan. Returns None if the runs do not support the plan, or if the
    plan has a target in a metric and ``map`` is None. Raises PlannerError if ``fit`` is not the fit of the plan, if
    ``map`` does not predict the metric, or if the new answer differs from the saved answer.
    """
    if fit.hash != plan.fit:
        raise PlannerError(
            f"This plan was made with the fit {plan.fit} and not with {fit.hash}: give the fit of the plan."
        )
    if not plan.answers:
        return None
    task = task_of(fit, plan.question, plan.compute, plan.prices)
    if plan.question.metric:
        if map is None:
            return None
        pair = through(fit, map, plan.question.metric)
        fit, task = pair.law, replace(task, goal=pair.goal(plan.question.value))
    found = Answer(fit, task.best(fit), task.draws(fit))
    if not all(_same(plan.allocation[name].value, getattr(found.best, name)) for name in "NDC"):
        raise PlannerError("The fit of this plan now gives a different answer. Compute the plan again and save it.")
    return found


def _same(said: float | None, found: float) -> bool:
    if said is None:
        return not math.isfinite(found)
    return math.isclose(said, float(found), rel_tol=SAME)


SCHEMA = 1
SIZES = ("N", "D", "C", "loss")
NO_TOTAL = "no interval: a saved plan does not contain the correlation of its parts"
MONEY = ", money"


@dataclass(frozen=True)
class Saved:
    """A saved plan with its name.

    ``answer`` is the answer of the plan, computed again from the fit of the plan; None if this fit is not available.
    """

    name: str
    plan: Plan
    answer: Answer | None = None


@dataclass(frozen=True)
class Risk:
    """Risk of a plan.

    ``p_reach`` is the probability of reaching the target; it is None if the question is a budget or if the probability
    is not known. ``beyond`` is the distance of the plan from the runs in decades. ``spread`` is the upper end of the
    68 % interval of C divided by the lower end. ``spread`` is None without an interval, and infinite if the interval
    has no upper end. ``warnings`` are the texts of the plan's warnings.
    """

    p_reach: float | None
    beyond: float
    spread: float | None
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Side:
    """One plan of a comparison: its name, allocation, bill at the prices of the scenario, and risk."""

    name: str
    plan: Plan
    allocation: Mapping[str, Quantity]
    bill: Mapping[str, Quantity]
    risk: Risk

    @property
    def money(self) -> dict[str, Quantity]:
        """Lines of the bill that are in money. Their keys are the purposes: training, simulation, inference, total."""
        return {label.removesuffix(MONEY).lower(): q for label, q in self.bill.items() if label.endswith(MONEY)}


@dataclass(frozen=True)
class Comparison:
    """Compared plans, in the order in which they were given.

    ``prices`` apply to all bills; None if there are no prices.
    """

    sides: tuple[Side, ...]
    prices: Prices | None = None


def side_by_side(saved: Sequence[Saved], prices: Prices | None = None) -> Comparison:
    """Compare saved plans: their allocation, their risk, and their bill at ``prices``.

    Raises PlannerError if there are no plans or if two plans have the same name.
    """
    if not saved:
        raise PlannerError("There is no plan to compare: save one first.")
    names = [one.name for one in saved]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PlannerError(f"Two plans have the name {twice!r}. Give them different names.")
    return Comparison(tuple(_side(one, prices) for one in saved), prices)


def scenario(
    prices: Prices, *, hour: float | None = None, utilisation: float | None = None, speed: float = 1.0
) -> Prices:
    """Return a changed copy of ``prices`` for a what-if comparison.

    ``hour`` replaces the price of a device hour. ``utilisation`` replaces the fraction of the peak speed that training
    reaches. ``speed`` makes simulation faster: the CPU time and the price of a sample are divided by ``speed``. Raises
    PlannerError for a ``speed`` that is not positive.
    """
    if not (math.isfinite(speed) and speed > 0):
        raise PlannerError(f"The speed factor {speed:g} of the simulation is not positive. Give a positive factor.")
    machine = replace(
        prices.machine,
        price=prices.machine.price if hour is None else hour,
        utilisation=prices.machine.utilisation if utilisation is None else utilisation,
    )
    sample = prices.simulation
    if sample is not None:
        price, seconds = (None if x is None else x / speed for x in (sample.price, sample.cpu_seconds))
        sample = replace(sample, price=price, cpu_seconds=seconds)
    return replace(prices, machine=machine, simulation=sample)


def table(found: Comparison) -> tuple[tuple[str, ...], ...]:
    """Return the comparison as a table of texts.

    The column headings are the names of the plans. The rows show the allocation, the bill and the risk.
    """
    sides = found.sides
    lines: list[tuple[str, ...]] = [("", *(side.name for side in sides))]
    lines.append(("Question", *(_question(side.plan) for side in sides)))
    if any(side.plan.question.limits.given for side in sides):
        lines.append(("Within", *(_limits(side.plan) for side in sides)))
    for size in SIZES:
        lines.append((size, *(_cell(side.allocation[size]) for side in sides)))
    for label in dict.fromkeys(label for side in sides for label in side.bill):
        lines.append((label, *(_cell(side.bill[label]) if label in side.bill else "-" for side in sides)))
    lines.append(("Probability of reaching the target", *(_chance(side.risk) for side in sides)))
    lines.append(("Beyond the runs", *(decades(s.risk.beyond) if s.risk.beyond > 0.005 else "inside" for s in sides)))
    lines.append(("Warnings", *(str(len(side.risk.warnings)) for side in sides)))
    return tuple(lines)


def sentence(found: Comparison) -> str:
    """Return a sentence that names the cheapest and the most expensive plan.

    The cost is the total money if it is known for every plan, otherwise the compute. The sentence is empty if fewer
    than two plans have a known cost.
    """
    sides = [side for side in found.sides if side.plan.answers]
    paid = all("total" in side.money and side.money["total"].value is not None for side in sides)
    costs = [(side.name, side.money["total"] if paid else side.allocation["C"]) for side in sides]
    known = sorted(((q.value, name, q) for name, q in costs if q.value is not None), key=lambda one: one[0])
    if len(known) < 2:
        return ""
    (_, first, least), (_, last, most) = known[0], known[-1]
    return f"{first} costs least: {with_interval(least)}; {last} costs most: {with_interval(most)}."


def as_text(found: Comparison) -> str:
    """Return the comparison as text for a terminal."""
    said = [text, ""] if (text := sentence(found)) else []
    machine = [] if found.prices is None else ["", f"Costs of all plans on {found.prices.machine.text}."]
    notes = [f"\n{side.name}: {text}" for side in found.sides for text in side.risk.warnings]
    return "\n".join([*said, *aligned(table(found)), *machine, *notes])


def to_json(found: Comparison) -> dict[str, Any]:
    """Return the JSON object that ``isoplan plans --json`` prints. Missing and infinite numbers are null."""
    return {
        "schema": SCHEMA,
        "machine": found.prices.machine.text if found.prices else None,
        "prices": prices_json(found.prices) if found.prices else None,
        "sentence": sentence(found),
        "plans": [
            {
                "name": side.name,
                "question": side.plan.question.to_json(),
                "fit": side.plan.fit,
                "law": side.plan.law,
                "allocation": {name: quantity.to_json(q) for name, q in side.allocation.items()},
                "bill": {label: quantity.to_json(q) for label, q in side.bill.items()},
                "risk": {
                    "p_reach": side.risk.p_reach,
                    "beyond": side.risk.beyond,
                    "spread": finite(side.risk.spread or None),
                    "warnings": list(side.risk.warnings),
                },
            }
            for side in found.sides
        ],
    }


def _side(one: Saved, prices: Prices | None) -> Side:
    one = replace(one, plan=one.plan.shown)
    allocation = {name: one.plan.allocation[name] for name in SIZES}
    far = max((q.beyond for q in allocation.values()), default=0.0)
    texts = tuple(w.text for w in one.plan.warnings)
    risk = Risk(one.plan.p_reach, far, _spread(allocation["C"].ci68), texts)
    found = _bill(one, prices) if prices is not None and one.plan.answers else {}
    return Side(one.name, one.plan, allocation, found, risk)


def _bill(one: Saved, prices: Prices) -> dict[str, Quantity]:
    """Return the amount of each line of the bill, keyed by the label of the line.

    An amount has no value if it depends on an unknown N, D or C.
    """
    if one.answer is None:
        return _scaled(one, prices)
    asked, found = one.plan.question, one.answer
    spent = asked.kind == "budget" and not asked.limits.given
    lines = bill(found.fit, found.best, found.draws, prices, spent)
    return _by_label(lines)


def _by_label(lines: Iterable[CostLine]) -> dict[str, Quantity]:
    return {f"{line.part.capitalize()}, {line.what}": line.amount for line in lines}


def _scaled(one: Saved, prices: Prices) -> dict[str, Quantity]:
    """Return the bill of a saved plan whose fit is not available.

    Each line is computed from the C, the N or the number of unique samples of the plan.
    """
    sizes = {"C": one.plan.allocation["C"], "N": one.plan.allocation["N"], "D": _capped(one)}

    def lines(pick: Callable[[Quantity], float | None]) -> tuple[Line, ...]:
        at = [math.nan if x is None else x for x in map(pick, sizes.values())]
        return prices.lines(*at)

    best = lines(lambda q: q.value)
    ends68 = [lines(lambda q, i=i: q.ci68 and q.ci68[i]) for i in (0, 1)]  # type: ignore[misc]
    ends95 = [lines(lambda q, i=i: q.ci95 and q.ci95[i]) for i in (0, 1)]  # type: ignore[misc]
    priced = {line.part for line in best if line.what == "money" and line.part != "total"}
    found = []
    for place, line in enumerate(best):
        parts = priced if line.part == "total" else {line.part}
        own = sizes[OF[next(iter(parts))]] if len(parts) == 1 else Quantity(None, note=NO_TOTAL)
        value = float(line.amount)
        amount = Quantity(
            finite(value),
            own.ci68 and _ends(ends68, place),
            own.ci95 and _ends(ends95, place),
            line.unit,
            note=own.note,
        )
        found.append(CostLine(line.part, line.what, amount))
    return _by_label(without_time(found, prices, sizes["N"].value))


def _ends(ends: Sequence[tuple[Line, ...]], place: int) -> Interval:
    """Return the interval of the line with index ``place``.

    ``ends`` contains two bills: at the lower and at the upper ends of the intervals of C, N and D.
    """
    return float(ends[0][place].amount), float(ends[1][place].amount)


def _capped(one: Saved) -> Quantity:
    """Return the number of samples to simulate: the smaller of D and the number of unique samples."""
    D = one.plan.allocation["D"]
    if "U" in one.plan.derived:
        return one.plan.derived["U"]
    most = one.plan.unique

    def capped(x: float) -> float:
        """Return ``x``, limited to the number of unique samples.

        Infinity is not limited, because infinity means that the target is not reached.
        """
        return x if math.isinf(x) else min(x, most)

    ends = [ci and (capped(ci[0]), capped(ci[1])) for ci in (D.ci68, D.ci95)]
    return replace(D, value=None if D.value is None else min(D.value, most), ci68=ends[0], ci95=ends[1])


def _spread(ci: Interval | None) -> float | None:
    return None if ci is None or not 0 < ci[0] < math.inf else ci[1] / ci[0]


def _question(plan: Plan) -> str:
    asked = plan.question
    if asked.money is not None:
        return f"budget {asked.budget(plan.prices)}"
    unit = "FLOPs" if asked.kind == "budget" else asked.metric or plan.y
    return f"{asked.kind} {asked.value:.4g} {unit}"


def _limits(plan: Plan) -> str:
    given = plan.question.limits.given
    return ", ".join(named(name, most, plan.prices) for name, most in given.items()) or "-"


def _chance(risk: Risk) -> str:
    return "-" if risk.p_reach is None else probability(risk.p_reach)


def _cell(q: Quantity) -> str:
    """Return a value with its 68 % interval as text.

    The interval is omitted if both ends have the same text as the value.
    """
    row = as_row("", q)
    wide = q.ci68 is not None and any(number(q, end) != row.value for end in q.ci68)
    spread = f" ({row.ci68})" if row.ci68 and row.ci68 != UNREACHABLE and wide else ""
    return f"{row.value} {row.unit}".strip() + spread
