"""Plans as documents, and their conversion to and from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isoplan.engine.costs import read_rule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import FitWarning, Interval
from isoplan.engine.planning.answer import quantity
from isoplan.engine.planning.answer.document import Document, Line, warned
from isoplan.engine.planning.answer.script import call, literal, reading, script
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.parts import Flat, read_line, read_restated, read_worth
from isoplan.engine.planning.plan.solve import KINDS, Question
from isoplan.engine.planning.plan.support import read_support
from isoplan.engine.planning.plan.target_probability import VERDICTS, Reachability
from isoplan.engine.planning.plan.text import LABELS, beside, flatness
from isoplan.engine.planning.scenario.limits import Limits, named, read_limits
from isoplan.engine.planning.scenario.prices_json import prices_json, read_prices

SCHEMA = 1
HOMES = {
    "as_text": "isoplan.engine.planning",
    "plan_budget": "isoplan.engine.planning",
    "plan_target": "isoplan.engine.planning",
    "through": "isoplan.engine.planning.plan.metric",
}


def document(plan: Plan, fit: str = "fit.json", *, group: str = "", maps: tuple[str, ...] = ()) -> Document:
    """Return ``plan`` as a document whose script reads the file ``fit`` (the output of ``isoplan fit --json``).

    ``group`` is the planned group of that file. ``maps`` are the files of the fits that map to its metrics, in their
    given order.
    """
    notes = (*flatness(plan), *beside(plan), *warned(plan.warnings))
    return Document(plan.sentence, _lines(plan), notes, to_json(plan), _script(plan, fit, group, maps))


def _lines(plan: Plan) -> tuple[Line, ...]:
    """Return all numbers of ``plan`` with their names; empty if the runs support no answer.

    These are the allocation, derived numbers, the bill, the worth of limits, and the cost by a second rule.
    """
    if not plan.answers:
        return ()
    names = {**LABELS, "loss": plan.y}
    found: list[Line] = [(names.get(name, name), q) for name, q in {**plan.allocation, **plan.derived}.items()]
    found += [(line.row.quantity, line.amount) for line in plan.bill]
    for worth in plan.worth:
        limit = named(worth.limit, worth.most, plan.prices)
        found.append((f"Ten per cent more than {limit} gains", worth.ten))
    if plan.restated is not None:
        found.append((f"Compute by {plan.restated.rule.text}", plan.restated.C))
    return tuple(found)


def _script(plan: Plan, fit: str, group: str, maps: tuple[str, ...]) -> str:
    asked = plan.question
    given = ["fit", repr(asked.value), f"read_rule({literal(plan.compute.to_json())})"]
    if asked.limits.given:
        given.append(f"limits={limits_literal(asked.limits)}")
    if plan.prices is not None:
        given.append(f"prices=read_prices({literal(prices_json(plan.prices))})")
    if plan.restated is not None:
        given.append(f"other=read_rule({literal(plan.restated.rule.to_json())})")
    if maps:
        through = [f"through(fit, {reading(name)})" for name in maps]
        given.append(f"map={through[0]}" if asked.kind == "target" else f"maps=({', '.join(through)},)")
    function = "plan_budget" if asked.kind == "budget" else "plan_target"
    body = [f"fit = {reading(fit, group)}", *call("plan", function, given), "print(as_text(plan))"]
    return script(plan.sentence, body, HOMES)


def limits_literal(limits: Limits) -> str:
    """Return limits as Python."""
    return f"Limits({', '.join(f'{name}={most!r}' for name, most in limits.given.items())})"


def to_json(plan: Plan) -> dict[str, Any]:
    """Return the object that ``plan --json`` prints.

    Parts that were not requested are left out, so that hashes of plans do not change. A plan that the runs do not
    support has no numbers in it.
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
    """Read a plan from a JSON object. Raises PlannerError that names what is missing or wrong."""
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
    """Return whether the target can be reached; None for a plan of an older version, which has only a probability."""
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
    """Read an interval of ``flat`` and replace its null ends: N goes from 0 to infinity, D from infinity to 0."""
    low, high = (0.0, float("inf")) if rising else (float("inf"), 0.0)
    return (low if raw[0] is None else float(raw[0]), high if raw[1] is None else float(raw[1]))
