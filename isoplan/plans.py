"""Plans from fits: the best use of a budget, or the lowest cost of a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.scenario.typed_rules import tokens_of_second
from isoplan.options import Amount, check_options, single, texts_of
from isoplan.rules import check_runs, choose_rule

if TYPE_CHECKING:
    from isoplan.engine.fitting import Fit, GroupedFit
    from isoplan.engine.planning.plan.answer import Plan
    from isoplan.engine.planning.plan.metric import Through
    from isoplan.engine.schema import Runs
    from isoplan.options import Rule
    from isoplan.tables import Table


def plan(
    fit: Fit | GroupedFit,
    *,
    budget: Amount | None = None,
    target_loss: Amount | None = None,
    target_metric: str | Mapping[str, Amount] | None = None,
    metric_map: Fit | Sequence[Fit] = (),
    rule: Rule = "",
    n_p: Amount = "",
    second_rule: Rule = "",
    runs: Runs | Table | None = None,
    our_params: Amount | None = None,
    our_samples: Amount | None = None,
    **scenario: Amount,
) -> Plan:
    """Plan the best use of a budget, or the lowest cost of a target.

    Parameters
    ----------
    fit : Fit
        The result of ``isoplan.fit`` or ``isoplan.load``. For several groups, pass the fit of one: ``fit.fits["a"]``.
    budget : number or str
        FLOPs, device hours or money: 1e20, "3 ZFLOP", "200 H200 hours", or "500 EUR" with device and hour_price.
    target_loss : number
        A loss to reach, instead of a budget.
    target_metric : mapping
        A value of a metric to reach, instead of a budget, as in {"R": 5000}.
    metric_map : Fit or several
        Fits of metrics as functions of the loss; one is required for ``target_metric``.
    rule : str or ComputeRule
        Compute rule, instead of the compute rule of the fit.
    n_p : number
        Tokens per sample, for the rule "6npND" and formulas.
    second_rule : str or ComputeRule
        A second compute rule. The plan also states its compute by this rule.
    runs : Runs or table
        Runs with measured C [FLOPs], for the rule "measured".
    our_params, our_samples : number or str
        N and D of your own plan. ``plan.saving`` then compares the cost of your plan with the cost of the cheapest plan
        for the same loss.
    **scenario : number or str
        Limits and prices, with a unit or without: max_unique, max_params, max_epochs, max_hours, max_memory [GB],
        max_money; device, devices, hour_price, utilisation, precision, power [W], currency ("EUR" or "USD"),
        grid [g CO2/kWh], pue, sample_price, sample_seconds, cpu_price, sample_bytes, queries, query_tokens,
        query_flops.

    Raises
    ------
    PlannerError
        An option is wrong, or the law cannot answer the question.
    """
    from isoplan.engine.planning.questions.typed_plan import answer_question, read_question
    from isoplan.engine.planning.scenario.fields import SCENARIO

    check_options(scenario, [field.name for field in SCENARIO], plan)
    if sum(x is not None for x in (budget, target_loss, target_metric)) != 1:
        raise PlannerError("Options budget, target_loss, target_metric: give exactly one of them.")
    law = single(fit, "fit")
    metric, target = _read_target(target_loss, target_metric)
    maps = _read_maps(law, metric_map, metric)
    if bool(metric) != (budget is None and bool(maps)) or (metric and len(maps) != 1):
        raise PlannerError(
            "Option metric_map: if the target is a metric, give target_metric and exactly one metric_map."
        )
    check_runs(runs, rule, second_rule)
    used = choose_rule(rule, n_p, runs, law)
    second_tokens = tokens_of_second(second_rule, used or law.compute)
    other = choose_rule(second_rule, second_tokens, runs, law, "second_rule")
    question = {"budget": budget, "target_loss": target, "our_params": our_params, "our_samples": our_samples}
    name = f"option target_{'metric' if metric else 'loss'}"
    asked = read_question(texts_of({**scenario, **question}), "python", target=name, metric=metric)
    return answer_question(law, asked, used, other, maps)


def _read_maps(law: Fit, maps: Fit | Sequence[Fit], metric: str) -> tuple[Through, ...]:
    from isoplan.engine.fitting import Fit
    from isoplan.engine.planning.plan.metric import through

    several = [maps] if isinstance(maps, Fit) else maps
    return tuple(through(law, single(one, "metric_map"), metric) for one in several)


def _read_target(loss: Amount | None, metric: str | Mapping[str, Amount] | None) -> tuple[str, Amount | None]:
    """Return the name of the target metric and the target value.

    The name is empty if the target is a value of the quantity that the law predicts. The value is None without a
    target.
    """
    if metric is None:
        return "", loss
    if isinstance(metric, str):
        name, _, value = metric.rpartition("=")
        metric = {name.strip(): value}
    if len(metric) != 1 or not all(metric):
        raise PlannerError('Option target_metric: name one metric and its value, as in {"R": 5000}.')
    ((name, amount),) = metric.items()
    return name, amount
