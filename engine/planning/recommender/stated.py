"""How far beyond its sweeps a knob is stated: beyond one decade it says so, beyond three it has no value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from engine.fitting.result import Interval
from engine.planning.plan import Plan
from engine.planning.quantity import WITHHELD, Quantity, withheld
from engine.planning.recommender.choice import KNOBS, Choice, Knob
from engine.planning.recommender.sweep import Optimum, off_budgets
from engine.planning.support import ANSWERED, MARKED
from engine.planning.text import decades, extrapolation
from engine.quantities import power10


def stated(choice: Choice, own: Sequence[Optimum], C: float) -> Choice:
    """``choice`` by the sweeps ``own`` as it is stated at a budget ``C``: without a value too far beyond theirs."""
    far = off_budgets(own, C)
    if far <= ANSWERED:
        return choice
    swept = [one.budget for one in own]
    span = (min(swept) / 10**ANSWERED, max(swept) * 10**ANSWERED)
    value = replace(withheld(choice.value), beyond=far)
    note = f"{WITHHELD}; its sweeps support budgets {_range(span)}"
    return Choice(choice.knob, value, None, note, quoted=choice.quoted, remarks=choice.remarks, supported=span)


def budgets_of(plan: Plan) -> Interval | None:
    """The budgets for which the runs behind a ``plan`` that is no answer support one; None where they say none."""
    at = plan.support
    return (at.low, at.high) if at and at.axis == "C" and at.low is not None and at.high is not None else None


def marked(q: Quantity) -> str:
    """What a sentence says of a knob by sweeps whose budgets lie far away; empty up to one decade."""
    return f" (extrapolated {decades(q.beyond)} in C)" if q.beyond > MARKED else ""


def marked_plan(plan: Plan | None, lender: str) -> str:
    """What a sentence says of N and D that are borrowed from the law of ``lender``, or far beyond the runs."""
    far = extrapolation(plan.placed, plan.y).removeprefix(", ") if plan is not None else ""
    said = ", ".join(filter(None, (f"by {lender}" if lender else "", far)))
    return f" ({said})" if said else ""


def unstated(choices: Mapping[Knob, Choice]) -> str:
    """Which knobs are not stated because the budget lies too far away, and where they would be; empty without any."""
    spans: dict[Interval | None, list[str]] = {}
    for knob in KNOBS:
        if choices[knob].withheld:
            spans.setdefault(choices[knob].supported, []).append(knob)
    if not spans:
        return ""
    said = [f"{' and '.join(names)} {_range(span) if span else 'at no budget'}" for span, names in spans.items()]
    listed = " and ".join(filter(None, (", ".join(said[:-1]), said[-1])))
    return f" This budget lies too far beyond the runs, which support {listed}."


def _range(span: Interval) -> str:
    low, high = (power10(x, 1) for x in span)
    return f"from {low} to {high} FLOPs"
