"""Plans as text, tables and documents, and their conversion to and from JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from isoplan.engine.costs import read_rule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import FitWarning, Interval
from isoplan.engine.fitting.types.warnings import by_level
from isoplan.engine.hardware.machine import HOUR
from isoplan.engine.planning.answer import quantity
from isoplan.engine.planning.answer.document import Document, Line, warned
from isoplan.engine.planning.answer.format import Row, as_row, between, number, table, with_interval
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.answer.script import call, literal, reading, script
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.parts import (
    VERDICTS,
    Flat,
    Reachability,
    Worth,
    read_line,
    read_restated,
    read_saving,
    read_worth,
)
from isoplan.engine.planning.plan.reliability import reliability
from isoplan.engine.planning.plan.support import read_support
from isoplan.engine.planning.scenario.limits import KINDS, Limits, Question, named, read_limits
from isoplan.engine.planning.scenario.prices_json import prices_json, read_prices
from isoplan.engine.quantities import duration

LABELS = {
    "N": "Model size N",
    "D": "Training samples D",
    "C": "Compute C",
    "D/N": "Samples per parameter D/N",
    "epochs": "Epochs over the largest U of the runs",
    "U": "Unique samples U",
    "passes": "Epochs over the unique samples",
    "time": "Training time on the machine of the runs",
}


def rows(plan: Plan) -> tuple[Row, ...]:
    """Return the table of a plan: the allocation, then the derived numbers.

    The table is empty if the runs do not support the plan.
    """
    return tuple(as_row(label, q) for label, q in _numbers(plan))


def _numbers(plan: Plan) -> list[tuple[str, Quantity]]:
    """Return the label and the quantity of each number in the allocation and among the derived numbers.

    The list is empty if the runs do not support the plan.
    """
    names = {**LABELS, "loss": plan.y}
    numbers = {**plan.allocation, **plan.derived} if plan.answers else {}
    return [(names.get(name, name), q) for name, q in numbers.items()]


KEY_ROWS = 6
"""Maximum number of rows of the short table of a plan."""


def key_rows(plan: Plan) -> tuple[Row, ...]:
    """Return the most important numbers of a plan as at most six table rows; empty if the runs do not support it.

    The order is: metrics, loss, N, D, C, total money, training time, unique samples.
    """
    if not plan.answers:
        return ()
    metrics = {name: q for name, q in plan.derived.items() if name not in LABELS}
    bill = {(line.part, line.what): line.amount for line in plan.bill}
    names = (
        ("Total cost", bill.get(("total", "money"))),
        ("Training time", _time(plan, bill.get(("training", "time")))),
    )
    more = {name: q for name, q in names if q is not None and q.value is not None}
    more |= {LABELS[name]: plan.derived[name] for name in ("U", "passes") if name in plan.derived}
    sizes = {LABELS[name]: plan.allocation[name] for name in ("N", "D", "C")}
    numbers = {**metrics, plan.y: plan.allocation["loss"], **sizes, **more}
    return tuple(as_row(label, q) for label, q in list(numbers.items())[:KEY_ROWS])


def _time(plan: Plan, hours: Quantity | None) -> Quantity | None:
    """Return the training time in seconds: on the machine that trained the runs if known, otherwise from the bill."""
    if (own := plan.derived.get("time")) is not None:
        return own
    if hours is None or hours.value is None:
        return None
    ci68, ci95 = ((ci[0] * HOUR, ci[1] * HOUR) if ci else None for ci in (hours.ci68, hours.ci95))
    return Quantity(hours.value * HOUR, ci68, ci95, "s", note=hours.note)


def bill_rows(plan: Plan) -> tuple[Row, ...]:
    """Return the bill of a plan as table rows.

    There are no rows if the plan has no prices or the runs do not support the plan. The total is omitted if only one
    part of the plan costs money.
    """
    priced = [line for line in plan.bill if line.what == "money" and line.part != "total"]
    one = len(priced) == 1
    return tuple(x.row for x in plan.bill if not (one and x.part == "total")) if plan.answers else ()


def summary(plan: Plan) -> str:
    """Return a sentence with the training time, the total money, energy, CO2 and storage of a plan.

    The sentence is empty if the runs do not support the plan or if none of these amounts is known.
    """
    if not plan.answers or plan.allocation["C"].value is None:
        return ""
    amounts = {(line.part, line.what): line.amount for line in plan.bill}
    known = {name: amount for name, amount in amounts.items() if amount.value is not None}
    takes = [f"trains for {' or '.join(times)}"] if (times := _times(plan, known.get(("training", "time")))) else []
    if money := known.get(("total", "money")):
        takes.append(f"costs {with_interval(money)}")
    energy, emitted = known.get(("training", "energy")), known.get(("training", "CO2"))
    if energy:
        takes.append(f"draws {number(energy)} kWh" + (f" ({number(emitted)} kg CO2)" if emitted else ""))
    if storage := known.get(("simulation", "storage")):
        takes.append(f"stores {number(storage)} GB")
    return f"It {', '.join(takes[:-1])} and {takes[-1]}." if len(takes) > 1 else f"It {takes[0]}." if takes else ""


def unknown_time(plan: Plan) -> str:
    """Return a sentence that states why the training time on the machine is not known.

    If the machine has a price, the sentence also mentions the money, which depends on the time. The sentence is empty
    if the time is known, if no machine is given, or if the runs do not support the plan.
    """
    if not plan.answers or plan.allocation["C"].value is None:
        return ""
    hours = next((one.amount for one in plan.bill if (one.part, one.what) == ("training", "time")), None)
    if hours is None or hours.value is not None:
        return ""
    what = "Time and money" if plan.prices is not None and plan.prices.machine.price is not None else "The time"
    return f"{what} on {_machine(plan)} {'are' if what != 'The time' else 'is'} {hours.note}."


def _times(plan: Plan, hours: Quantity | None) -> list[str]:
    """Return the training time of the plan as phrases.

    One phrase is for the machine in the prices of the plan, one for the machine that trained the runs.
    """
    priced = [f"{duration(3600 * hours.value)} on {_machine(plan)}"] if hours and hours.value is not None else []
    own = plan.derived.get("time")
    return [*priced, f"{with_interval(own)} on the machine of the runs"] if own and own.value is not None else priced


def _machine(plan: Plan) -> str:
    return f"{plan.prices.machine.devices} x {plan.prices.machine.device.name}" if plan.prices is not None else ""


def as_text(plan: Plan) -> str:
    """Return the text of the plan for a terminal: its sentence, its table, its remarks, and its warnings."""
    notes = [f"\n{w.line}" for w in by_level(plan.warnings)]
    lines = (*rows(plan), *bill_rows(plan))
    body = [*table(lines), ""] if lines else []
    sure = [f"Reliability: {reliability(plan)}."] if plan.answers and not plan.fails else []
    return "\n".join([plan.sentence, "", *body, *sure, *flatness(plan), *beside(plan), *notes])


def beside(plan: Plan) -> list[str]:
    """Return the remarks to show below the table of a plan: limits, stated plan, machine, compute rule, second rule."""
    machine = [f"Machine: {plan.prices.machine.text}."] if plan.prices is not None else []
    other = [plan.restated.sentence] if plan.restated is not None and plan.answers else []
    worth = [worth_sentence(plan, w) for w in plan.worth] if plan.answers else []
    ours = [f"Compared with your plan: {plan.saving.sentence}"] if plan.saving is not None else []
    return [*worth, *ours, *machine, f"Compute rule: {plan.compute.text}.", *other]


def worth_sentence(plan: Plan, worth: Worth) -> str:
    """Return a sentence that states whether a limit is reached and what raising this limit by ten per cent gains."""
    limit = named(worth.limit, worth.most, plan.prices)
    if not worth.binds:
        return f"The limit of {limit} is not reached: the plan uses {100 * worth.used / worth.most:.2g} % of it."
    if not worth.ten.value:
        return (
            f"The limit of {limit} is reached, but increasing it alone has no effect: another limit is reached at the "
            "same point."
        )
    spread = f" (68 %: {between(worth.ten, worth.ten.ci68)})" if worth.ten.ci68 else ""
    if plan.question.kind == "target":
        all_of_it = worth.ten.unit == "FLOPs" or (plan.prices is not None and plan.prices.aim.weighs)
        of = "" if all_of_it else " of training"
        gain = f"saves {number(worth.ten)} {worth.ten.unit}{of}{spread}"
    else:
        gain = f"improves {plan.y} by {number(worth.ten)}{spread}"
    kink = (
        "; lowering this limit has a different effect per unit, because another limit is reached at the same point"
        if worth.one_sided
        else ""
    )
    return f"The limit of {limit} is reached: ten per cent more {gain}{kink}."


def flatness(plan: Plan) -> list[str]:
    """Return a list with one sentence on the range of N and D in which the loss is close to the best.

    The list is empty if the range is not known or is infinite on one side.
    """
    if plan.flat is None or not plan.answers or not all(0 < x < math.inf for x in (*plan.flat.N, *plan.flat.D)):
        return []
    N, D, flat = plan.allocation["N"], plan.allocation["D"], plan.flat
    ends = []
    for n, d, spread in zip(flat.N, flat.D, (flat.low, flat.high), strict=True):
        end = Quantity(n, spread, unit=N.unit)
        around = f" (68 %: {between(end, spread)})" if spread else ""
        ends.append(f"N = {number(end)}{around} on {number(D, d, 2)} {D.unit}")
    return [f"The {plan.y} is within {100 * flat.tolerance:g} % of the best {plan.y} from {ends[0]} to {ends[1]}."]


SCHEMA = 1
HOMES = {
    "as_text": "isoplan.engine.planning",
    "plan_budget": "isoplan.engine.planning",
    "plan_target": "isoplan.engine.planning",
    "through": "isoplan.engine.planning.plan.metric",
}


def as_document(plan: Plan, fit: str = "", *, group: str = "", maps: tuple[str, ...] = ()) -> Document:
    """Return ``plan`` as a document. Its script reads the file ``fit``, which ``isoplan fit --json`` wrote.

    If this file contains several groups of runs, ``group`` is the name of the group from which the plan was made.
    ``maps`` are the files of the fits that predict metrics, in the order of the metrics. The default name of a file is
    ``fit-HASH.json``.
    """
    fit, maps = fit or f"fit-{plan.fit}.json", maps or tuple(f"fit-{one}.json" for one in plan.maps)
    notes = (*flatness(plan), *beside(plan), *warned(plan.warnings))
    return Document(plan.sentence, _lines(plan), notes, to_json(plan), _script(plan, fit, group, maps))


def _lines(plan: Plan) -> tuple[Line, ...]:
    """Return the label and value of every number of ``plan``; empty if the runs do not support the plan.

    The numbers are the allocation, the derived numbers, the bill, the gains from larger limits, and the cost by a
    second compute rule.
    """
    if not plan.answers:
        return ()
    found: list[Line] = [*_numbers(plan)]
    found += [(line.row.quantity, line.amount) for line in plan.bill]
    for worth in plan.worth:
        limit = named(worth.limit, worth.most, plan.prices)
        found.append((f"Gain from ten per cent more than {limit}", worth.ten))
    if plan.restated is not None:
        found.append((f"Compute by {plan.restated.rule.text}", plan.restated.C))
    if plan.saving is not None:
        found += [(f"Your plan, {LABELS.get(name, plan.y)}", q) for name, q in plan.saving.stated.items()]
        saved = {"Compute": plan.saving.flops, "Share": plan.saving.percent, "Money": plan.saving.money}
        found += [(f"{name} saved, compared with your plan", q) for name, q in saved.items() if q is not None]
    return tuple(found)


def _script(plan: Plan, fit: str, group: str, maps: tuple[str, ...]) -> str:
    asked = plan.question
    given = ["fit", repr(asked.value), f"read_rule({literal(plan.compute.to_json())})"]
    if asked.limits.given:
        given.append(f"limits={limits_literal(asked.limits)}")
    if asked.money is not None:
        given.append(f"money={asked.money!r}")
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
    """Return Python source text that creates ``limits``, such as "Limits(unique=2000000.0)"."""
    return f"Limits({', '.join(f'{name}={most!r}' for name, most in limits.given.items())})"


def to_json(plan: Plan) -> dict[str, Any]:
    """Return the JSON object of a plan, as ``plan --json`` prints it.

    Fields that were not requested are omitted, because a new empty field would change the hashes of older plans. The
    object has no numbers if the runs do not support the plan.
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
        "saving": plan.saving.to_json() if plan.saving else None,
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
    """Read a plan from a JSON object. Raises PlannerError, which names the missing or wrong part."""
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
            read_saving(raw["saving"], str(raw["y"])) if raw.get("saving") else None,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PlannerError(f"This is not a plan that Isoplan wrote: {error!r} while reading it.") from error


