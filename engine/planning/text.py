"""Plans in words: quantities rounded as their intervals deserve, a sentence, and rows for tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from engine.fitting.result import Interval
from engine.fitting.text import ends_in_words
from engine.fitting.warning import by_level
from engine.planning.limits import named
from engine.planning.quantity import Quantity
from engine.planning.support import MARKED, farthest
from engine.quantities import count, digits, duration, flops, power10, to_places

if TYPE_CHECKING:
    from engine.planning.parts import Worth
    from engine.planning.plan import Plan
    from engine.planning.support import Support

COUNTED = ("parameters", "tokens", "jets", "events", "points", "samples", "negatives", "sequences")
MONEY = ("EUR", "USD")
MILLION = 1e6
"""From here on money is said in millions, 1.4 M EUR; below it is grouped, 402,000 EUR."""
SECONDS = "s"
"""The unit of a time that is shown in the unit that suits it: 4.2 min."""
UNREACHABLE = "not reachable"
FAR_END = 10.0
"""Smallest ratio of an interval's end to the value at which the end has two significant digits of its own."""
SURE = 0.999
"""A finite number of resamples gives no larger probability than this."""
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


@dataclass(frozen=True)
class Row:
    """A line of a plan's table, every field ready to show."""

    quantity: str
    value: str
    unit: str
    ci68: str
    ci95: str
    beyond: str
    note: str


def rows(plan: Plan) -> tuple[Row, ...]:
    """The table of a plan: allocation first, then what is derived from it; empty where the runs support no answer."""
    if not plan.answers:
        return ()
    names = {**LABELS, "loss": plan.y}
    return tuple(as_row(names.get(name, name), q) for name, q in {**plan.allocation, **plan.derived}.items())


def bill_rows(plan: Plan) -> tuple[Row, ...]:
    """The table of what a plan costs; empty without prices or an answer."""
    return tuple(line.row for line in plan.bill) if plan.answers else ()


def summary(plan: Plan) -> str:
    """What the plan takes in time, money, energy and CO2, in words; empty without an answer and where none is known."""
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
    said = f"It {', '.join(takes[:-1])} and {takes[-1]}." if len(takes) > 1 else f"It {takes[0]}." if takes else ""
    missing = amounts.get(("training", "time"))
    why = f"Its time on {_machine(plan)} is {missing.note}." if missing and missing.value is None else ""
    return " ".join(filter(None, (said, why)))


def _times(plan: Plan, hours: Quantity | None) -> list[str]:
    """How long the plan trains: on the machine of its prices, and on that of the runs."""
    priced = [f"{duration(3600 * hours.value)} on {_machine(plan)}"] if hours and hours.value is not None else []
    own = plan.derived.get("time")
    return [*priced, f"{with_interval(own)} on the machine of the runs"] if own and own.value is not None else priced


def _machine(plan: Plan) -> str:
    return f"{plan.prices.machine.devices} x {plan.prices.machine.device.name}" if plan.prices is not None else ""


def as_text(plan: Plan) -> str:
    """The plan for a terminal: sentence, table, and what must be known beside them."""
    notes = [f"\n{w.line}" for w in by_level(plan.warnings)]
    lines = (*rows(plan), *bill_rows(plan))
    body = [*table(lines), ""] if lines else []
    return "\n".join([plan.sentence, "", *body, *flatness(plan), *beside(plan), *notes])


