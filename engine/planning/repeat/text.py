"""Simulate or repeat in words, as rows for tables, and as JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from engine.fitting.cards import ends
from engine.fitting.result import Parameter
from engine.fitting.warning import by_level
from engine.laws.law import Floats
from engine.planning import quantity
from engine.planning.quantity import Quantity
from engine.planning.text import Row, as_row, between, extrapolation, number, table, too_far
from engine.quantities import count, rounded

if TYPE_CHECKING:
    from engine.planning.repeat.answer import Regime, SimulateOrRepeat
    from engine.planning.repeat.between import Between
    from engine.planning.repeat.worth import Worth

LABELS = {
    "N": "Model size N",
    "unique": "Unique samples",
    "epochs": "Passes over them",
    "C": "Compute C",
    "simulation": "Simulation, money",
    "training": "Training, money",
    "total": "Total, money",
}
COMPARED = {
    "omega": "omega: repeated samples against samples seen once, infinite N",
    "saving": "D / U: saving against the compute-optimal single pass",
    "break_even": "Break-even price of a sample",
    "break_even_passes": "Break-even price in one-pass training costs of a sample",
    "kappa": "kappa: compute against the single pass",
}
ALONE = "One pass: Unique samples by the one-pass fit alone, as in a plan"
SCHEMA = 1


def lines(answer: SimulateOrRepeat) -> tuple[tuple[str, Quantity], ...]:
    """Every number under its name: both regimes, then what compares them."""
    found = [
        (f"{regime.name.capitalize()}: {label}", getattr(regime, name))
        for regime in (answer.one_pass, answer.repeat)
        for name, label in LABELS.items()
    ]
    if answer.alone is not None:
        found.insert(2, (ALONE, answer.alone))
    return (*found, *((label, getattr(answer, name)) for name, label in COMPARED.items()))


def rows(answer: SimulateOrRepeat) -> tuple[Row, ...]:
    """The table: both regimes line by line, then what compares them."""
    return tuple(as_row(label, q) for label, q in lines(answer))


def sentence(answer: SimulateOrRepeat) -> str:
    """The answer in one sentence that a manager can read."""
    if said := too_far(_placed(answer)):
        return said
    best = answer.cheaper
    other = answer.repeat if best is answer.one_pass else answer.one_pass
    unit = best.unique.unit
    if best.total.value is None:
        return f"The best fits do not reach {answer.y} {answer.target:g} in either regime."
    price = f"{answer.costs.sample:.3g} {answer.costs.currency} a sample"
    costs = f"{_money(best.total)} against {_money(other.total)}" if other.total.value else _money(best.total)
    enough = answer.costs.have >= (answer.one_pass.unique.value or math.inf)
    verb = "repeat" if best is answer.repeat else "train once on the samples at hand" if enough else "simulate"
    chance = answer.repeat_cheaper if best is answer.repeat else _other(answer.repeat_cheaper)
    sure = "" if chance is None else f" ({100 * chance:.0f} % of the resamples agree)"
    return (
        f"To reach {answer.y} {answer.target:g} at {price} it is cheaper to {verb}{sure}: {costs}, with "
        f"{number(answer.one_pass.unique)} {unit} seen once or {number(answer.repeat.unique)} {unit} repeated"
        f"{extrapolation(_placed(answer))}{_crossing(answer)}."
    )


def _placed(answer: SimulateOrRepeat) -> dict[str, Quantity]:
    """The numbers whose distance from the runs counts."""
    return {"N": answer.one_pass.N, "D": answer.one_pass.unique, "U": answer.repeat.unique}


def unpriced(answer: SimulateOrRepeat) -> str:
    """What can be said before anything has a price: samples, compute, and when repeating pays."""
    if said := too_far(_placed(answer)):
        return said
    one, other, even = answer.one_pass, answer.repeat, answer.break_even_passes
    if one.unique.value is None or other.unique.value is None:
        return f"The best fits do not reach {answer.y} {answer.target:g} in both regimes."
    pays = (
        "saves no samples"
        if even.value is None
        else f"is cheaper where simulating a sample costs more than {number(even)} times training on it once"
    )
    return (
        f"To reach {answer.y} {answer.target:g} take {number(one.unique)} {one.unique.unit} seen once, or "
        f"{number(other.unique)} {other.unique.unit} repeated for {number(answer.kappa)} times the compute; repeating "
        f"{pays}{extrapolation(_placed(answer))}."
    )


def worth_text(worth: Worth, unit: str) -> str:
    """What samples at hand are worth, in a sentence; ``unit`` is what they are called."""
    return (
        f"Your {count(worth.U, 3)} {unit} reach {worth.once.unit} {_spread(worth.once)} when each is seen once and "
        f"{_spread(worth.repeated)} when they are repeated, which takes {_spread(worth.equivalent)} "
        f"{unit} seen once."
    )


def _spread(q: Quantity) -> str:
    """A value with its 68 % interval, without its unit."""
    return f"{number(q)} (68 %: {between(q, q.ci68)})" if q.ci68 else number(q)


def unpriced_rows(answer: SimulateOrRepeat) -> tuple[Row, ...]:
    """The lines of the table that need no price."""
    return tuple(as_row(label, q) for label, q in lines(answer) if q.unit != answer.costs.currency)


def as_text(answer: SimulateOrRepeat) -> str:
    """The answer for a terminal."""
    return _text(answer, sentence(answer), rows(answer))


def unpriced_text(answer: SimulateOrRepeat) -> str:
    """What needs no price of it, for a terminal."""
    return _text(answer, unpriced(answer), unpriced_rows(answer))


def _text(answer: SimulateOrRepeat, said: str, body: tuple[Row, ...]) -> str:
    notes = [f"\n{w.line}" for w in by_level(answer.warnings)]
    return "\n".join([said, "", *table(body), "", f"Compute rule: {answer.compute.text}.", *notes])


def to_json(answer: SimulateOrRepeat) -> dict[str, Any]:
    """The object that ``isoplan repeat --json`` prints; null where a number does not exist or is unbounded."""
    return {
        "schema": SCHEMA,
        "question": {"target": answer.target, "sample_price": answer.costs.sample, "flop_price": answer.costs.flop,
                     "currency": answer.costs.currency, "have": answer.costs.have},
        "y": answer.y,
        "compute": answer.compute.to_json(),
        "regimes": {r.name: _regime(r) for r in (answer.one_pass, answer.repeat)},
        **{name: quantity.to_json(getattr(answer, name)) for name in COMPARED},
        "shared_floor": answer.shared,
        "floor": _floor(answer.floor),
        "one_pass_alone": None if answer.alone is None else quantity.to_json(answer.alone),
        "cheaper": answer.cheaper.name,
        "repeat_cheaper": answer.repeat_cheaper,
        "p_reach": answer.p_reach,
        "picture": {
            "price": finite(answer.picture.price),
            "one_pass": finite(answer.picture.one_pass),
            "repeat": finite(answer.picture.repeat),
            "one_pass_band": [finite(x) for x in answer.picture.one_pass_band],
            "repeat_band": [finite(x) for x in answer.picture.repeat_band],
        },
        "sentence": sentence(answer),
        "warnings": [w.to_json() for w in answer.warnings],
    }  # fmt: skip


def between_text(few: Between, currency: str) -> str:
    """The cheapest way in between, for a terminal."""
    i = few.best
    return (
        f"In between, the data-constrained law finds {count(float(few.unique[i]))} samples seen "
        f"{float(few.epochs[i]):.3g} times cheapest, at {rounded(float(few.money[i]))} {currency}. {few.note}"
    )


def between_json(few: Between) -> dict[str, Any]:
    """The ways in between for JSON: arrays by unique samples, and the place of the cheapest."""
    arrays = {"unique": few.unique, "epochs": few.epochs, "N": few.N, "C": few.C, "money": few.money}
    return {name: finite(x) for name, x in arrays.items()} | {"best": few.best, "note": few.note}


def finite(x: Floats) -> list[float | None]:
    """An array (k,) for JSON: null for what is not finite."""
    return [value if math.isfinite(value) else None for value in x.tolist()]


def _floor(floor: Parameter | None) -> dict[str, Any] | None:
    """The common floor of a joint fit; null where each law keeps its own fit."""
    if floor is None:
        return None
    return {"value": floor.value, "ci68": ends(floor.ci68), "ci95": ends(floor.ci95)}


def _regime(regime: Regime) -> dict[str, Any]:
    return {name: quantity.to_json(getattr(regime, name)) for name in LABELS}


def _money(q: Quantity) -> str:
    spread = f" (68 %: {between(q, q.ci68)})" if q.ci68 else ""
    return f"{number(q)} {q.unit}{spread}"


def _other(share: float | None) -> float | None:
    return None if share is None else 1 - share


def _crossing(answer: SimulateOrRepeat) -> str:
    price = answer.break_even
    if price.value is None:
        return ""
    return f"; simulating is cheaper below {number(price)} {price.unit} a sample"
