"""`isoplan plan`: what a budget buys or a target costs, from what `isoplan fit --json` printed."""

from __future__ import annotations

from typing import Annotated

import typer

from app.commands.files import read_fit_file
from app.commands.output import note, say, say_json
from engine.errors import PlannerError
from engine.quantities import parse_flops, parse_number


def plan(
    fit: Annotated[
        str, typer.Argument(metavar="FIT.json", help="What `isoplan fit --json` printed; - reads it from a pipe.")
    ],
    budget: Annotated[
        str | None, typer.Option(help="FLOPs to spend: 1e20, 10^20, 3 ZFLOP, 5 PFLOP/s-days, 200 H200 hours.")
    ] = None,
    target_loss: Annotated[str | None, typer.Option(help="What the law describes must reach this.")] = None,
    group: Annotated[str, typer.Option(help="The group to plan for, where the fit holds several.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Answer a question from a fit: what a budget buys, or what a target costs."""
    from engine.planning import as_text, plan_budget, plan_target, to_json

    if (budget is None) == (target_loss is None):
        raise PlannerError("Ask one question: give either --budget or --target-loss.")
    fitted = read_fit_file(fit, group)
    if budget is not None:
        reading = parse_flops(budget, "option --budget")
        answer = plan_budget(fitted, reading.value)
        notes = [f"{budget} is read as {reading.value:.4g} FLOPs: {reading.note}."] if reading.note else []
    else:
        answer, notes = plan_target(fitted, parse_number(str(target_loss), "option --target-loss")), []
    note(notes)
    if as_json:
        note(w.text for w in answer.warnings)
        say_json(to_json(answer))
    else:
        say(as_text(answer))
