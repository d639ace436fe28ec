"""Document of a smaller model that is trained for longer."""

from __future__ import annotations

import math

from isoplan.engine.fitting.types.result import Interval
from isoplan.engine.planning.answer.document import Document, Line, warned
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.answer.script import call, literal, reading, script
from isoplan.engine.planning.plan.document import limits_literal
from isoplan.engine.planning.scenario.prices import Inference
from isoplan.engine.planning.scenario.prices_json import inference_json, prices_json
from isoplan.engine.planning.smaller.answer import SHOWN, Lifetime, SameLoss
from isoplan.engine.planning.smaller.text import (
    LINES,
    half_sentence,
    lifetime_sentence,
    smallest_sentence,
    to_json,
    warnings,
)

NOISE = 1e-6
"""Relative difference of compute below which two values count as equal."""
HOMES = {
    "Question": "isoplan.engine.planning",
    "lifetime": "isoplan.engine.planning.smaller.answer",
    "lifetime_text": "isoplan.engine.planning.smaller.text",
    "read_inference": "isoplan.engine.planning.scenario.prices_json",
    "same_loss": "isoplan.engine.planning.smaller.answer",
    "same_loss_text": "isoplan.engine.planning.smaller.text",
}


def document(
    curve: SameLoss, life: Lifetime | None, served: Inference | None, fit: str = "fit.json", group: str = ""
) -> Document:
    """Return the models of one loss, and the cheapest over its life if its queries ``served`` are known.

    ``fit`` is the file that the script reads, ``group`` the planned group of it.
    """
    said = half_sentence(curve)
    stated = life is not None and life.answers
    over = [(f"Over its life: {label}", getattr(life, name)) for name, label in LINES.items()] if stated else []
    lines = (*_sizes(curve), ("Smallest size that reaches the loss", curve.smallest), *over)
    if not curve.plan.answers:
        lines = ()
    notes = (
        *filter(None, [smallest_sentence(curve)]),
        *([lifetime_sentence(life)] if life else []),
        f"Compute rule: {curve.plan.compute.text}.",
        *warned(warnings(curve, life)),
    )
    return Document(said, lines, notes, to_json(curve, life), _script(curve, served, fit, group))


def _sizes(curve: SameLoss) -> list[Line]:
    """Return N, D and the extra compute relative to the best size, for the sizes in tables."""
    found: list[Line] = []
    for i, k in enumerate(curve.fraction):
        if k not in SHOWN or not curve.stated[i]:
            continue
        size, units = f"{k:.2f} N*", (curve.plan.allocation[name].unit for name in ("N", "D"))
        far = float(curve.beyond[i])
        note = "" if curve.within[i] else "beyond the limits"
        for name, unit in zip(("N", "D"), units, strict=True):
            value = _finite(getattr(curve, name)[i])
            found.append((f"{size}: {name}", Quantity(value, unit=unit, note=note)))
        more, ends = _finite(_clean(curve.overhead[i])), _ends(curve.low68[i], curve.high68[i])
        found.append((f"{size}: more compute", Quantity(more, ends, unit="of C*", beyond=far, note=note)))
    return found


def _ends(low: float, high: float) -> Interval | None:
    return None if math.isnan(low) or math.isnan(high) else (_clean(low), _clean(high))


def _clean(x: float) -> float:
    return float(x) if abs(x) > NOISE else 0.0


def _finite(x: float) -> float | None:
    return float(x) if math.isfinite(x) else None


def _script(curve: SameLoss, served: Inference | None, fit: str, group: str) -> str:
    plan, given = curve.plan, [f"rule=read_rule({literal(curve.plan.compute.to_json())})"]
    if plan.prices is not None:
        given.append(f"prices=read_prices({literal(prices_json(plan.prices))})")
    asked = [repr(plan.question.kind), repr(plan.question.value)]
    asked += [limits_literal(plan.question.limits)] if plan.question.limits.given else []
    body = [
        f"fit = {reading(fit, group)}",
        f"question = Question({', '.join(asked)})",
        *call("curve", "same_loss", ["fit", "question", *given]),
        "print(same_loss_text(curve))",
    ]
    if served is not None:
        body += [f"served = read_inference({literal(inference_json(served))})"]
        body += [*call("life", "lifetime", ["fit", "question", "served", *given]), "print(lifetime_text(life))"]
    return script(half_sentence(curve), body, HOMES)
