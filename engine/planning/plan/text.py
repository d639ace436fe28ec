"""Plans as text: tables of their numbers, and sentences about their costs, limits and flatness."""

from __future__ import annotations

import math

from isoplan.engine.fitting.types.warnings import by_level
from isoplan.engine.planning.answer.format import Row, as_row, between, number, table, with_interval
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.parts import Worth
from isoplan.engine.planning.scenario.limits import named
from isoplan.engine.quantities import duration

LABELS = {
    "N": "Model size N",
    "D": "Training samples D",
    "C": "Compute C",
    "D/N": "Samples per parameter D/N",
    "epochs": "Passes over the largest U of the runs",
    "U": "Unique samples U",
    "passes": "Epochs over the unique samples",
    "time": "Training time on the machine of the runs",
}


def rows(plan: Plan) -> tuple[Row, ...]:
    """Return the table of a plan: the allocation, then the derived numbers; empty if the runs support no answer."""
    if not plan.answers:
        return ()
    names = {**LABELS, "loss": plan.y}
    return tuple(as_row(names.get(name, name), q) for name, q in {**plan.allocation, **plan.derived}.items())


def bill_rows(plan: Plan) -> tuple[Row, ...]:
    """Return the table of the costs of a plan; empty without prices or an answer."""
    return tuple(line.row for line in plan.bill) if plan.answers else ()


def summary(plan: Plan) -> str:
    """Return the time, money, energy and CO2 of a plan in words; empty without an answer and if none is known."""
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
    costs = f"It {', '.join(takes[:-1])} and {takes[-1]}." if len(takes) > 1 else f"It {takes[0]}." if takes else ""
    missing = amounts.get(("training", "time"))
    why = f"Its time on {_machine(plan)} is {missing.note}." if missing and missing.value is None else ""
    return " ".join(filter(None, (costs, why)))


def _times(plan: Plan, hours: Quantity | None) -> list[str]:
    """Return how long the plan trains, on the machine of its prices and on the machine of the runs."""
    priced = [f"{duration(3600 * hours.value)} on {_machine(plan)}"] if hours and hours.value is not None else []
    own = plan.derived.get("time")
    return [*priced, f"{with_interval(own)} on the machine of the runs"] if own and own.value is not None else priced


def _machine(plan: Plan) -> str:
    return f"{plan.prices.machine.devices} x {plan.prices.machine.device.name}" if plan.prices is not None else ""


def as_text(plan: Plan) -> str:
    """Return the plan for a terminal: sentence, tables, the lines below them, and warnings."""
    notes = [f"\n{w.line}" for w in by_level(plan.warnings)]
    lines = (*rows(plan), *bill_rows(plan))
    body = [*table(lines), ""] if lines else []
    return "\n".join([plan.sentence, "", *body, *flatness(plan), *beside(plan), *notes])


def beside(plan: Plan) -> list[str]:
    """Return the lines below the table: limits, machine, compute rule, and the plan by a second rule."""
    machine = [f"Machine: {plan.prices.machine.text}."] if plan.prices is not None else []
    other = [plan.restated.sentence] if plan.restated is not None and plan.answers else []
    worth = [worth_sentence(plan, w) for w in plan.worth] if plan.answers else []
    return [*worth, *machine, f"Compute rule: {plan.compute.text}.", *other]


def worth_sentence(plan: Plan, worth: Worth) -> str:
    """Return a sentence on one limit: whether it is active, and the gain of ten per cent more of it."""
    limit = named(worth.limit, worth.most, plan.prices)
    if not worth.binds:
        return f"The limit of {limit} is not reached: the plan uses {100 * worth.used / worth.most:.2g} % of it."
    if not worth.ten.value:
        return (
            f"The limit of {limit} is reached, but increasing it alone has no effect: another limit is reached with it."
        )
    spread = f" (68 %: {between(worth.ten, worth.ten.ci68)})" if worth.ten.ci68 else ""
    if plan.question.kind == "target":
        all_of_it = worth.ten.unit == "FLOPs" or (plan.prices is not None and plan.prices.aim.weighs)
        of = "" if all_of_it else " of training"
        gain = f"saves {number(worth.ten)} {worth.ten.unit}{of}{spread}"
    else:
        gain = f"improves {plan.y} by {number(worth.ten)}{spread}"
    kink = "; another limit is reached at the same point, so a decrease has another rate" if worth.one_sided else ""
    return f"The limit of {limit} is reached: ten per cent more {gain}{kink}."


def flatness(plan: Plan) -> list[str]:
    """Return the range of N around the optimum as a sentence; empty if it is not known or is infinite."""
    if plan.flat is None or not plan.answers or not all(0 < x < math.inf for x in (*plan.flat.N, *plan.flat.D)):
        return []
    N, D, flat = plan.allocation["N"], plan.allocation["D"], plan.flat
    ends = []
    for n, d, spread in zip(flat.N, flat.D, (flat.low, flat.high), strict=True):
        end = Quantity(n, spread, unit=N.unit)
        around = f" (68 %: {between(end, spread)})" if spread else ""
        ends.append(f"N = {number(end)}{around} on {number(D, d, 2)} {D.unit}")
    return [f"Within {100 * flat.tolerance:g} % of the best {plan.y} from {ends[0]} to {ends[1]}."]
