"""A plan as a document."""

from __future__ import annotations

from isoplan.engine.planning.answer.document import Document, Line, warned
from isoplan.engine.planning.answer.script import call, literal, reading, script
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.as_json import to_json
from isoplan.engine.planning.plan.text import LABELS, beside, flatness
from isoplan.engine.planning.scenario.limits import Limits, named
from isoplan.engine.planning.scenario.prices_json import prices_json

HOMES = {
    "as_text": "isoplan.engine.planning",
    "plan_budget": "isoplan.engine.planning",
    "plan_target": "isoplan.engine.planning",
    "through": "isoplan.engine.planning.plan.metric",
}


def document(plan: Plan, fit: str = "fit.json", *, group: str = "", maps: tuple[str, ...] = ()) -> Document:
    """``plan`` as a document whose script reads the file ``fit`` (what ``isoplan fit --json`` printed).

    ``group`` is that of its groups which was planned for, ``maps`` the files of the fits that map to its metrics, in
    the order in which they were given.
    """
    notes = (*flatness(plan), *beside(plan), *warned(plan.warnings))
    return Document(plan.sentence, _lines(plan), notes, to_json(plan), _script(plan, fit, group, maps))


def _lines(plan: Plan) -> tuple[Line, ...]:
    """Every number of ``plan`` under its name: allocation, what follows, bill, worth of limits, second rule.

    None where the runs support no answer.
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
    """Limits as Python."""
    return f"Limits({', '.join(f'{name}={most!r}' for name, most in limits.given.items())})"
