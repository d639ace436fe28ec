"""A plan: the question, the allocation that answers it, and everything that a reader must know beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from engine.costs import ComputeRule, read_rule
from engine.errors import PlannerError
from engine.fitting.possible import SAMPLES
from engine.fitting.result import Fit, FitWarning, Interval
from engine.laws.law import Floats
from engine.planning import level, quantity, text
from engine.planning.limits import NO_LIMITS, Limits, read_limits
from engine.planning.parts import CostLine, Restated, Worth, read_line, read_restated, read_worth
from engine.planning.pricing.as_json import prices_json, read_prices
from engine.planning.pricing.prices import Prices
from engine.planning.quantity import Quantity
from engine.planning.reachability import VERDICTS, Reachability
from engine.planning.support import ANSWERED, MARKED, Support, farthest, read_support, too_far
from engine.quantities import count

SCHEMA = 1
Kind = Literal["budget", "target"]
KINDS: tuple[Kind, ...] = get_args(Kind)
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
"""The code of the warning that runs lie below the floor of a fit."""
UNCREDITED = "epochs-not-credited"
OPTIMISTIC = "optimistic-floor"

ABOUT_RUNS = "runs"
"""The code of notes on how the runs were read (columns derived, rows left out): plans do not repeat them."""
PUBLISHED = "published"
"""The code of the warning by which a published law says itself that it has no intervals."""


@dataclass(frozen=True)
class Question:
    """What was asked: a ``budget`` in FLOPs, or a ``target``, within ``limits``.

    A target is one of what the law describes, or of the ``metric`` that a map makes of it.
    """

    kind: Kind
    value: float
    limits: Limits = NO_LIMITS
    metric: str = ""

    def to_json(self) -> dict[str, Any]:
        """The question for JSON; what was not asked is left out."""
        limits = self.limits.to_json()
        more: dict[str, Any] = {"limits": limits} if limits else {}
        return {self.kind: self.value} | more | ({"metric": self.metric} if self.metric else {})


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
class Plan:
    """An answer. ``allocation`` holds N, D, C and loss; ``derived`` D/N and, where the runs say U, epochs.

    ``fit`` is the hash of the fit, ``y`` what the law describes, ``reach`` whether a target can be reached at all (None
    for a budget and without resamples) and ``p_reach`` its probability, None where that is not known. ``bill`` is what
    it costs by ``prices``, ``worth`` what its limits are worth, ``restated`` its cost by a second compute rule,
    ``maps`` the hashes of the fits that map to its metrics, in their order; each is empty where nobody asked for it.
    ``support`` says what the runs support, where the plan lies too far beyond them to be an answer.
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
    restated: Restated | None = None
    maps: tuple[str, ...] = ()
    reach: Reachability | None = None
    support: Support | None = None

    @property
    def answers(self) -> bool:
        """Whether the runs support the plan: farther beyond them its numbers are marked and are no answer."""
        return self.support is None and farthest(self.placed)[1] <= ANSWERED

    @property
    def fails(self) -> bool:
        """Whether the best fit does not reach the target."""
        return any(w.code == BEST_FIT_FAILS for w in self.warnings)

    @property
    def shown(self) -> Plan:
        """The plan as every output states it: without numbers where the runs do not support it."""
        if self.answers:
            return self
        allocation, derived = (
            {name: quantity.withheld(q) for name, q in some.items()} for some in (self.allocation, self.derived)
        )
        return replace(self, allocation=allocation, derived=derived, flat=None, bill=(), worth=(), restated=None)

    @property
    def placed(self) -> Mapping[str, Quantity]:
        """The numbers whose distance from the runs counts: the allocation, and the metric that was asked for."""
        metric = {name: q for name, q in self.derived.items() if name == self.question.metric}
        return {**self.allocation, **metric}

    @property
    def unique(self) -> float:
        """How many samples are unique, D beyond them repeats: those that the plan simulates, else its limit, or inf."""
        simulated, most = self.derived.get("U"), self.question.limits.unique
        if simulated is not None and simulated.value is not None:
            return simulated.value
        return math.inf if most is None else most

    @property
    def sentence(self) -> str:
        """The answer as one sentence that needs no law to be understood."""
        return text.sentence(self)


