"""The answer to "Smaller for longer" in words, tables and charts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.questions.answer import Answer, Part, Table, tabulate
from isoplan.engine.planning.questions.chart import Chart
from isoplan.engine.planning.questions.given import Given
from isoplan.engine.planning.scenario.prices import Inference
from isoplan.engine.planning.smaller.answer import Lifetime, SameLoss, lifetime, lifetime_curve, same_loss
from isoplan.engine.planning.smaller.charts import chart_lifetime, chart_overhead
from isoplan.engine.planning.smaller.document import document
from isoplan.engine.planning.smaller.text import (
    lifetime_rows,
    lifetime_sentence,
    lifetime_text,
    same_loss_text,
    size_rows,
    smallest_sentence,
    warnings,
)
from isoplan.engine.quantities import power10

UNSERVED = (
    "Give the queries over its life under Machine and prices to see which size trains and answers them at least cost."
)


@dataclass(frozen=True, eq=False, repr=False)
class Smaller(Answer):
    """Models of one loss in ``result``, and the cheapest one over its life (None without queries)."""

    lifetime: Lifetime | None = None


def answer(fit: Fit, given: Given) -> Smaller:
    """Return the models that reach the requested loss. Raises PlannerError as ``same_loss`` does."""
    curve, served = same_loss(fit, given.loss, given.rule, given.prices), given.queries
    life = None
    if served is not None and curve.plan.answers:
        life = lifetime(fit, given.loss, served, given.rule, given.prices)
    return Smaller(
        curve,
        "\n\n".join([same_loss_text(curve), *([lifetime_text(life)] if life else [])]),
        document(curve, life, served, given.file, given.group),
        warnings(curve, life),
        _name(curve),
        tuple(filter(None, [smallest_sentence(curve)])),
        lifetime_sentence(life) if life else "",
        (*_sizes(curve, life), *(_life(fit, given, life, served) if life and served else ())),
        UNSERVED if served is None else "",
        lifetime=life,
    )


def _name(curve: SameLoss) -> str:
    asked = curve.plan.question
    of = f"of {power10(asked.value)} FLOPs" if asked.kind == "budget" else f"{asked.value:.4g}"
    return f"{curve.plan.y} {of}"


def _sizes(curve: SameLoss, life: Lifetime | None) -> tuple[Part, ...]:
    """Return the training costs of each size; empty if the runs do not support the plan."""
    if not curve.plan.answers:
        return ()
    head, *rows = size_rows(curve)
    table = Table((*head[:-1], "Note"), tuple(rows), "Models of the same loss in numbers.")
    dashed = "" if curve.beyond.max() <= 0.005 else "; what is dashed lies beyond the runs"
    caption = f"The star is the best size for training; the tint is the 68 % interval{dashed}."
    cheapest = life.fraction.value if life is not None and life.answers else None
    return (Part(table, partial(chart_overhead, curve, cheapest), caption=caption),)


def _life(fit: Fit, given: Given, life: Lifetime, served: Inference) -> tuple[Part, ...]:
    """Return the lifetime costs of each size; empty if the runs do not support the cheapest."""
    if not life.answers:
        return ()

    def chart() -> Chart:
        return chart_lifetime(lifetime_curve(fit, given.loss, served, given.rule, given.prices), life)

    table = tabulate(lifetime_rows(life), "The cheapest size over its life in numbers.")
    return (Part(table, chart if life.total.value is not None else None, "Over its life"),)
