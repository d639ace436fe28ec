"""`isoplan actual`: compare measured results with the plans that predicted them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoplan.app.commands.shared.options import AsJson, PlannedGroup
from isoplan.app.commands.shared.output import read_fit_file, read_object, say, say_json
from isoplan.app.commands.shared.reading import read_named
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.actual.outcome import Actual, Outcome, outcome
from isoplan.engine.planning.actual.results import Result, as_text, to_json
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.document import read_plan
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.quantities import parse_flops, parse_number

Numbers = list[str] | None


def actual(
    files: Annotated[list[str], typer.Argument(metavar="PLAN.json...", help="Output of `isoplan plan --json`.")],
    fit: Annotated[
        list[str], typer.Option(metavar="FIT.json", help="Fit from which the plans were made; may be repeated.")
    ],
    loss: Annotated[
        Numbers,
        typer.Option(help="Measured value of the quantity that the law predicts. Give this option once for each plan."),
    ] = None,
    metric: Annotated[
        Numbers, typer.Option(metavar="NAME=VALUE", help="Measured value of a metric of --metric-map.")
    ] = None,
    metric_map: Annotated[
        str, typer.Option(metavar="MAP.json", help="Fit of the metric as a function of the quantity of the law.")
    ] = "",
    params: Annotated[Numbers, typer.Option(help="Trained parameters N, if different from the plan.")] = None,
    samples: Annotated[Numbers, typer.Option(help="Training samples D, if different from the plan.")] = None,
    compute: Annotated[Numbers, typer.Option(help="Compute C in FLOPs, if different from the plan.")] = None,
    group: PlannedGroup = "",
    as_json: AsJson = False,
) -> None:
    """Compare actual results with the plans that predicted them."""
    plans = [read_plan(read_object(name, "isoplan plan --json")) for name in files]
    fits = {found.hash: found for found in (read_fit_file(name, group) for name in fit)}
    results = _results(len(plans), loss, metric, params, samples, compute)
    found = [
        Result(Path(name).stem, plan, _outcome(plan, fits, one, metric_map))
        for name, plan, one in zip(files, plans, results, strict=True)
    ]
    if as_json:
        say_json(to_json(found))
    else:
        say(as_text(found))


def _outcome(plan: Plan, fits: dict[str, Fit], result: Actual, map: str) -> Outcome:
    if plan.fit not in fits:
        raise PlannerError(f"--fit: the fit {plan.fit} of a plan is missing. Give the fit of each plan.")
    law = fits[plan.fit]
    mapped = through(law, read_fit_file(map), result.metric) if map and result.metric else None
    return outcome(plan, law, result, mapped)


def _results(
    n: int, loss: Numbers, metric: Numbers, params: Numbers, samples: Numbers, compute: Numbers
) -> list[Actual]:
    """Return one measured result per plan.

    ``n`` is the number of plans. Raises PlannerError if an option has neither 0 nor ``n`` values.
    """
    if bool(loss) == bool(metric):
        raise PlannerError("Measured value: give either --loss or --metric, once for every plan.")
    given = {"loss": loss, "metric": metric, "params": params, "samples": samples, "compute": compute}
    for option, texts in given.items():
        if texts and len(texts) != n:
            raise PlannerError(f"--{option} is given {len(texts)} times for {n} plans: give it once for every plan.")
    measured = [("", text) for text in loss or ()] or [read_named(text, "--metric") for text in metric or ()]
    nothing: list[float | None] = [None] * n
    N, D = (
        [parse_number(x, f"option --{option}") for x in given[option] or ()] or nothing
        for option in ("params", "samples")
    )
    C = [parse_flops(x, "option --compute").value for x in compute or ()] or nothing
    what = "option --metric" if metric else "option --loss"
    return [Actual(parse_number(value, what), N[i], D[i], C[i], name) for i, (name, value) in enumerate(measured)]
