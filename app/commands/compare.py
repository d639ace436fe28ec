"""`isoplan compare`: rank laws by how well they predict the largest runs of a table. The workspace is not opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoplan.app.commands.shared import options, reading
from isoplan.app.commands.shared.output import note, say, say_json
from isoplan.engine.arrays import finite
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.spec import read_spec
from isoplan.engine.planning.scenario.typed_rules import read_typed_rule
from isoplan.engine.quantities import parse_number
from isoplan.engine.store.columns.directions import split_direction

if TYPE_CHECKING:
    from isoplan.engine.fitting import Comparison, Validation


@options.with_reading(before="as_json")
def compare(
    table: options.Table,
    mapping: options.Mapping = None,
    metric: options.MetricName = "",
    where: options.Where = "",
    objective: options.Objective = None,
    delta: options.Delta = "1e-3",
    group: options.Group = "",
    each: options.Each = False,
    pool: options.Pool = None,
    seed: options.Seed = 0,
    rule: options.Rule = "",
    n_p: options.TokensPerSample = "",
    as_json: options.AsJson = False,
    **texts: Any,
) -> None:
    """Rank the laws by how well they predict the largest budgets."""
    from isoplan.engine.fitting.validation.comparison import compare_groups

    if each and not group:
        raise PlannerError("Option --each compares the laws for each value of a column: add --group COLUMN.")
    column, direction = split_direction(metric)
    spec = read_spec(
        "--", law="chinchilla", y=column or "loss", objective=objective or "huber-log", seed=seed, bootstrap=0,
        delta=parse_number(delta, "option --delta"),
    )  # fmt: skip
    runs = reading.read_table(
        table, reading.read_map(mapping or [], column, group=group), (column, direction), where,
        read_typed_rule(rule, n_p, "terminal"),
        each=each, pooled=reading.read_names(pool or []), **texts,
    )  # fmt: skip
    with reading.notes_of(runs):
        found = compare_groups(spec, runs, objective is None)
    note(dict.fromkeys((*runs.notes, *(w.text for one in found.values() for w in one.warnings))))
    if as_json:
        groups = {name: to_json(one) for name, one in found.items()}
        say_json({"schema": 1, "groups": groups} if each else groups[""])
    else:
        heads = {name: f"{group} = {name or 'empty'}\n" if each else "" for name in found}
        say("\n\n".join(heads[name] + as_text(one) for name, one in found.items()))


def to_json(found: Comparison) -> dict[str, Any]:
    """Return the comparison as one JSON object. Numbers that are not finite are null."""
    from isoplan.engine.fitting.validation.comparison import rows

    return {
        "schema": 1,
        "targets": found.targets,
        "laws": rows(found),
        "refused": [{"law": law, "why": why} for law, why in found.refused],
        "validation": _cuts(found.validation) if found.validation else None,
        "note": found.note,
    }


def _cuts(v: Validation) -> dict[str, Any]:
    def errors(method: str) -> dict[str, Any]:
        return {
            "runs": finite(v.error(method)),
            "best": finite(v.error(method, "best")),
            "cuts": [finite(v.cut_error(cut, method)) for cut in v.cuts],
        }

    return {
        "size": v.size,
        "cuts": [
            {"limit": c.limit, "runs": len(c.held), "best": int(c.best.sum()), "beyond": float(c.beyond.max())}
            for c in v.cuts
        ],
        "errors": {method: errors(method) for method in v.methods},
    }


def as_text(found: Comparison) -> str:
    """Return the comparison as text.

    The text has the verdict, the laws with the best law first, the baselines, and the reason for each law that was not
    fitted.
    """
    from isoplan.engine.fitting.validation.extrapolation import BASELINES
    from isoplan.engine.planning.answer.format import aligned

    v = found.validation
    baselines = [(name, v.error(name, found.targets)) for name in BASELINES] if v else []
    head = ("", "law", "error", "AIC", "BIC", "parameters")
    body = [
        (str(rank or "-"), one.key, percent(one.error), criterion(one.aic), criterion(one.bic), str(one.parameters))
        for rank, one in zip(found.ranks, found.ranked, strict=True)
    ]
    body += [("", name, percent(error), "", "", "0") for name, error in baselines]
    notes = [f"{one.key}: {one.note}" for one in found.ranked if one.note]
    return "\n".join([found.verdict, "", *aligned([head, *body]), "", found.sentence, *notes, *found.refusals])


def percent(error: float) -> str:
    """Return a relative error as a percentage, or a dash if the error is not finite."""
    return f"{error:.2%}" if abs(error) < float("inf") else "-"


def criterion(value: float) -> str:
    """Return an AIC or BIC value with one decimal, or a dash if the value is not finite."""
    return f"{value:.1f}" if abs(value) < float("inf") else "-"
