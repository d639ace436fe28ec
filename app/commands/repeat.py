"""`isoplan repeat`: one pass over many samples, or few samples repeated, priced at one target loss."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.commands import reading
from app.commands.files import read_fit_file
from app.commands.options import AsJson
from app.commands.output import note, say, say_json
from engine.costs import ComputeRule
from engine.errors import PlannerError
from engine.fitting.result import Fit
from engine.hardware import UTILISATION, Machine, find_device
from engine.planning.repeat import (
    Factor,
    SampleCosts,
    as_text,
    between,
    between_json,
    between_text,
    fit_factor,
    simulate_or_repeat,
    stated,
    to_json,
)
from engine.quantities import parse_number, parse_share


def repeat(
    one_pass: Annotated[str, typer.Argument(metavar="ONE_PASS.json", help="A fit of chinchilla to runs of one pass.")],
    repeated: Annotated[str, typer.Argument(metavar="REPEATED.json", help="A fit of repetition to early stops.")],
    target_loss: Annotated[str, typer.Option(help="The loss to reach.")],
    sample_price: Annotated[str, typer.Option(help="Money for one simulated sample.")],
    flop_price: Annotated[str, typer.Option(help="Money for one FLOP; or give --device and --hour-price.")] = "",
    device: Annotated[str, typer.Option(help="What trains: H100, A100 80GB, CPU node, ...")] = "",
    hour_price: Annotated[str, typer.Option(help="Money for one hour of the device.")] = "",
    utilisation: Annotated[str, typer.Option(help="Share of its peak that training reaches, 0.4 or 40%.")] = "",
    kappa: Annotated[str, typer.Option(help="Compute of repeating over that of one pass; about 10 for jets.")] = "",
    curves: Annotated[
        Path | None, typer.Option(help="Training curves that kappa is read from, in place of it.")
    ] = None,
    runs: Annotated[Path | None, typer.Option(help="The run table that the curves belong to.")] = None,
    map_curves: Annotated[list[str] | None, typer.Option(metavar="ROLE=COLUMN,...", help="Columns of curves.")] = None,
    threshold: Annotated[str, typer.Option(metavar="FIT.json", help="A fit of threshold, for N and epochs.")] = "",
    surface: Annotated[str, typer.Option(metavar="FIT.json", help="A fit of data-constrained, for few epochs.")] = "",
    have: Annotated[str, typer.Option(help="Samples that exist already.")] = "0",
    currency: Annotated[str, typer.Option(help="What the prices are in.")] = "EUR",
    group: Annotated[str, typer.Option(help="The group of REPEATED.json, where it holds several.")] = "",
    as_json: AsJson = False,
) -> None:
    """Weigh simulating more samples against repeating few of them, at one target loss."""
    once, again = read_fit_file(one_pass), read_fit_file(repeated, group)
    costs = SampleCosts(
        parse_number(sample_price, "option --sample-price"),
        _flop_price(flop_price, device, hour_price, utilisation),
        currency,
        parse_number(have, "option --have"),
    )
    line = read_fit_file(threshold) if threshold else None
    goal = parse_number(target_loss, "option --target-loss")
    factor = _kappa(once, kappa, curves, runs, map_curves or [])
    answer = simulate_or_repeat(once, again, goal, costs, factor, line)
    few = between(read_fit_file(surface), goal, costs) if surface else None
    if as_json:
        note(w.text for w in answer.warnings)
        say_json(to_json(answer) | ({"between": between_json(few)} if few else {}))
    else:
        say("\n\n".join([as_text(answer), *([between_text(few, costs.currency)] if few else [])]))


def _flop_price(price: str, device: str, hour: str, utilisation: str) -> float:
    """Money for one FLOP, as given or from the price of an hour."""
    if bool(price) == bool(device):
        raise PlannerError("What training costs is not clear: give either --flop-price, or --device and --hour-price.")
    if price:
        return parse_number(price, "option --flop-price")
    if not hour:
        raise PlannerError("--device needs the price of an hour of it: add --hour-price, as in --hour-price 3.")
    share = UTILISATION if not utilisation else parse_share(utilisation, "option --utilisation")
    machine = Machine(find_device(device), price=parse_number(hour, "option --hour-price"), utilisation=share)
    return float(machine.money(1.0))


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