def sample_unit(fit: Fit) -> str:
    """What one sample is called, from the column that D was read from: jets, tokens, events; else samples."""
    column = fit.data.roles.get("D", "").lower()
    return next((word for word in SAMPLES if word[:-1] in column), "samples")


def spans(fit: Fit) -> Mapping[str, Interval]:
    """The ranges of the runs by role, with "loss" for what the law describes."""
    own = fit.data.ranges.get(fit.spec.y)
    return {**fit.data.ranges, **({"loss": own} if own else {})}


def warnings(fit: Fit, quantities: Mapping[str, Quantity], lost: int = 0) -> tuple[FitWarning, ...]:
    """What every plan says where it applies: extrapolation, missing intervals and ranges, and then the fit's own."""
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
    """A warning where ``quantities`` lie beyond the runs, by name and decades."""
    most = farthest(quantities)[1]
    if most <= 0.005:
        return ()
    code = UNSUPPORTED if most > ANSWERED else FAR if most > MARKED else EXTRAPOLATED
    return (FitWarning(code, f"{what} lies beyond the runs: {_distances(quantities)}."),)


def better_run(fit: Fit, loss: Quantity) -> tuple[FitWarning, ...]:
    """A warning where the floor of ``fit`` is above its runs, and one of them is better than the plan."""
    best, planned = fit.best_run, loss.value
    if best is None or planned is None or not any(w.code == BELOW_FLOOR for w in fit.warnings):
        return ()
    if (best >= planned) != fit.larger_is_better:
        return ()
    text = f"A run of the table already has a {fit.spec.y} of {best:.4g}, better than {planned:.4g} of this plan."
    return (FitWarning(RUN_IS_BETTER, text),)


def unsupported(quantities: Mapping[str, Quantity]) -> tuple[FitWarning, ...]:
    """The warning that a plan lies too far beyond the runs to be an answer."""
    text = f"The plan lies too far beyond the runs to be an answer: {_distances(quantities)}."
    return (FitWarning(UNSUPPORTED, text),)


def _distances(quantities: Mapping[str, Quantity]) -> str:
    return ", ".join(f"{name} by {text.decades(q.beyond)}" for name, q in quantities.items() if q.beyond > 0.005)


def impossible(derived: Mapping[str, Quantity]) -> tuple[FitWarning, ...]:
    """A warning for each number that the law gives and that cannot be."""
    found = {name: q.note for name, q in derived.items() if q.note.startswith(quantity.IMPOSSIBLE)}
    return tuple(FitWarning(IMPOSSIBLE, f"{name}: {note}. Do not use it.") for name, note in found.items())


def repeats(fit: Fit, epochs: Quantity | None) -> tuple[FitWarning, ...]:
    """A warning where D asks for more samples than the runs had unique ones."""
    if epochs is None or epochs.value is None or epochs.value <= 1.0 + 1e-9:
        return ()
    sees = (
        f"The plan sees the most unique {sample_unit(fit)} that the runs had {count(epochs.value)} times; "
        "the law counts every sample as new."
    )
    return (FitWarning(REPEATS, sees),)


def uncredited(fit: Fit, limits: Limits, D: Floats) -> tuple[FitWarning, ...]:
    """A warning where unique samples are limited and the law credits none twice; ``D`` () is that of the best fit."""
    if limits.unique is None or level.repeats(fit.law):
        return ()
    unit = sample_unit(fit)
    if D >= limits.unique:
        uses = f"uses each of the {count(limits.unique)} unique {unit} once" if D < math.inf else f"repeats no {unit}"
    else:
        uses = f"uses {count(float(D))} of the {count(limits.unique)} unique {unit}, each once"
    text = (
        f"The law {fit.law.name} says nothing of repeated {unit}, so epochs after the first are not credited: the plan "
        f"{uses}; fit data-constrained to plan with more epochs."
    )
    return (FitWarning(UNCREDITED, text),)


