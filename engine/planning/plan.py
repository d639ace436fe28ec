"""A plan: the question, the allocation that answers it, and everything that a reader must know beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from engine.costs import ComputeRule, read_rule
from engine.errors import PlannerError
from engine.fitting.result import Fit, FitWarning, Interval
from engine.laws import Point
from engine.planning import quantity, text
from engine.planning.quantity import Quantity

SCHEMA = 1
Kind = Literal["budget", "target"]
EXTRAPOLATED, FAR, UNCERTAIN_FLOOR, BEST_FIT_FAILS, NO_INTERVAL, NO_RANGE, REPEATS, DEGENERATE, APART = (
    "extrapolated",
    "far-extrapolated",
    "uncertain-floor",
    "best-fit-fails",
    "no-interval",
    "no-range",
    "repeats-data",
    "degenerate-resamples",
    "cost-mismatch",
)
COSTS_APART = 0.05
"""Relative difference between the budget and what N* and D* cost beyond which a plan says so."""


ABOUT_RUNS = "runs"
"""The code of notes on how the runs were read (columns derived, rows left out): plans do not repeat them."""
PUBLISHED = "published"
"""The code of the warning by which a published law says itself that it has no intervals."""


@dataclass(frozen=True)
class Question:
    """What was asked: a ``budget`` in FLOPs, or a ``target`` of what the law describes."""

    kind: Kind
    value: float


@dataclass(frozen=True)
class Flat:
    """How flat the iso-FLOP curve is: N and D between which the loss is within ``tolerance`` of the best.

    ``D[0]`` belongs to ``N[0]``. An end that the curve never reaches is 0 or infinite.
    """

    tolerance: float
    N: Interval
    D: Interval


@dataclass(frozen=True)
class Plan:
    """An answer. ``allocation`` holds N, D, C and loss; ``derived`` D/N and, where the runs say U, epochs.

    ``fit`` is the hash of the fit, ``y`` what the law describes, ``p_reach`` the share of resamples whose floor allows
    a target (None for a budget and without resamples).
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

    @property
    def sentence(self) -> str:
        """The answer as one sentence that needs no law to be understood."""
        return text.sentence(self)


def sample_unit(fit: Fit) -> str:
    """What one sample is called, from the column that D was read from: jets, tokens, events; else samples."""
    column = fit.data.roles.get("D", "").lower()
    return next((word for word in ("tokens", "jets", "events", "points") if word[:-1] in column), "samples")


def spans(fit: Fit) -> Mapping[str, Interval]:
    """The ranges of the runs by role, with "loss" for what the law describes."""
    own = fit.data.ranges.get(fit.spec.y)
    return {**fit.data.ranges, **({"loss": own} if own else {})}


def warnings(fit: Fit, quantities: Mapping[str, Quantity], lost: int = 0) -> tuple[FitWarning, ...]:
    """What every plan says where it applies: extrapolation, missing intervals and ranges, and then the fit's own."""
    found = []
    far = {name: q.beyond for name, q in quantities.items() if q.beyond > 0.005}
    if far:
        decades = ", ".join(f"{name} by {text.decades(value)}" for name, value in far.items())
        code = FAR if max(far.values()) > 1 else EXTRAPOLATED
        found.append(FitWarning(code, f"The answer lies beyond the runs: {decades}."))
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


def apart(fit: Fit, best: Point, rule: ComputeRule) -> tuple[FitWarning, ...]:
    """A warning where power laws that were fitted one by one give an N* and a D* that do not cost the budget."""
    if fit.law.every_run:
        return ()
    with np.errstate(all="ignore"):
        share = float(rule.flops_anywhere(best.N, best.D) / best.C)
    if not math.isfinite(share) or abs(share - 1) <= COSTS_APART:
        return ()
    text = f"N* and D* were fitted separately and cost {share:.3g} times the budget by {rule.text}."
    return (FitWarning(APART, text),)


def repeats(fit: Fit, epochs: Quantity | None) -> tuple[FitWarning, ...]:
    """A warning where D asks for more samples than the runs had unique ones."""
    if epochs is None or epochs.value is None or epochs.value <= 1.0 + 1e-9:
        return ()
    sees = (
        f"The plan sees the most unique {sample_unit(fit)} that the runs had {epochs.value:.2g} times; "
        "the law counts every sample as new."
    )
    return (FitWarning(REPEATS, sees),)


def to_json(plan: Plan) -> dict[str, Any]:
    """The object that ``plan --json`` prints."""
    return {
        "schema": SCHEMA,
        "question": {plan.question.kind: plan.question.value},
        "fit": plan.fit,
        "law": plan.law,
        "y": plan.y,
        "compute": plan.compute.to_json(),
        "allocation": {name: quantity.to_json(q) for name, q in plan.allocation.items()},
        "derived": {name: quantity.to_json(q) for name, q in plan.derived.items()},
        "p_reach": plan.p_reach,
        "flat": _flat_json(plan.flat),
        "sentence": plan.sentence,
        "warnings": [{"code": w.code, "text": w.text} for w in plan.warnings],
    }


def read_plan(raw: Mapping[str, Any]) -> Plan:
    """The plan in a JSON object. Raises PlannerError that names what is missing or wrong."""
    try:
        if raw["schema"] != SCHEMA:
            raise PlannerError(f"The plan has schema {raw['schema']}, this version reads schema {SCHEMA}.")
        ((kind, value),) = raw["question"].items()
        if kind not in get_args(Kind):
            raise PlannerError(f"The plan asks for {kind!r}: this version knows {' and '.join(get_args(Kind))}.")
        flat = raw.get("flat")
        return Plan(
            Question(kind, float(value)),
            str(raw["fit"]),
            str(raw["law"]),
            str(raw["y"]),
            read_rule(raw["compute"]),
            {name: quantity.from_json(raw["allocation"][name]) for name in ("N", "D", "C", "loss")},
            {name: quantity.from_json(q) for name, q in raw.get("derived", {}).items()},
            raw["p_reach"],
            flat and Flat(flat["tolerance"], _span(flat["N"], True), _span(flat["D"], False)),
            tuple(FitWarning(w["code"], w["text"]) for w in raw["warnings"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PlannerError(f"This is not a plan that Isoplan wrote: {error!r} while reading it.") from error


def _flat_json(flat: Flat | None) -> dict[str, Any] | None:
    if flat is None:
        return None
    ends = {name: [x if 0 < x < float("inf") else None for x in span] for name, span in (("N", flat.N), ("D", flat.D))}
    return {"tolerance": flat.tolerance, **ends}


def _span(raw: list[float | None], rising: bool) -> Interval:
    """Null ends of ``flat``: N runs from 0 to infinity, D from infinity to 0."""
    low, high = (0.0, float("inf")) if rising else (float("inf"), 0.0)
    return (low if raw[0] is None else float(raw[0]), high if raw[1] is None else float(raw[1]))
