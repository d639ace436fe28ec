"""`isoplan repeat`: one pass over many samples, or few samples repeated, priced at one target loss."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.commands import pricing, reading
from app.commands.files import read_fit_file
from app.commands.options import AsJson, Form
from app.commands.output import say_as
from engine.costs import ComputeRule
from engine.errors import PlannerError
from engine.fitting.result import Fit
from engine.planning.pricing.prices import check_currency
from engine.planning.repeat import (
    Factor,
    SampleCosts,
    as_text,
    between,
    between_text,
    costs_of,
    fit_factor,
    simulate_or_repeat,
    stated,
)
from engine.planning.repeat.document import Files, document
from engine.quantities import parse_number


def repeat(
    one_pass: Annotated[str, typer.Argument(metavar="ONE_PASS.json", help="A fit of chinchilla to runs of one pass.")],
    repeated: Annotated[str, typer.Argument(metavar="REPEATED.json", help="A fit of repetition to early stops.")],
    target_loss: Annotated[str, typer.Option(help="The loss to reach.")],
    sample_price: Annotated[str, typer.Option(help="Money for one simulated sample.")],
    flop_price: Annotated[str, typer.Option(help="Money for one FLOP; or give --device and --hour-price.")] = "",
    device: pricing.DeviceName = "",
    hour_price: pricing.HourPrice = "",
    utilisation: pricing.Utilisation = "",
    kappa: Annotated[str, typer.Option(help="Compute of repeating over that of one pass; about 10 for jets.")] = "",
    curves: Annotated[
        Path | None, typer.Option(help="Training curves that kappa is read from, in place of it.")
    ] = None,
    runs: Annotated[Path | None, typer.Option(help="The run table that the curves belong to.")] = None,
    map_curves: Annotated[list[str] | None, typer.Option(metavar="ROLE=COLUMN,...", help="Columns of curves.")] = None,
    threshold: Annotated[str, typer.Option(metavar="FIT.json", help="A fit of threshold, for N and epochs.")] = "",
    surface: Annotated[str, typer.Option(metavar="FIT.json", help="A fit of data-constrained, for few epochs.")] = "",
    have: Annotated[str, typer.Option(help="Samples that exist already.")] = "0",
    currency: pricing.CurrencyName = "EUR",
    group: Annotated[str, typer.Option(help="The group of REPEATED.json, where it holds several.")] = "",
    form: Form = "text",
    as_json: AsJson = False,
) -> None:
    """Weigh simulating more samples against repeating few of them, at one target loss."""
    once, again = read_fit_file(one_pass), read_fit_file(repeated, group)
    machine = {"device": device, "hour_price": hour_price, "utilisation": utilisation}
    costs = _costs(have, sample_price, flop_price, currency, **machine)
    line = read_fit_file(threshold) if threshold else None
    goal = parse_number(target_loss, "option --target-loss")
    factor = _kappa(once, kappa, curves, runs, map_curves or [])
    answer = simulate_or_repeat(once, again, goal, costs, factor, line)
    few = between(read_fit_file(surface), goal, costs) if surface else None
    names = Files(one_pass, repeated, group, threshold, surface)
    text = "\n\n".join([as_text(answer), *([between_text(few, costs.currency)] if few else [])])
    say_as("json" if as_json else form, text, document(answer, factor, names, few), answer.warnings)


def _costs(have: str, sample: str, flop: str, currency: str, **machine: str) -> SampleCosts:
    """What a sample and a FLOP cost; a FLOP as given, or from the price of an hour of the machine."""
    stock = parse_number(have, "option --have")
    if bool(flop) == any(machine.values()):
        raise PlannerError("What training costs is not clear: give either --flop-price, or --device and --hour-price.")
    if flop:
        prices = parse_number(sample, "option --sample-price"), parse_number(flop, "option --flop-price")
        return SampleCosts(*prices, check_currency(currency), stock)
    if machine["device"] and not machine["hour_price"]:
        raise PlannerError("--device needs the price of an hour of it: add --hour-price, as in --hour-price 3.")
    found = pricing.read_prices(sample_price=sample, currency=currency, **machine)
    assert found is not None  # the price of a sample is given, so a machine is too
    return costs_of(found, stock)


def _kappa(one_pass: Fit, kappa: str, curves: Path | None, runs: Path | None, roles: list[str]) -> Factor:
    """kappa as given, or read off training curves."""
    if bool(kappa) == (curves is not None):
        raise PlannerError("kappa is not known: give either --kappa, as in --kappa 10, or --curves with --runs.")
    if curves is None:
        return stated(parse_number(kappa, "option --kappa"))
    if runs is None:
        raise PlannerError("--curves needs the run table that names the same runs: add --runs.")
    table = reading.read_table(
        runs, {}, ("", ""), "", ComputeRule(), repeats="all", convert=None, sheet=None, inner=None
    )  # fmt: skip
    return fit_factor(one_pass, reading.read_training(curves, table, reading.read_map(roles), ("", ""), ()))
