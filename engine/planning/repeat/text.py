"""Answer to "Simulate or repeat" as text, table rows and JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from isoplan.engine.arrays import finite
from isoplan.engine.fitting.types.result import Parameter
from isoplan.engine.fitting.types.warnings import by_level
from isoplan.engine.planning.answer import quantity
from isoplan.engine.planning.answer.format import Row, as_row, between, decades, number, table, with_interval
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.plan.support import ANSWERED, extrapolation, farthest, in_place
from isoplan.engine.quantities import count, rounded

if TYPE_CHECKING:
    from isoplan.engine.planning.repeat.answer import Regime, SimulateOrRepeat
    from isoplan.engine.planning.repeat.few_epochs import Between
    from isoplan.engine.planning.repeat.worth import Worth

LABELS = {
    "N": "Model size N",
    "unique": "Unique samples",
    "epochs": "Passes over the samples",
    "C": "Compute C",
    "simulation": "Simulation, money",
    "training": "Training, money",
    "total": "Total, money",
    "time": "Training time on the machine of the runs",
}
"""Labels of the numbers of a regime. The time can be missing."""
SHORT = {"total": "Simulation and training"}
"""Labels that the short table uses in place of those in ``LABELS``."""
COMPARED = {
    "omega": "omega: samples seen once / repeated samples, at the same loss and infinite N",
    "saving": "D / U: samples of the compute-optimal single pass / repeated samples",
    "break_even": "Break-even price of a sample",
    "break_even_passes": "Break-even price of a sample / cost of training on it once",
    "kappa": "kappa: compute of repeated training / compute of the single pass",
}
ALONE = {
    "N": "One pass: Model size N of a plan by the one-pass fit alone",
    "D": "One pass: Unique samples of a plan by the one-pass fit alone",
    "C": "One pass: Compute C of a plan by the one-pass fit alone",
}
"""Labels of the numbers in ``SimulateOrRepeat.alone``."""
PICTURED = ("price", "one_pass", "repeat", "one_pass_band", "repeat_band")
SCHEMA = 1


def lines(answer: SimulateOrRepeat) -> tuple[tuple[str, Quantity], ...]:
    """Return label and value of all numbers: first of both regimes, then the numbers that compare the regimes.

    The result is empty if the runs do not support the answer.
    """
    if not answer.answers:
        return ()
    found = [
        (f"{regime.name.capitalize()}: {LABELS[name]}", q)
        for regime in (answer.one_pass, answer.repeat)
        for name, q in _regime(regime).items()
    ]
    if answer.alone is not None:
        first = sum(label.startswith("One pass") for label, _ in found)
        found[first:first] = [(label, answer.alone[name]) for name, label in ALONE.items()]
    return (*found, *((label, getattr(answer, name)) for name, label in COMPARED.items()))


def rows(answer: SimulateOrRepeat, priced: bool = True) -> tuple[Row, ...]:
    """Return the rows of the table: first the numbers of both regimes, then those that compare the regimes.

    Rows with money are skipped if ``priced`` is False.
    """
    return tuple(as_row(label, q) for label, q in lines(answer) if priced or q.unit != answer.costs.currency)


def sentence(answer: SimulateOrRepeat) -> str:
    """Return the answer in one sentence for readers who do not know the laws.

    If the runs do not support the answer, the sentence describes which answers the runs support.
    """
    best = answer.cheaper
    if best is None:
        return unpriced(answer)
    other = answer.repeat if best is answer.one_pass else answer.one_pass
    if best.total.value is None:
        return f"The best fits do not reach {answer.y} {answer.target:g} in either regime."
    price = f"{answer.costs.sample:.3g} {answer.costs.currency} a sample"
    costs = (
        f"{with_interval(best.total)} against {with_interval(other.total)}"
        if other.total.value
        else with_interval(best.total)
    )
    enough = answer.costs.have >= (answer.one_pass.unique.value or math.inf)
    verb = "repeat" if best is answer.repeat else "train once on the samples at hand" if enough else "simulate"
    chance = answer.repeat_cheaper
    if chance is not None and best is answer.one_pass:
        chance = 1 - chance
    sure = "" if chance is None else f" ({100 * chance:.0f} % of the resamples agree)"
    return (
        f"To reach {answer.y} {answer.target:g} at {price} it is cheaper to {verb}{sure}: {costs}"
        f"{extrapolation(answer.placed)}."
    )


def unpriced(answer: SimulateOrRepeat) -> str:
    """Return a sentence with the samples and compute of both regimes, for an answer without a price of training."""
    one, other = answer.one_pass, answer.repeat
    if answer.support is not None:
        name, far = farthest(answer.placed)
        away = f"The answer for {answer.y} {answer.target:g} lies {decades(far)} beyond the runs in {name}."
        units = {name: q.unit for name, q in (("N", one.N), ("D", one.unique), ("C", one.C))}
        return in_place(answer.support, units, away)
    if one.unique.value is None or other.unique.value is None:
        return f"At least one of the two best fits does not reach {answer.y} {answer.target:g}."
    if answer.mismatched:
        return f"These two laws cannot be compared at {answer.y} {answer.target:g}."
    return (
        f"To reach {answer.y} {answer.target:g}, use {number(one.unique)} {one.unique.unit} seen once, or "
        f"{number(other.unique)} {other.unique.unit} repeated with {number(answer.kappa)} times the compute"
        f"{extrapolation(answer.placed)}.{_costs(answer)}"
    )


def crossing(answer: SimulateOrRepeat, priced: bool = True) -> str:
    """Return a sentence with the break-even price of a sample.

    The price is in money. If ``priced`` is False or the price in money is not known, the price is given as a multiple
    of the cost of training on one sample once. The sentence is empty if the runs do not support the answer, or if a
    regime does not reach the target.
    """
    known = answer.one_pass.unique.value is not None and answer.repeat.unique.value is not None
    if not answer.answers or not known or answer.mismatched:
        return ""
    even = answer.break_even_passes
    if even.value is None:
        return "Repeating saves no samples, so one pass is at least as cheap at every price of a sample."
    price = answer.break_even
    if priced and price.value is not None:
        return f"Repeating is cheaper if a sample costs more than {with_interval(price)}, the break-even price."
    return (
        f"Repeating is cheaper if simulating a sample costs more than {_spread(even)} times as much as training on it "
        "once."
    )


WAYS = ("unique", "epochs", "N", "C", "total")
"""Numbers of a regime that the short table shows."""


def two_ways(answer: SimulateOrRepeat, priced: bool = True) -> tuple[tuple[str, str, str], ...]:
    """Return the short table of both regimes. A row has a label with unit, and one value with 68 % interval per regime.

    An unknown value is shown as "-". The result is empty if the runs do not support the answer.
    """
    if not answer.answers:
        return ()
    found = []
    for name in WAYS:
        values = [getattr(regime, name) for regime in (answer.one_pass, answer.repeat)]
        known = [q for q in values if q.value is not None]
        unit = known[0].unit if known else values[0].unit
        shown = [_spread(q) if q.value is not None and (priced or name != "total") else "-" for q in values]
        label = SHORT.get(name, LABELS[name])
        found.append((f"{label} [{unit}]" if unit and unit not in label.lower() else label, shown[0], shown[1]))
    return tuple(found)


def _costs(answer: SimulateOrRepeat) -> str:
    """Return a sentence on the simulation cost and the unknown training cost; empty if the training cost is known."""
    if not answer.unpriced:
        return ""
    simulated = " or ".join(with_interval(regime.simulation) for regime in (answer.one_pass, answer.repeat))
    return f" The simulation costs {simulated}. The training cost is {answer.unpriced}."


def worth_text(worth: Worth, unit: str) -> str:
    """Return a sentence on what loss the existing samples reach; ``unit`` is the name of a sample in the plural."""
    if not worth.answers:
        return (
            f"Your {count(worth.U, 3)} {unit} lie {decades(worth.beyond)} beyond the runs. The runs support an "
            f"extrapolation of at most {decades(ANSWERED)}, so the loss of these {unit} is not stated."
        )
    return (
        f"Your {count(worth.U, 3)} {unit} reach {worth.once.unit} {_spread(worth.once)} if each is seen once, and "
        f"{_spread(worth.repeated)} if they are repeated. Without repetition, {_spread(worth.equivalent)} {unit} are "
        f"needed to reach the second value{extrapolation({'U': Quantity(worth.U, beyond=worth.beyond)})}."
    )


def _spread(q: Quantity) -> str:
    """Return a value with its 68 % interval as text, without its unit."""
    return f"{number(q)} (68 %: {between(q, q.ci68)})" if q.ci68 else number(q)


def as_text(answer: SimulateOrRepeat, priced: bool = True) -> str:
    """Return the answer as text for a terminal. If ``priced`` is False, money is omitted."""
    body, notes = rows(answer, priced), [f"\n{w.line}" for w in by_level(answer.warnings)]
    first = sentence(answer) if priced else unpriced(answer)
    said = [text for text in (first, crossing(answer, priced)) if text]
    shown = [*table(body), ""] if body else []
    return "\n".join([*said, "", *shown, f"Compute rule: {answer.compute.text}.", *notes])


def to_json(answer: SimulateOrRepeat) -> dict[str, Any]:
    """Return the JSON object that ``isoplan repeat --json`` prints. A missing or infinite number is null.

    If the runs do not support the answer, the object has no numbers.
    """
    read = quantity.to_json if answer.answers else lambda q: quantity.to_json(quantity.withheld(q))
    alone, cheaper, costs = answer.alone, answer.cheaper, answer.costs
    picture = answer.picture if answer.priced else None
    return {
        "schema": SCHEMA,
        "question": {"target": answer.target, "sample_price": costs.sample,
                     "flop_price": None if answer.unpriced else costs.flop,
                     "currency": costs.currency, "have": costs.have},
        "y": answer.y,
        "compute": answer.compute.to_json(),
        "regimes": {r.name: {k: read(q) for k, q in _regime(r).items()} for r in (answer.one_pass, answer.repeat)},
        **{name: read(getattr(answer, name)) for name in COMPARED},
        "shared_floor": answer.shared,
        "floor": _floor(answer.floor),
        "one_pass_alone": None if alone is None else read(alone["D"]),
        **({} if alone is None else {f"one_pass_alone_{name}": read(alone[name]) for name in ("N", "C")}),
        "cheaper": cheaper.name if cheaper is not None else None,
        "repeat_cheaper": answer.repeat_cheaper if answer.priced else None,
        "p_reach": answer.p_reach,
        "picture": None if picture is None else {name: finite(getattr(picture, name)) for name in PICTURED},
        "sentence": sentence(answer),
        "warnings": [w.to_json() for w in answer.warnings],
    } | ({} if answer.support is None else {"support": answer.support.to_json()})  # fmt: skip


def between_text(few: Between, currency: str) -> str:
    """Return a sentence on the cheapest intermediate regime."""
    i = few.best
    return (
        f"With a few epochs, by the data-constrained law, the lowest cost is {rounded(float(few.money[i]))} "
        f"{currency}: {count(float(few.unique[i]))} samples, each seen {float(few.epochs[i]):.3g} times. {few.note}"
    )


def between_json(few: Between) -> dict[str, Any]:
    """Return the intermediate regimes as a JSON object.

    It contains arrays over the numbers of unique samples, and the index of the cheapest regime.
    """
    arrays = {"unique": few.unique, "epochs": few.epochs, "N": few.N, "C": few.C, "money": few.money}
    return {name: finite(x) for name, x in arrays.items()} | {"best": few.best, "note": few.note}


def _floor(floor: Parameter | None) -> dict[str, Any] | None:
    """Return the common floor of the joint fit as a JSON object; None if each law has its own floor."""
    if floor is None:
        return None
    return {"value": floor.value, "ci68": finite(floor.ci68), "ci95": finite(floor.ci95)}


def _regime(regime: Regime) -> dict[str, Quantity]:
    found = {name: getattr(regime, name) for name in LABELS}
    return {name: q for name, q in found.items() if q is not None}