def _reach(raw: Mapping[str, Any] | None, p: float | None) -> Reachability | None:
    """Read from JSON whether a target can be reached; ``p`` is the probability that it can.

    The result is None if ``raw`` is None: an older version of Isoplan saved only the probability.
    """
    if raw is None:
        return None
    verdict = next((one for one in VERDICTS if one == raw["verdict"]), None)
    if verdict is None:
        raise ValueError(f"verdict {raw['verdict']!r}")
    return Reachability(verdict, None if p is None else float(p), str(raw["text"]))


def _question(raw: Mapping[str, Any]) -> Question:
    asked = dict(raw)
    limits, metric, money = read_limits(asked.pop("limits", {})), str(asked.pop("metric", "")), asked.pop("money", None)
    ((kind, value),) = asked.items()
    known = next((name for name in KINDS if name == kind), None)
    if known is None:
        raise PlannerError(f"The plan asks for {kind!r}: this version supports only {' and '.join(KINDS)}.")
    return Question(known, float(value), limits, metric, None if money is None else float(money))


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
    """Read an interval of ``flat`` from JSON and replace null by 0 or infinity.

    N rises along the flat range (``rising``), so null means 0 at its first end and infinity at its second end. D falls,
    so null means the opposite.
    """
    low, high = (0.0, float("inf")) if rising else (float("inf"), 0.0)
    return (low if raw[0] is None else float(raw[0]), high if raw[1] is None else float(raw[1]))