def table(body: Iterable[Row]) -> list[str]:
    """Rows as the lines of a table for a terminal."""
    head = ("", "value", "68 %", "95 %", "beyond the runs", "")
    cells = [head, *((r.quantity, f"{r.value} {r.unit}".strip(), r.ci68, r.ci95, r.beyond, r.note) for r in body)]
    return aligned(cells)


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Lines of cells, each column as wide as its widest cell."""
    width = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(cell.ljust(w) for cell, w in zip(line, width, strict=True)).rstrip() for line in lines]


def beside(plan: Plan) -> list[str]:
    """What stands below the table: the limits, the machine, the compute rule, and the plan by a second rule."""
    machine = [f"Machine: {plan.prices.machine.text}."] if plan.prices is not None else []
    other = [plan.restated.sentence] if plan.restated is not None and plan.answers else []
    worth = [worth_sentence(plan, w) for w in plan.worth] if plan.answers else []
    return [*worth, *machine, f"Compute rule: {plan.compute.text}.", *other]


def worth_sentence(plan: Plan, worth: Worth) -> str:
    """One limit in words: whether it binds, and what ten per cent more of it buys."""
    limit = named(worth.limit, worth.most, plan.prices)
    if not worth.binds:
        return f"The limit of {limit} is slack: the plan uses {100 * worth.used / worth.most:.2g} % of it."
    if not worth.ten.value:
        return f"The limit of {limit} binds, but more of it alone buys nothing: another limit binds with it."
    spread = f" (68 %: {between(worth.ten, worth.ten.ci68)})" if worth.ten.ci68 else ""
    if plan.question.kind == "target":
        all_of_it = worth.ten.unit == "FLOPs" or (plan.prices is not None and plan.prices.aim.weighs)
        of = "" if all_of_it else " of training"
        gain = f"saves {number(worth.ten)} {worth.ten.unit}{of}{spread}"
    else:
        gain = f"improves {plan.y} by {number(worth.ten)}{spread}"
    kink = "; another limit begins to bind right there, so less of it costs at another rate" if worth.one_sided else ""
    return f"The limit of {limit} binds: ten per cent more {gain}{kink}."


def flatness(plan: Plan) -> list[str]:
    """How far N may leave the optimum, as a sentence; empty where the plan does not say or the curve never ends."""
    if plan.flat is None or not plan.answers or not all(0 < x < math.inf for x in (*plan.flat.N, *plan.flat.D)):
        return []
    N, D, flat = plan.allocation["N"], plan.allocation["D"], plan.flat
    ends = []
    for n, d, spread in zip(flat.N, flat.D, (flat.low, flat.high), strict=True):
        end = Quantity(n, spread, unit=N.unit)
        around = f" (68 %: {between(end, spread)})" if spread else ""
        ends.append(f"N = {number(end)}{around} on {number(D, d, 2)} {D.unit}")
    return [f"Within {100 * flat.tolerance:g} % of the best {plan.y} from {ends[0]} to {ends[1]}."]


def number(q: Quantity, x: float | None = None, keep: int | None = None) -> str:
    """The value of ``q`` (or ``x``, in its style): 1.9 B counted things, 10²⁰ FLOPs, 1.4 M EUR, else as deserved."""
    x = q.value if x is None else x
    if x is None:
        return "none"
    if math.isinf(x):
        return "∞" if x > 0 else "-∞"
    if x == 0:
        return "0"
    keep = keep or significant(q)
    if q.unit in COUNTED:
        known = q.ci68 is not None and q.ci68[0] < q.ci68[1]
        return count(float(f"{x:.{keep - 1}e}") if known else x, keep)  # a whole 953 beside 950 would stand outside
    if q.unit == "FLOPs":
        return power10(x, keep)
    if q.unit == SECONDS:
        return duration(x)
    spread = q.ci68 if q.ci68 and q.ci68[0] < q.ci68[1] else None
    places = digits(x if q.value is None or spread is None else q.value, spread)
    if q.value is not None and abs(x) >= FAR_END * abs(q.value) > 0:
        places = min(places, 1 - math.floor(math.log10(abs(x))))
    if round(x, places) == 0:  # an end far below its value keeps its own digits: 163 beside 49,000 is not 0
        places = digits(x, None)
    if q.unit in MONEY and abs(round(x, places)) >= MILLION:
        return count(x, keep)
    return to_places(x, places)


def decades(x: float) -> str:
    """A distance on a log axis: 0.13 decades, 1 decade, 160 decades."""
    shown = f"{x:.0f}" if x >= 9.95 else f"{x:.2g}"
    return f"{shown} decade" if shown == "1" else f"{shown} decades"


def between(q: Quantity, ends: Interval | None) -> str:
    """An interval of ``q``: "1.7 B to 2.1 B", "at least 1.7 B" where it has no upper end."""
    return "" if ends is None else span(ends, partial(number, q))


def span(ends: Interval, show: Callable[[float], str]) -> str:
    """An interval in words, each of its ends as ``show`` prints it."""
    return UNREACHABLE if ends[0] == math.inf else ends_in_words(ends, show)


def with_interval(q: Quantity) -> str:
    """A value with its unit and 68 % interval: "1.9 B parameters (68 %: 1.7 B to 2.1 B)".

    An interval whose ends are shown as the value itself, such as that of a number at its limit, is left out.
    """
    known = q.ci68 is not None and q.note != "given" and any(number(q, end) != number(q) for end in q.ci68)
    spread = f" (68 %: {between(q, q.ci68)})" if known else ""
    return f"{number(q)} {shown_unit(q)}".rstrip() + spread


def shown_unit(q: Quantity) -> str:
    """The unit to write behind the number; empty for a time, which is shown with its own."""
    return "" if q.unit == SECONDS else q.unit


def sentence(plan: Plan) -> str:
    """The answer in one sentence; where the runs do not support one, what they support."""
    if not plan.answers:
        return unsupported(plan)
    return _budget_sentence(plan) if plan.question.kind == "budget" else _target_sentence(plan)


def unsupported(plan: Plan) -> str:
    """What the runs support, and which cells would support the plan, where it lies too far beyond them."""
    name, far = farthest(plan.placed)
    asked = plan.question
    what = f"{flops(asked.value)}" if asked.kind == "budget" else f"{asked.metric or plan.y} {asked.value:g}"
    where = f"{decades(far)} beyond them in {plan.y if name == 'loss' else name}"
    away = f"A plan for {what} lies {where}."
    if plan.fails:
        away = f"{_not_reached(plan, what)} The refits that do reach it lie {where}, or farther."
    if plan.support is None:
        return f"The runs do not support this plan. {away}"
    chance = reach_text(plan) if asked.kind == "target" else ""
    return in_place(plan.support, {name: q.unit for name, q in plan.allocation.items()}, away, chance)


def in_place(support: Support, units: Mapping[str, str], *away: str) -> str:
    """What stands in place of an answer: the plans that the runs support, how far ``away`` it is, which cells help.

    ``units`` are those of N, D and C.
    """
    said = [_range(support, units), *away, _cells(support, units)]
    return " ".join(part for part in said if part)


def _range(support: Support, units: Mapping[str, str]) -> str:
    if support.low is None or support.high is None:
        return "The runs support no plan of this law."
    low, high = (power10(x, 1) for x in (support.low, support.high))
    return f"These runs support plans from {support.axis} = {low} to {high} {units[support.axis]}."


def _cells(support: Support, units: Mapping[str, str]) -> str:
    sizes = [f"{count(support.cells[x])} {units[x]}" for x in ("N", "D") if x in support.cells]
    compute = f"{power10(support.cells['C'], 2)} FLOPs" if "C" in support.cells else ""
    what = " on ".join(sizes) + (f" ({compute})" if sizes and compute else compute)
    return f"Train cells near {what} first." if what else ""


def extrapolation(placed: Mapping[str, Quantity], y: str = "loss") -> str:
    """What the sentence of an answer says of a distance beyond the runs; empty up to one decade."""
    name, far = farthest(placed)
    return f", extrapolated {decades(far)} in {y if name == 'loss' else name}" if far > MARKED else ""


def _budget_sentence(plan: Plan) -> str:
    N, D, C, loss = (plan.allocation[name] for name in ("N", "D", "C", "loss"))
    spread = f" (68 %: {between(loss, loss.ci68)})" if loss.ci68 else ""
    expected, far = f"{plan.y} {number(loss)}{spread}", extrapolation(plan.placed, plan.y)
    if N.value is None or D.value is None:
        return f"With {number(C)} FLOPs expect {expected}{far}."
    train = f"{with_interval(N)} on {with_interval(D)}{_seen(plan)}"
    return f"With {number(C)} FLOPs train {train}; expected {expected}{far}."


def _target_sentence(plan: Plan) -> str:
    asked, loss = plan.question, plan.allocation["loss"]
    needs = f" ({plan.y} {number(loss)})" if asked.metric and loss.value is not None else ""
    target = f"{asked.metric or plan.y} {asked.value:g}{needs}"
    chance = f" {said}" if (said := reach_text(plan)) else ""
    sizes = [plan.allocation[name] for name in ("N", "D") if plan.allocation[name].value is not None]
    C, total, far = plan.allocation["C"], _least_money(plan), extrapolation(plan.placed, plan.y)
    if total is not None:
        use = " on ".join(map(with_interval, sizes))
        return f"To reach {target} spend least money: {with_interval(total)} for {use}{_seen(plan)}{far}.{chance}"
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
    """Whether the target can be reached, as a sentence; empty where that is certain or not known."""
    if plan.reach is None:  # a plan of an older version
        p = plan.p_reach
        return "" if p in (None, 1.0) else f"The floor allows it with probability {probability(p)}."
    return "" if (plan.p_reach or 0.0) > SURE else plan.reach.text


def _seen(plan: Plan) -> str:
    """How many of the samples are unique, where the plan chose that."""
    U, passes = plan.derived.get("U"), plan.derived.get("passes")
    return "" if U is None or passes is None else f", {number(U)} of them unique and seen {number(passes)} times"


def _least_money(plan: Plan) -> Quantity | None:
    """The total of a plan that spends least money; None for one that spends least compute."""
    if plan.prices is None or not plan.prices.aim.weighs:
        return None
    known = (line.amount for line in plan.bill if (line.part, line.what) == ("total", "money"))
    return next((total for total in known if total.value is not None), None)


def probability(p: float | None) -> str:
    """A probability; never a certainty, nor more digits of one, than a finite number of resamples can give."""
    p = p or 0.0
    if p > SURE:
        return f"above {100 * SURE:g} %"
    return f"below {100 * (1 - SURE):.1g} %" if p < 1 - SURE else f"{100 * p:.3g} %"


def as_row(label: str, q: Quantity) -> Row:
    """A quantity as a line of a table."""
    missing = "-" if q.ci68 is None else UNREACHABLE
    return Row(
        label,
        number(q) if q.value is not None else missing,
        shown_unit(q) if q.value is not None and q.unit != label else "",
        "" if q.note == "given" else between(q, q.ci68),
        "" if q.note == "given" else between(q, q.ci95),
        decades(q.beyond) if q.beyond > 0.005 else "",
        q.note,
    )


def significant(q: Quantity) -> int:
    """Significant digits that the value and its 68 % interval deserve: two to four."""
    if q.value is None or not q.ci68 or q.ci68[0] >= q.ci68[1] or not q.value:
        return 3 if q.note == "given" or not q.ci68 else 2
    return min(max(digits(q.value, q.ci68) + math.floor(math.log10(abs(q.value))) + 1, 2), 4)
