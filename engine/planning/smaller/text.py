"""Answer to "Smaller for longer" as text, JSON and document."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from isoplan.engine.arrays import finite
from isoplan.engine.fitting.types.result import FitWarning, Interval
from isoplan.engine.fitting.types.warnings import by_level
from isoplan.engine.planning.answer import quantity
from isoplan.engine.planning.answer.document import Document, Line, warned
from isoplan.engine.planning.answer.format import Row, aligned, as_row, between, decades, number, table, with_interval
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.answer.script import call, literal, reading, script
from isoplan.engine.planning.plan.document import limits_literal
from isoplan.engine.planning.plan.document import to_json as planned
from isoplan.engine.planning.plan.support import extrapolation, farthest, in_place
from isoplan.engine.planning.scenario.prices import Inference
from isoplan.engine.planning.scenario.prices_json import inference_json, prices_json
from isoplan.engine.planning.smaller.answer import SHOWN, Lifetime, SameLoss
from isoplan.engine.quantities import count

NOISE = 1e-6
"""Relative difference below which two amounts of compute, or two total costs, count as equal."""
HOMES = {
    "Question": "isoplan.engine.planning",
    "lifetime": "isoplan.engine.planning.smaller.answer",
    "lifetime_text": "isoplan.engine.planning.smaller.text",
    "read_inference": "isoplan.engine.planning.scenario.prices_json",
    "same_loss": "isoplan.engine.planning.smaller.answer",
    "same_loss_text": "isoplan.engine.planning.smaller.text",
}
HALF = 0.5
LINES = {
    "N": "Model size N",
    "D": "Training samples D",
    "C": "Training compute C",
    "total": "Training and inference",
    "training_alone": "Training and inference of the best size for training",
    "saved": "Saved",
    "fraction": "Size",
}


def size_rows(curve: SameLoss) -> list[tuple[str, ...]]:
    """Return the table of training costs as texts: first the headings, then one row per model size.

    Sizes that the runs do not support are skipped.
    """
    at = [i for i, k in enumerate(curve.fraction) if k in SHOWN and curve.stated[i]]
    head = ("Size / N*", "N", "D", "More compute", "68 %", "")
    return [
        head,
        *(
            (
                f"{curve.fraction[i]:.2f}",
                count(float(curve.N[i])),
                count(float(curve.D[i])),
                _percent(curve.overhead[i]),
                _spread(curve.low68[i], curve.high68[i]),
                _note(bool(curve.within[i]), float(curve.beyond[i])),
            )
            for i in at
        ),
    ]


def _note(within: bool, beyond: float) -> str:
    far = [f"{decades(beyond)} beyond the runs"] if beyond > 0.005 else []
    return ", ".join([*([] if within else ["beyond the limits"]), *far])


def half_sentence(curve: SameLoss) -> str:
    """Return a sentence on the training cost of half the best size.

    If the runs do not support the plan, the sentence describes what the runs support.
    """
    if not curve.plan.answers:
        return curve.plan.sentence
    loss, unit = f"{curve.plan.y} {float(abs(curve.best.loss)):.4g}", curve.plan.allocation["D"].unit
    i = int(np.searchsorted(curve.fraction, HALF))
    if curve.fraction[i] != HALF:
        return f"No model reaches {loss} with half of the best size of {count(float(curve.best.N))} parameters."
    if not curve.stated[i]:
        far = decades(float(curve.beyond[i]))
        return f"Half the best size lies {far} beyond the runs, which is too far for an answer."
    sure = _spread(curve.low68[i], curve.high68[i])
    sizes = f"{count(float(curve.N[i]))} parameters on {count(float(curve.D[i]))} {unit}"
    allowed = "" if curve.within[i] else ", but that is beyond the limits"
    return (
        f"Half the best size reaches {loss} for {_percent(curve.overhead[i])} more compute"
        f"{f' (68 %: {sure})' if sure else ''}: {sizes}{allowed}{extrapolation(curve.plan.placed, curve.plan.y)}."
    )


def smallest_sentence(curve: SameLoss) -> str:
    """Return a sentence on the size below which no number of samples is enough; empty if the plan is not supported."""
    if not curve.plan.answers:
        return ""
    smallest = curve.smallest
    spread = f" (68 %: {between(smallest, smallest.ci68)})" if smallest.ci68 else ""
    size = f"{number(smallest)}{spread} of the best size"
    return f"Models below {size} do not reach this loss with any number of samples."


def same_loss_text(curve: SameLoss) -> str:
    """Return the training costs of models of the same loss as a table for a terminal."""
    rule = f"Compute rule: {curve.plan.compute.text}."
    body = [curve.plan.sentence, "", rule]
    if curve.plan.answers:
        head = f"Models that reach the same {curve.plan.y} {float(abs(curve.best.loss)):.4g}:"
        body = [head, "", *aligned(size_rows(curve)), "", smallest_sentence(curve), rule]
    return "\n".join([*body, *_warnings(curve.plan.warnings)])


def lifetime_sentence(found: Lifetime) -> str:
    """Return a sentence on the model with the least total cost of training and inference."""
    sizes = found.sizes
    if found.support is not None:
        name, far = farthest(sizes)
        away = f"The cheapest model over its life lies {decades(far)} beyond the runs in {name}."
        return in_place(found.support, {name: q.unit for name, q in sizes.items()}, away)
    if found.saved.value is None:
        return (
            f"Including inference, the cheapest model has {with_interval(found.N)}, trained on "
            f"{with_interval(found.D)}{extrapolation(sizes)}. The saving is not known: {_why(found)}."
        )
    if found.saved.value < NOISE:
        return (
            f"The best model for training alone is also the cheapest with inference: {with_interval(found.N)} "
            f"on {with_interval(found.D)}{extrapolation(sizes)}."
        )
    saved = 100 * found.saved.value
    spread = (
        f" (68 %: {100 * found.saved.ci68[0]:.2g} to {100 * found.saved.ci68[1]:.2g} %)" if found.saved.ci68 else ""
    )
    return (
        f"Including inference, the cheapest model has {with_interval(found.N)}, trained on {with_interval(found.D)}. "
        f"Over its life it costs {saved:.2g} %{spread} less than the best model for training alone"
        f"{extrapolation(sizes)}."
    )


def _why(found: Lifetime) -> str:
    """Return why the money of a model is not known; empty if it is known."""
    notes = (q.note for q in (found.total, found.training_alone) if q.value is None)
    return next(notes, "").removeprefix("not known: ")


def lifetime_text(found: Lifetime) -> str:
    """Return the sentence on the cheapest model over its life, and its table, as text for a terminal."""
    lines = table(lifetime_rows(found)) if found.answers else []
    return "\n".join([lifetime_sentence(found), *(["", *lines] if lines else []), *_warnings(found.warnings)])


def lifetime_rows(found: Lifetime) -> tuple[Row, ...]:
    """Return the rows on the model of least lifetime cost; empty if the runs do not support this model."""
    return tuple(as_row(label, getattr(found, name)) for name, label in LINES.items()) if found.answers else ()


def to_json(curve: SameLoss, found: Lifetime | None) -> dict[str, Any]:
    """Return the JSON object that ``isoplan smaller --json`` prints. Unbounded and unknown numbers are null.

    The question and the ``allocation`` are those of the plan of the best size. All models have the loss of this plan.
    The arrays skip models that the runs do not support. For any other result that the runs do not support, the numbers
    are null.
    """
    plan, names = planned(curve.plan), ("fraction", "N", "D", "overhead", "low68", "high68", "beyond")
    answers = curve.plan.answers
    arrays: dict[str, Any] = {name: finite(getattr(curve, name)[curve.stated]) for name in names}
    life = {name: _stated(getattr(found, name), found.answers) for name in LINES} if found else None
    sentences = [half_sentence(curve), smallest_sentence(curve), *([lifetime_sentence(found)] if found else [])]
    return {
        **{name: plan[name] for name in ("schema", "question", "fit", "law", "y", "compute", "allocation", "p_reach")},
        **arrays,
        "within": curve.within[curve.stated].tolist(),
        "smallest": _stated(curve.smallest, answers),
        "lifetime": life,
        "sentence": " ".join(filter(None, sentences)),
        "warnings": [w.to_json() for w in warnings(curve, found)],
    }


def _stated(q: Quantity, answers: bool) -> dict[str, Any]:
    return quantity.to_json(q if answers else quantity.withheld(q))


def warnings(curve: SameLoss, found: Lifetime | None) -> tuple[FitWarning, ...]:
    """Return the warnings of the answer.

    First come the warnings of the models of equal loss, then those of the model of least lifetime cost.
    """
    return (*curve.plan.warnings, *(found.warnings if found else ()))


def _warnings(found: Iterable[FitWarning]) -> list[str]:
    return [f"\n{w.line}" for w in by_level(found)]


def _percent(x: float) -> str:
    if np.isinf(x):
        return "not reachable"
    value = 100 * x + 0.0 if abs(x) > 1e-6 else 0.0
    return f"{value:.0f} %" if abs(value) >= 10 else f"{value:.2g} %"


def _spread(low: float, high: float) -> str:
    """Return an interval in percent as text; empty if there is none or if both ends round to the same number."""
    ends = _percent(low), _percent(high)
    return "" if np.isnan(low) or ends[0] == ends[1] else " to ".join(ends)


def as_document(
    curve: SameLoss, life: Lifetime | None, served: Inference | None, fit: str = "fit.json", group: str = ""
) -> Document:
    """Return the models of one loss as a document. If ``life`` is given, include the model of least lifetime cost.

    ``fit`` is the file that the script reads, and ``group`` selects a group of runs in this file.
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
    """Return the table lines of N, D and additional compute of each size in ``SHOWN``."""
    found: list[Line] = []
    for i, k in enumerate(curve.fraction):
        if k not in SHOWN or not curve.stated[i]:
            continue
        size, far = f"{k:.2f} N*", float(curve.beyond[i])
        note = "" if curve.within[i] else "beyond the limits"
        for name in ("N", "D"):
            value, unit = finite(getattr(curve, name)[i]), curve.plan.allocation[name].unit
            found.append((f"{size}: {name}", Quantity(value, unit=unit, note=note)))
        more, ends = finite(_clean(curve.overhead[i])), _ends(curve.low68[i], curve.high68[i])
        found.append((f"{size}: more compute", Quantity(more, ends, unit="of C*", beyond=far, note=note)))
    return found


def _ends(low: float, high: float) -> Interval | None:
    return None if math.isnan(low) else (_clean(low), _clean(high))


def _clean(x: float) -> float:
    return float(x) if abs(x) > NOISE else 0.0


def _script(curve: SameLoss, served: Inference | None, fit: str, group: str) -> str:
    plan, given = curve.plan, [f"rule=read_rule({literal(curve.plan.compute.to_json())})"]
    if plan.prices is not None:
        given.append(f"prices=read_prices({literal(prices_json(plan.prices))})")
    asked = [repr(plan.question.kind), repr(plan.question.value)]
    asked += [limits_literal(plan.question.limits)] if plan.question.limits.given else []
    asked += [f"money={plan.question.money!r}"] if plan.question.money is not None else []
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