def to_json(plan: Plan) -> dict[str, Any]:
    """The object that ``plan --json`` prints. What was not asked is left out, so that hashes of plans do not change.

    A plan that the runs do not support has no numbers there.
    """
    plan = plan.shown
    asked = {
        "prices": prices_json(plan.prices) if plan.prices else None,
        "bill": [line.to_json() for line in plan.bill],
        "worth": [worth.to_json() for worth in plan.worth],
        "restated": plan.restated.to_json() if plan.restated else None,
        "maps": list(plan.maps),
        "reach": {"verdict": plan.reach.verdict, "text": plan.reach.text} if plan.reach else None,
        "support": plan.support.to_json() if plan.support else None,
    }
    return {
        "schema": SCHEMA,
        "question": plan.question.to_json(),
        "fit": plan.fit,
        "law": plan.law,
        "y": plan.y,
        "compute": plan.compute.to_json(),
        "allocation": {name: quantity.to_json(q) for name, q in plan.allocation.items()},
        "derived": {name: quantity.to_json(q) for name, q in plan.derived.items()},
        "p_reach": plan.p_reach,
        "flat": _flat_json(plan.flat),
        "sentence": plan.sentence,
        "warnings": [w.to_json() for w in plan.warnings],
    } | {name: value for name, value in asked.items() if value}


def read_plan(raw: Mapping[str, Any]) -> Plan:
    """The plan in a JSON object. Raises PlannerError that names what is missing or wrong."""
    try:
        if raw["schema"] != SCHEMA:
            raise PlannerError(f"The plan has schema {raw['schema']}, this version reads schema {SCHEMA}.")
        flat, prices, restated = (raw.get(name) for name in ("flat", "prices", "restated"))
        return Plan(
            _question(raw["question"]),
            str(raw["fit"]),
            str(raw["law"]),
            str(raw["y"]),
            read_rule(raw["compute"]),
            {name: quantity.from_json(raw["allocation"][name]) for name in ("N", "D", "C", "loss")},
            {name: quantity.from_json(q) for name, q in raw.get("derived", {}).items()},
            None if raw["p_reach"] is None else float(raw["p_reach"]),
            _read_flat(flat) if flat else None,
            tuple(FitWarning(str(w["code"]), str(w["text"])) for w in raw["warnings"]),
            read_prices(prices) if prices else None,
            tuple(read_line(line) for line in raw.get("bill", ())),
            tuple(read_worth(worth) for worth in raw.get("worth", ())),
            read_restated(restated) if restated else None,
            tuple(str(name) for name in raw.get("maps", ())),
            _reach(raw.get("reach"), raw["p_reach"]),
            read_support(raw["support"]) if raw.get("support") else None,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PlannerError(f"This is not a plan that Isoplan wrote: {error!r} while reading it.") from error


def _reach(raw: Mapping[str, Any] | None, p: float | None) -> Reachability | None:
    """Whether the target of a plan can be reached; plans of older versions have a probability alone."""
    if raw is None:
        return None
    verdict = next((one for one in VERDICTS if one == raw["verdict"]), None)
    if verdict is None:
        raise ValueError(f"verdict {raw['verdict']!r}")
    return Reachability(verdict, None if p is None else float(p), str(raw["text"]))


def _question(raw: Mapping[str, Any]) -> Question:
    asked = dict(raw)
    limits, metric = read_limits(asked.pop("limits", {})), str(asked.pop("metric", ""))
    ((kind, value),) = asked.items()
    known = next((name for name in KINDS if name == kind), None)
    if known is None:
        raise PlannerError(f"The plan asks for {kind!r}: this version knows {' and '.join(KINDS)}.")
    return Question(known, float(value), limits, metric)


def _flat_json(flat: Flat | None) -> dict[str, Any] | None:
    if flat is None:
        return None
    ends = {name: _ends(span) for name, span in (("N", flat.N), ("D", flat.D), ("low", flat.low), ("high", flat.high))}
    return {"tolerance": flat.tolerance} | {name: span for name, span in ends.items() if span is not None}


def _ends(span: Interval | None) -> list[float | None] | None:
    return None if span is None else [x if 0 < x < float("inf") else None for x in span]


def _read_flat(raw: Mapping[str, Any]) -> Flat:
    low, high = (_span(raw[name], True) if raw.get(name) else None for name in ("low", "high"))
    return Flat(float(raw["tolerance"]), _span(raw["N"], True), _span(raw["D"], False), low, high)


def _span(raw: list[float | None], rising: bool) -> Interval:
    """Null ends of ``flat``: N runs from 0 to infinity, D from infinity to 0."""
    low, high = (0.0, float("inf")) if rising else (float("inf"), 0.0)
    return (low if raw[0] is None else float(raw[0]), high if raw[1] is None else float(raw[1]))
