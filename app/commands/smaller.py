"""`isoplan smaller`: models of other sizes that reach the same loss, and the one that is cheapest over its life."""

from __future__ import annotations

from typing import Annotated

import typer

from isoplan.app.commands.shared import pricing
from isoplan.app.commands.shared.files import read_fit_file
from isoplan.app.commands.shared.options import AsJson, Form, OtherRule, PlannedGroup, RunMap, RunTable, TokensPerSample
from isoplan.app.commands.shared.output import say_as
from isoplan.app.commands.shared.reading import read_budget
from isoplan.app.commands.shared.rules import Behind, check_runs, read_used
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.plan.solve import Question
from isoplan.engine.planning.smaller.answer import lifetime, same_loss
from isoplan.engine.planning.smaller.document import document
from isoplan.engine.planning.smaller.text import lifetime_text, same_loss_text, warnings
from isoplan.engine.quantities import parse_number


def smaller(
    fit: Annotated[str, typer.Argument(metavar="FIT.json", help="A fit of a surface over N and D; - reads a pipe.")],
    budget: Annotated[str, typer.Option(help="The loss that so many FLOPs reach at best: 1e20, 3 ZFLOP, ...")] = "",
    target_loss: Annotated[str, typer.Option(help="Or this loss.")] = "",
    queries: pricing.Queries = "",
    query_tokens: pricing.QueryTokens = "",
    query_flops: pricing.QueryFlops = "",
    device: pricing.DeviceName = "",
    devices: pricing.Devices = 1,
    hour_price: pricing.HourPrice = "",
    utilisation: pricing.Utilisation = "",
    precision: pricing.PrecisionName = "",
    currency: pricing.CurrencyName = "",
    sample_price: pricing.SamplePrice = "",
    sample_seconds: pricing.SampleSeconds = "",
    cpu_price: pricing.CpuPrice = "",
    max_unique: pricing.MaxUnique = "",
    max_params: pricing.MaxParams = "",
    max_epochs: pricing.MaxEpochs = "",
    max_hours: pricing.MaxHours = "",
    max_memory: pricing.MaxMemory = "",
    max_money: pricing.MaxMoney = "",
    group: PlannedGroup = "",
    rule: OtherRule = "",
    n_p: TokensPerSample = "",
    runs: RunTable = None,
    map_runs: RunMap = None,
    form: Form = "text",
    as_json: AsJson = False,
) -> None:
    """Find the cheapest model size of the same loss over its life."""
    if bool(budget) == bool(target_loss):
        raise PlannerError("Ask for one loss: give either --budget or --target-loss.")
    fitted = read_fit_file(fit, group)
    behind = Behind(runs, map_runs or (), fitted)
    check_runs(behind, rule)
    used = read_used(rule, n_p, behind)
    limits = pricing.read_limits(
        {"unique": max_unique, "parameters": max_params, "epochs": max_epochs, "hours": max_hours,
         "memory": max_memory, "money": max_money}, currency
    )  # fmt: skip
    if budget:
        question = Question("budget", read_budget(budget), limits)
    else:
        question = Question("target", parse_number(target_loss, "option --target-loss"), limits)
    served = pricing.read_inference(queries, query_tokens, query_flops)
    prices = pricing.read_prices(
        device=device, devices=str(devices), hour_price=hour_price, utilisation=utilisation, precision=precision,
        currency=currency, sample_price=sample_price, sample_seconds=sample_seconds, cpu_price=cpu_price,
    )  # fmt: skip
    curve = same_loss(fitted, question, used, prices)
    found = lifetime(fitted, question, served, used, prices) if served and curve.plan.answers else None
    text = "\n\n".join([same_loss_text(curve), *([lifetime_text(found)] if found else [])])
    made = document(curve, found, served, fit, group)
    say_as("json" if as_json else form, text, made, warnings(curve, found))
