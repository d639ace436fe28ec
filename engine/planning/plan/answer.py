"""The class Plan, which contains a question and the answer to it, and the sentences and warnings of plans."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.fitting.types.possible_values import sample_unit
from isoplan.engine.fitting.types.result import Fit, FitWarning, Interval
from isoplan.engine.fitting.types.warnings import ABOUT_RUNS
from isoplan.engine.planning.answer import quantity
from isoplan.engine.planning.answer.format import SURE, between, decades, number, probability, with_interval
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.plan.parts import CostLine, Flat, Reachability, Saving, SecondRuleCost, Worth
from isoplan.engine.planning.plan.support import ANSWERED, MARKED, Support, extrapolation, farthest, in_place, too_far
from isoplan.engine.planning.scenario.limits import Limits, Question
from isoplan.engine.planning.scenario.prices import Prices
from isoplan.engine.quantities import count

EXTRAPOLATED, FAR, UNCERTAIN_FLOOR, BEST_FIT_FAILS, NO_INTERVAL, NO_RANGE, REPEATS, DEGENERATE = (
    "extrapolated",
    "far-extrapolated",
    "uncertain-floor",
    "best-fit-fails",
    "no-interval",
    "no-range",
    "repeats-data",
    "degenerate-resamples",
)
UNSUPPORTED, IMPOSSIBLE, RUN_IS_BETTER = "unsupported", "impossible", "run-is-better"
BELOW_FLOOR = "below-floor"
"""Code of the warning that some runs have a lower loss than the fitted floor."""
UNCREDITED = "epochs-not-credited"
OPTIMISTIC = "optimistic-floor"

PUBLISHED = "published"
"""Code of the warning that a published law has no intervals."""


@dataclass(frozen=True)
class Plan:
    """A plan: the answer to a question about a budget or a target.

    ``allocation`` has N, D, C and loss; ``derived`` has D/N and, if U is known, epochs. ``fit`` is the hash of the fit,
    ``law`` the name of its law, and ``y`` the name of the predicted quantity. ``reach`` states whether a target can be
    reached at all, and ``p_reach`` is the probability of this. ``reach`` is None for a budget, and for a fit without
    resamples. ``p_reach`` is None if the probability is not known.

    The following fields are empty or None if the caller did not request them. ``bill`` lists the costs by ``prices``.
    ``worth`` has the value of each limit. ``restated`` is the cost by a second compute rule. ``maps`` are the hashes of
    the fits that predict metrics from ``y``, in the order of the metrics.

    ``support`` is None if the runs support the plan. Otherwise it is the range of plans that the runs support.
    ``saving`` is the comparison with a plan that the user stated.
    """

    question: Question
    fit: str
    law: str
    y: str
    compute: ComputeRule
    allocation: Mapping[str, Quantity]
    derived: Mapping[str, Quantity] = field(default_factory=dict)
    p_reach: float | None = None
    flat: Flat | None = None
    warnings: tuple[FitWarning, ...] = ()
    prices: Prices | None = None
    bill: tuple[CostLine, ...] = ()
    worth: tuple[Worth, ...] = ()
    restated: SecondRuleCost | None = None
    maps: tuple[str, ...] = ()
    reach: Reachability | None = None
    support: Support | None = None
    saving: Saving | None = None

    @property
    def answers(self) -> bool:
        """Whether the runs support the plan.

        If not, every output omits the numbers of the plan and states which plans the runs support.
        """
        return self.support is None and farthest(self.placed)[1] <= ANSWERED

    @property
    def fails(self) -> bool:
        """Whether the plan is for a target that the best fit does not reach."""
        return any(w.code == BEST_FIT_FAILS for w in self.warnings)

    @property
    def shown(self) -> Plan:
        """The plan as every output shows it: without numbers if the runs do not support it, otherwise unchanged."""
        if self.answers:
            return self
        allocation, derived = (
            {name: quantity.withheld(q) for name, q in some.items()} for some in (self.allocation, self.derived)
        )
        return replace(self, allocation=allocation, derived=derived, flat=None, bill=(), worth=(), restated=None)

    @property
    def placed(self) -> Mapping[str, Quantity]:
        """Allocation and requested metric: their distance from the runs determines whether the plan is supported."""
        metric = {name: q for name, q in self.derived.items() if name == self.question.metric}
        return {**self.allocation, **metric}

    @property
    def unique(self) -> float:
        """Number of unique samples; training samples beyond this number are repeats.

        If the plan does not include this number, the limit on unique samples is returned, or infinity without such a
        limit.
        """
        simulated, most = self.derived.get("U"), self.question.limits.unique
        if simulated is not None and simulated.value is not None:
            return simulated.value
        return math.inf if most is None else most

    @property
    def sentence(self) -> str:
        """The answer as one sentence for readers who do not know the law.

        If the runs do not support the plan, the text states which plans they support.
        """
        if not self.answers:
            return _unsupported_sentence(self)
        return _budget_sentence(self) if self.question.kind == "budget" else _target_sentence(self)


def _unsupported_sentence(plan: Plan) -> str:
    """Return the text shown for a plan too far beyond the runs: the supported plans, and the runs to train first."""
    name, far = farthest(plan.placed)
    asked = plan.question
    what = asked.budget(plan.prices) if asked.kind == "budget" else f"{asked.metric or plan.y} {asked.value:g}"
    where = f"{decades(far)} beyond the runs in {plan.y if name == 'loss' else name}"
    away = f"A plan for {what} lies {where}."
    if plan.fails:
        away = f"{_not_reached(plan, what)} The refits that reach it lie {where}, or farther."
    if plan.support is None:
        return f"The runs do not support this plan. {away}"
    chance = reach_text(plan) if asked.kind == "target" else ""
    return in_place(plan.support, {name: q.unit for name, q in plan.allocation.items()}, away, chance)


def _budget_sentence(plan: Plan) -> str:
    N, D, C, loss = (plan.allocation[name] for name in ("N", "D", "C", "loss"))
    spread = f" (68 %: {between(loss, loss.ci68)})" if loss.ci68 else ""
    expected, far = f"{plan.y} {number(loss)}{spread}", extrapolation(plan.placed, plan.y)
    paid = plan.question.money is not None
    budget = plan.question.budget(plan.prices) if paid else f"{number(C)} FLOPs"
    if N.value is None or D.value is None:
        return f"With {budget} expect {expected}{far}."
    train = f"{with_interval(N)} on {with_interval(D)}{_unique_text(plan)}{f', {number(C)} FLOPs' if paid else ''}"
    return f"With {budget} train {train}; expected {expected}{far}."


def _target_sentence(plan: Plan) -> str:
    asked, loss = plan.question, plan.allocation["loss"]
    needs = f" ({plan.y} {number(loss)})" if asked.metric and loss.value is not None else ""
    target = f"{asked.metric or plan.y} {asked.value:g}{needs}"
    chance = f" {reached}" if (reached := reach_text(plan)) else ""
    sizes = [plan.allocation[name] for name in ("N", "D") if plan.allocation[name].value is not None]
    C, total, far = plan.allocation["C"], _least_money(plan), extrapolation(plan.placed, plan.y)
    if total is not None:
        use = f"{' on '.join(map(with_interval, sizes))}{_unique_text(plan)}"
        return f"To reach {target} at the lowest cost, spend {with_interval(total)} for {use}{far}.{chance}"
    if C.value is not None:
        use = f": {' on '.join(with_interval(q) for q in sizes)}" if sizes else ""
        return f"To reach {target} spend {with_interval(C)}{use}{far}.{chance}"
    if sizes:
        return f"To reach {target} use {with_interval(sizes[0])}{far}.{chance}"
    return f"{_not_reached(plan, target)}{chance}"


def _not_reached(plan: Plan, target: str) -> str:
    how = "within the limits" if plan.question.limits.given else "at any cost"
    return f"The best fit does not reach {target} {how}."


def reach_text(plan: Plan) -> str:
    """Return a sentence that states whether the plan's target can be reached.

    The sentence is empty if the target is certainly reachable, or if the plan has no resamples.
    """
    if plan.reach is None:  # a plan saved by an older version has only a probability
        p = plan.p_reach
        return (
            ""
            if p in (None, 1.0)
            else f"If the law holds, the target can be reached with probability {probability(p)}."
        )
    return "" if (plan.p_reach or 0.0) > SURE else plan.reach.text


def _unique_text(plan: Plan) -> str:
    """Return a clause with the number of unique samples and the number of passes over them.

    The clause is empty if the plan does not include a number of unique samples.
    """
    U, passes = plan.derived.get("U"), plan.derived.get("passes")
    return "" if U is None or passes is None else f", {number(U)} of them unique and seen {number(passes)} times"


def _least_money(plan: Plan) -> Quantity | None:
    """Return the total cost in money of a plan that minimises money; None for a plan that minimises compute."""
    if plan.prices is None or not plan.prices.aim.weighs:
        return None
    known = (line.amount for line in plan.bill if (line.part, line.what) == ("total", "money"))
    return next((total for total in known if total.value is not None), None)


def spans(fit: Fit) -> Mapping[str, Interval]:
    """Return the range (lowest, highest) of each column of the runs, by the role of the column, such as "N".

    The key "loss" has the range of the quantity that the law predicts.
    """
    own = fit.data.ranges.get(fit.spec.y)
    return {**fit.data.ranges, **({"loss": own} if own else {})}


def warnings(fit: Fit, quantities: Mapping[str, Quantity], lost: int = 0) -> tuple[FitWarning, ...]:
    """Return the warnings that every plan can have, followed by the warnings of the fit.

    The general warnings concern extrapolation, a run better than the plan, unknown ranges of the runs, missing
    intervals, and resamples without an optimum (``lost`` is the number of these).
    """
    found = [*(unsupported(quantities) if too_far(fit, quantities) else extrapolated(quantities))]
    found += better_run(fit, quantities["loss"]) if "loss" in quantities else ()
    if not fit.data.ranges:
        found.append(
            FitWarning(
                NO_RANGE, "The ranges of the runs behind this law are not known, so extrapolation is not marked."
            )
        )
    if not len(fit.resamples) and not any(w.code == PUBLISHED for w in fit.warnings):
        why = quantity.no_interval(fit).removeprefix("no interval: ")
        found.append(FitWarning(NO_INTERVAL, f"These are central values without intervals: {why}."))
    if lost:
        found.append(
            FitWarning(DEGENERATE, f"{lost} of {len(fit.resamples):,} resamples have no optimum and are left out.")
        )
    return (*found, *(w for w in fit.warnings if w.code != ABOUT_RUNS))


def extrapolated(quantities: Mapping[str, Quantity], what: str = "The answer") -> tuple[FitWarning, ...]:
    """Return a warning with the names of all ``quantities`` beyond the runs; empty if there are none.

    The warning states the distance of each such quantity from the runs in decades.
    """
    most = farthest(quantities)[1]
    if most <= 0.005:
        return ()
    code = UNSUPPORTED if most > ANSWERED else FAR if most > MARKED else EXTRAPOLATED
    return (FitWarning(code, f"{what} lies beyond the runs: {_distances(quantities)}."),)


def better_run(fit: Fit, loss: Quantity) -> tuple[FitWarning, ...]:
    """Return a warning if a run of the table is better than the planned ``loss``.

    Only a fit whose floor is above the loss of some of its runs is checked.
    """
    best, planned = fit.best_run, loss.value
    if best is None or planned is None or not any(w.code == BELOW_FLOOR for w in fit.warnings):
        return ()
    if (best >= planned) != fit.larger_is_better:
        return ()
    text = f"A run of the table already has a {fit.spec.y} of {best:.4g}, better than the {planned:.4g} of this plan."
    return (FitWarning(RUN_IS_BETTER, text),)


def unsupported(quantities: Mapping[str, Quantity]) -> tuple[FitWarning, ...]:
    """Return the warning that a plan lies too far beyond the runs to be an answer."""
    text = f"The plan lies too far beyond the runs to be an answer: {_distances(quantities)}."
    return (FitWarning(UNSUPPORTED, text),)


def _distances(quantities: Mapping[str, Quantity]) -> str:
    return ", ".join(f"{name} by {decades(q.beyond)}" for name, q in quantities.items() if q.beyond > 0.005)


def impossible(derived: Mapping[str, Quantity]) -> tuple[FitWarning, ...]:
    """Return one warning for each number of the plan with an impossible predicted value, such as a negative loss."""
    found = {name: q.note for name, q in derived.items() if q.note.startswith(quantity.IMPOSSIBLE)}
    return tuple(FitWarning(IMPOSSIBLE, f"{name}: {note}. Do not use it.") for name, note in found.items())


def repeats(fit: Fit, epochs: Quantity | None) -> tuple[FitWarning, ...]:
    """Return a warning if ``epochs`` is above 1; otherwise an empty tuple.

    In a plan with ``epochs`` above 1, D exceeds the largest number of unique samples in the runs.
    """
    if epochs is None or epochs.value is None or epochs.value <= 1.0 + 1e-9:
        return ()
    sees = (
        f"The plan trains on {count(epochs.value)} times as many {sample_unit(fit)} as the run with the most unique "
        f"{sample_unit(fit)}. The law counts repeated {sample_unit(fit)} as new ones."
    )
    return (FitWarning(REPEATS, sees),)


def uncredited(fit: Fit, limits: Limits, D: Floats) -> tuple[FitWarning, ...]:
    """Return a warning if unique samples are limited but the law does not describe repeated samples.

    ``D`` () is the number of training samples in the plan of the best fit.
    """
    if limits.unique is None or fit.law.repeats:
        return ()
    unit = sample_unit(fit)
    if D >= limits.unique:
        uses = f"uses each of the {count(limits.unique)} unique {unit} once" if D < math.inf else f"repeats no {unit}"
    else:
        uses = f"uses {count(float(D))} of the {count(limits.unique)} unique {unit}, each once"
    text = (
        f"The law {fit.law.name} does not describe repeated {unit}, so the plan has no second epoch: it {uses}. To "
        "plan with more epochs, fit the law 'data-constrained'."
    )
    return (FitWarning(UNCREDITED, text),)
