"""Export of an answer to "Simulate or repeat" as a document, with the Python script that reproduces it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from isoplan.engine.planning import repeat
from isoplan.engine.planning.answer.document import Document, Line, warned
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.answer.script import array, call, literal, reading, script
from isoplan.engine.planning.repeat.answer import SimulateOrRepeat
from isoplan.engine.planning.repeat.costs import SampleCosts
from isoplan.engine.planning.repeat.factor import Factor
from isoplan.engine.planning.repeat.few_epochs import Between
from isoplan.engine.planning.repeat.text import (
    between_json,
    between_text,
    crossing,
    lines,
    sentence,
    to_json,
    worth_text,
)
from isoplan.engine.planning.repeat.worth import Worth
from isoplan.engine.planning.scenario.prices import Prices, Simulation
from isoplan.engine.planning.scenario.prices_json import prices_json

HOMES = dict.fromkeys(repeat.HOMES, repeat.__name__)


def as_document(
    answer: SimulateOrRepeat,
    kappa: Factor,
    files: Mapping[str, str],
    group: str = "",
    few: Between | None = None,
    worth: Worth | None = None,
) -> Document:
    """Return ``answer`` as a document.

    ``kappa`` is the factor that the answer used. ``files`` are the files of its fits by name: one_pass, repeated and,
    if given, threshold and surface. ``group`` selects a group in the file of repeated. ``few`` contains the
    intermediate regimes, and ``worth`` the losses that the existing samples reach. Each is omitted if it is None.
    """
    unit, said = answer.one_pass.unique.unit, list(filter(None, [crossing(answer)]))
    found: list[Line] = [*lines(answer)]
    if few is not None and answer.priced:
        found += _between(few, unit, answer.costs.currency)
        said.append(between_text(few, answer.costs.currency))
    if worth is not None:
        found += _worth(worth) if worth.answers and answer.answers else []
        said.append(worth_text(worth, unit))
    notes = (*said, f"Compute rule: {answer.compute.text}.", *warned(answer.warnings))
    body = to_json(answer) | ({"between": between_json(few)} if few is not None and answer.priced else {})
    return Document(sentence(answer), tuple(found), notes, body, _script(answer, kappa, files, group, worth))


def _between(few: Between, unit: str, money: str) -> list[Line]:
    """Return the table lines of the cheapest intermediate regime. Its numbers have no intervals."""
    units = {"unique": unit, "epochs": "passes", "N": "parameters", "C": "FLOPs", "money": money}
    labels = {"unique": "unique samples", "epochs": "passes over the samples", "N": "model size N", "C": "compute C"}
    return [
        (f"A few epochs: {labels.get(name, 'total, money')}",
         Quantity(float(getattr(few, name)[few.best]), unit=u, note="best fit of data-constrained"))
        for name, u in units.items()
    ]  # fmt: skip


def _worth(worth: Worth) -> list[Line]:
    y = worth.once.unit.capitalize()
    return [
        (f"{y} of the samples at hand, seen once", replace(worth.once, unit="")),
        (f"{y} of the samples at hand, repeated", replace(worth.repeated, unit="")),
        ("Samples seen once that reach the loss of the repeated samples", worth.equivalent),
    ]


def _script(answer: SimulateOrRepeat, kappa: Factor, files: Mapping[str, str], group: str, worth: Worth | None) -> str:
    costs = answer.costs
    given = ["one_pass", "repeated", repr(answer.target), "costs", "kappa"]
    given += [f"threshold={reading(files['threshold'])}"] if "threshold" in files else []
    body = [
        f"one_pass = {reading(files['one_pass'])}",
        f"repeated = {reading(files['repeated'], group)}",
        f"costs = {_costs(costs)}",
        *_kappa(kappa),
        *call("answer", "simulate_or_repeat", [*given, f"rule=read_rule({literal(answer.compute.to_json())})"]),
        "print(as_text(answer))",
    ]
    if "surface" in files:
        body += [f"few = between({reading(files['surface'])}, {answer.target!r}, costs)"]
        body += [f"print(between_text(few, {costs.currency!r}))"]
    if worth is not None:
        unit = answer.one_pass.unique.unit
        body += [f"worth = worth_of(one_pass, repeated, {worth.U!r})", f"print(worth_text(worth, {unit!r}))"]
    return script(sentence(answer), body, HOMES)


def _costs(costs: SampleCosts) -> str:
    """Return Python source code for the costs of a sample and of a FLOP.

    If the cost of a FLOP was computed from a machine, the code creates this machine too, because small models do not
    reach the assumed fraction of the peak speed of the machine.
    """
    if costs.machine is None:
        return f"SampleCosts({costs.sample!r}, {costs.flop!r}, {costs.currency!r}, {costs.have!r})"
    prices = Prices(costs.machine, Simulation(price=costs.sample), currency=costs.currency)
    return f"costs_of(read_prices({literal(prices_json(prices))}), {costs.have!r})"


def _kappa(kappa: Factor) -> list[str]:
    """Return lines of Python source code that define kappa: a given value, or a fitted value with resamples."""
    if not kappa.n:
        return [f"kappa = stated({kappa.value!r})"]
    first, *rest = array(kappa.draws)
    return [f"draws = {first}", *rest, f"kappa = Factor({kappa.value!r}, draws, {kappa.n})"]
