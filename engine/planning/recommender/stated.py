"""Settings of the recipe at budgets beyond their sweeps.

Beyond one decade, the sentence of the recipe states the distance. Beyond three decades, the setting has no value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from isoplan.engine.fitting.types.result import Interval
from isoplan.engine.planning.answer.format import decades
from isoplan.engine.planning.answer.quantity import WITHHELD, Quantity, withheld
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.support import ANSWERED, MARKED, extrapolation
from isoplan.engine.planning.recommender.choice import SETTINGS, Choice, Setting
from isoplan.engine.planning.recommender.sweep import Optimum, off_budgets
from isoplan.engine.quantities import power10


def stated(choice: Choice, own: Sequence[Optimum], C: float) -> Choice:
    """Return ``choice``, without its value if the budget ``C`` (FLOPs) lies too far beyond the sweeps ``own``."""
    far = off_budgets(own, C)
    if far <= ANSWERED:
        return choice
    swept = [one.budget for one in own]
    span = (min(swept) / 10**ANSWERED, max(swept) * 10**ANSWERED)
    value = replace(withheld(choice.value), beyond=far)
    note = f"{WITHHELD}; its sweeps support budgets from {_range(span)}"
    return Choice(choice.setting, value, None, note, quoted=choice.quoted, remarks=choice.remarks, supported=span)


def budgets_of(plan: Plan) -> Interval | None:
    """Return the range of budgets (FLOPs) that the runs behind ``plan`` support; None if it is not known."""
    at = plan.support
    return (at.low, at.high) if at and at.axis == "C" and at.low is not None and at.high is not None else None


def marked(q: Quantity) -> str:
    """Return the distance of an extrapolated setting in brackets, or an empty string up to one decade."""
    return f" (extrapolated {decades(q.beyond)} in C)" if q.beyond > MARKED else ""


def marked_plan(plan: Plan | None, lender: str) -> str:
    """Return, in brackets, the metric ``lender`` whose law gives N and D and the distance of an extrapolation.

    The string is empty if N and D have their own law and lie within one decade of the runs.
    """
    distance = extrapolation(plan.placed, plan.y).removeprefix(", ") if plan is not None else ""
    remark = ", ".join(filter(None, (f"by {lender}" if lender else "", distance)))
    return f" ({remark})" if remark else ""


def unstated(choices: Mapping[Setting, Choice]) -> str:
    """Return a text with the supported budgets of the settings without a value at this budget; empty if none."""
    spans: dict[Interval | None, list[str]] = {}
    for setting in SETTINGS:
        if choices[setting].withheld:
            spans.setdefault(choices[setting].supported, []).append(setting)
    if not spans:
        return ""
    ranges = [f"{_range(span) if span else 'none'} for {' and '.join(names)}" for span, names in spans.items()]
    return f" This budget lies too far beyond the runs. Supported budgets: {', '.join(ranges)}."


def advice(choice: Choice) -> str:
    """Return the sentence that names the budgets at which ``choice`` has a value; empty if they are not known."""
    return f" Choose a budget from {_range(choice.supported)}." if choice.supported else ""


def _range(span: Interval) -> str:
    low, high = (power10(x, 1) for x in span)
    return f"{low} to {high} FLOPs"
