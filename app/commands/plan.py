"""`isoplan plan`: read a fit, and plan the best model for a budget or the cheapest model for a target."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from isoplan.app.commands.shared import options
from isoplan.app.commands.shared.options import as_texts, with_fields
from isoplan.app.commands.shared.output import note, read_fit_file, say, say_as
from isoplan.app.commands.shared.reading import read_named
from isoplan.app.commands.shared.rules import Behind, check_runs, read_used
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.scenario.fields import FIELDS, OURS, SCENARIO
from isoplan.engine.planning.scenario.typed_rules import tokens_of_second


@with_fields((*OURS, *SCENARIO), before="form")
def plan(
    fit: Annotated[
        str,
        typer.Argument(
            metavar="FIT.json",
            help="File with the output of `isoplan fit --json`. Use - to read it from standard input.",
        ),
    ],
    budget: Annotated[str | None, typer.Option(help=FIELDS["budget"].help)] = None,
    target_loss: Annotated[str | None, typer.Option(help=FIELDS["target_loss"].help)] = None,
    target_metric: Annotated[
        str | None, typer.Option(metavar="NAME=VALUE", help="Target value of the metric of --metric-map.")
    ] = None,
    metric_map: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MAP.json",
            help="Fit of a metric as a function of the quantity of the law; may be repeated with --budget.",
        ),
    ] = None,
    group: options.PlannedGroup = "",
    rule: options.OtherRule = "",
    n_p: options.TokensPerSample = "",
    second_rule: Annotated[
        str,
        typer.Option(metavar=options.RULES, help="Second compute rule. The plan also states its compute by this rule."),
    ] = "",
    runs: options.RunTable = None,
    map_runs: options.RunMap = None,
    form: options.Form = "text",
    as_json: options.AsJson = False,
    **texts: Any,
) -> None:
    """Find the best model for a budget, or the cheapest way to a target."""
    from isoplan.engine.planning.plan.document import as_document, as_text
    from isoplan.engine.planning.plan.metric import through
    from isoplan.engine.planning.plan.variations import variation_lines, vary
    from isoplan.engine.planning.questions.typed_plan import answer_question, read_question

    if sum(x is not None for x in (budget, target_loss, target_metric)) != 1:
        raise PlannerError("Ask one question: give either --budget or --target-loss or --target-metric.")
    fitted = read_fit_file(fit, group)
    name, goal = read_target(target_loss, target_metric)
    maps = tuple(through(fitted, read_fit_file(path), name) for path in metric_map or ())
    if bool(name) != (budget is None and bool(maps)) or (name and len(maps) != 1):
        raise PlannerError("A target in a metric needs --target-metric NAME=VALUE and one --metric-map.")
    behind = Behind(runs, map_runs or (), fitted)
    check_runs(behind, rule, second_rule)
    used = read_used(rule, n_p, behind)
    second_tokens = tokens_of_second(second_rule, used or fitted.compute)
    other = read_used(second_rule, second_tokens, behind, "second_rule")
    scenario = as_texts(texts) | ({"budget": budget} if budget is not None else {"target_loss": goal})
    asked = read_question(scenario, "terminal", target=f"option --target-{'metric' if name else 'loss'}", metric=name)
    if budget is not None and asked.reading is not None:
        note(asked.reading.notes(budget))
    answer = answer_question(fitted, asked, used, other, maps)
    made = as_document(answer, fit, group=group, maps=tuple(metric_map or ()))
    if as_json or form != "text":
        say_as("json" if as_json else form, "", made, answer.warnings)
    else:
        other_budgets = variation_lines(answer, vary(fitted, answer.shown, maps))
        say("\n".join([as_text(answer), *other_budgets]))


def read_target(loss: str | None, metric: str | None) -> tuple[str, str]:
    """Return the name of the target metric and the text of the target value.

    The name is empty if the target is a value of the quantity that the law predicts. Name and value are empty if the
    options give no target.
    """
    if metric is not None:
        return read_named(metric, "--target-metric")
    return "", loss or ""
