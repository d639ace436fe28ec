"""`isoplan repeat`: compare one pass over many samples with repetition of few samples, at one target loss."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from isoplan.app.commands.shared import reading
from isoplan.app.commands.shared.options import AsJson, Form, OtherRule, RunMap, TokensPerSample, as_texts, with_fields
from isoplan.app.commands.shared.output import read_fit_file, say_as
from isoplan.app.commands.shared.rules import Behind, check_runs, read_used
from isoplan.engine.amounts import SAMPLES, money, parse_amount
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.repeat import (
    Factor,
    SampleCosts,
    as_text,
    between,
    between_text,
    costs_of,
    fit_factor,
    simulate_or_repeat,
    stated,
    unpriced_text,
    worth_of,
    worth_text,
)
from isoplan.engine.planning.repeat.document import Files, document
from isoplan.engine.planning.scenario.fields import EUR, FIELDS, pick
from isoplan.engine.planning.scenario.prices import check_currency
from isoplan.engine.planning.scenario.typed_prices import read_prices, read_simulation
from isoplan.engine.quantities import parse_number
from isoplan.engine.schema import OVERFITS

SAMPLE = pick("sample_price", "sample_seconds", "cpu_price")
MACHINE = pick("device", "hour_price", "utilisation", "precision")


@with_fields(SAMPLE, before="flop_price")
@with_fields(MACHINE, before="kappa")
def repeat(
    one_pass: Annotated[str, typer.Argument(metavar="ONE_PASS.json", help="Fit of chinchilla to runs of one pass.")],
    repeated: Annotated[
        str, typer.Argument(metavar="REPEATED.json", help="Fit of repetition to runs with early stopping.")
    ],
    target_loss: Annotated[str, typer.Option(help="Target loss.")],
    flop_price: Annotated[str, typer.Option(help="Price of one FLOP; or give --device and --hour-price.")] = "",
    kappa: Annotated[
        str,
        typer.Option(help="kappa: compute of repeated training divided by the compute of one pass; about 10 for jets."),
    ] = "",
    curves: Annotated[
        Path | None, typer.Option(help="Training curves that determine kappa, instead of --kappa.")
    ] = None,
    runs: Annotated[Path | None, typer.Option(help="The runs of --curves, and for --rule measured.")] = None,
    map_curves: Annotated[list[str] | None, typer.Option(metavar="ROLE=COLUMN,...", help="Columns of curves.")] = None,
    threshold: Annotated[str, typer.Option(metavar="FIT.json", help="A fit of threshold, for N and epochs.")] = "",
    surface: Annotated[str, typer.Option(metavar="FIT.json", help="A fit of data-constrained, for few epochs.")] = "",
    map_runs: RunMap = None,
    have: Annotated[str, typer.Option(help="Number of available samples.")] = "0",
    rule: OtherRule = "",
    n_p: TokensPerSample = "",
    currency: Annotated[str, typer.Option(help=FIELDS["currency"].help)] = EUR,
    group: Annotated[str, typer.Option(help="Group of REPEATED.json, if it has several.")] = "",
    form: Form = "text",
    as_json: AsJson = False,
    **texts: Any,
) -> None:
    """Compare simulating more samples with repeating few of them."""
    once, again = read_fit_file(one_pass), read_fit_file(repeated, group)
    stock = parse_amount(have, "option --have", SAMPLES)
    costs = _costs(stock, flop_price, as_texts(texts) | {"currency": currency})
    line = read_fit_file(threshold) if threshold else None
    goal = parse_number(target_loss, "option --target-loss")
    behind = Behind(runs, map_runs or (), once)
    if curves is None:
        check_runs(behind, rule)
    used, priced = read_used(rule, n_p, behind), costs or SampleCosts(1.0, 1.0, have=stock)
    factor = _kappa(once, used, kappa, curves, runs, map_runs or [], map_curves or [])
    answer = simulate_or_repeat(once, again, goal, priced, factor, line, used)
    few = between(read_fit_file(surface), goal, priced, used) if surface and costs and answer.priced else None
    worth = worth_of(once, again, priced.have) if priced.have else None
    said = [as_text(answer) if costs else unpriced_text(answer)]
    said += [between_text(few, priced.currency)] if few else []
    said += [worth_text(worth, answer.one_pass.unique.unit)] if worth else []
    asked = "json" if as_json else form
    if costs is None and asked != "text":
        raise PlannerError("This format requires prices. Give --sample-price, and --flop-price or --device and "
        "--hour-price.")  # fmt: skip
    names = Files(one_pass, repeated, group, threshold, surface)
    say_as(asked, "\n\n".join(said), document(answer, factor, names, few, worth), answer.warnings)


def _costs(have: float, flop: str, texts: Mapping[str, str]) -> SampleCosts | None:
    """Return the costs of a sample and of a FLOP, or None without prices.

    The cost of a FLOP is given directly or follows from the price of an hour of the machine.
    """
    machine, currency = any(texts[field.name] for field in MACHINE), texts["currency"]
    if not (flop or machine or any(texts[field.name] for field in SAMPLE)):
        return None
    if bool(flop) == machine:
        raise PlannerError("Price of training: give either --flop-price, or --device and --hour-price.")
    if flop:
        one = read_simulation(texts, "terminal")
        if one is None or one.price is None:
            raise PlannerError("A simulated sample has no price. Give one to compare simulating with repeating.")
        price = parse_amount(flop, "option --flop-price", money(currency, "flop"))
        return SampleCosts(one.price, price, check_currency(currency), have)
    if texts["device"] and not texts["hour_price"]:
        raise PlannerError("--device needs the price of an hour of it: add --hour-price, as in --hour-price 3.")
    prices = read_prices(texts, "terminal")
    assert prices is not None  # at least one option of the machine is given
    return costs_of(prices, have)


def _kappa(
    one_pass: Fit,
    rule: ComputeRule | None,
    kappa: str,
    curves: Path | None,
    runs: Path | None,
    roles: list[str],
    names: list[str],
) -> Factor:
    """Return kappa as given, or determined from training curves under the compute rule of the answer."""
    if bool(kappa) == (curves is not None):
        raise PlannerError("kappa is not known: give either --kappa, as in --kappa 10, or --curves with --runs.")
    if curves is None:
        return stated(parse_number(kappa, "option --kappa"))
    if runs is None:
        raise PlannerError("--curves needs the run table that names the same runs: add --runs.")
    table = reading.read_table(
        runs, reading.read_map(roles), ("", ""), "", rule or one_pass.compute,
        repeats="all", convert=None, sheet=None, inner=None, offered=(OVERFITS,),
    )  # fmt: skip
    return fit_factor(one_pass, reading.read_training(curves, table, reading.read_map(names), ("", ""), ()), rule)
