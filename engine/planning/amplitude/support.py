"""Limit of extrapolation of amplitude plans, and what the runs support beyond this limit."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from isoplan.engine.fitting.types.result import FitWarning
from isoplan.engine.planning.amplitude.anchors import UNITS
from isoplan.engine.planning.amplitude.needs import Need
from isoplan.engine.planning.amplitude.plan import AmplitudePlan
from isoplan.engine.planning.amplitude.precision import asked, lower_first, number
from isoplan.engine.planning.amplitude.sizes import AXES, Size
from isoplan.engine.planning.answer.format import decades
from isoplan.engine.planning.plan.answer import EXTRAPOLATED, FAR, UNSUPPORTED
from isoplan.engine.planning.plan.support import ANSWERED, MARKED

SECOND = 10.0
"""Factor from the last run to the next recommended run."""
FARTHEST = 100.0
"""Largest factor from the last run to a recommended run that makes the target near enough."""
OF_RANGE = frozenset({"wide-range", "unbounded"})
"""Codes of warnings about a range, dropped if the range is not stated."""
NOT_STATED = "not stated: too far beyond the runs"


def supported(plan: AmplitudePlan) -> AmplitudePlan:
    """Return ``plan`` with its support: beyond one decade it is marked, beyond three it has no range.

    In place of the range it then states what the runs support. The largest distance of its ranges counts, each taken at
    its conservative end.
    """
    if plan.stopped or not plan.needs:
        return plan
    distances = [f"{need.axis} by {_away(need)}" for need in plan.needs if need.beyond > 0.005]
    if not distances:
        return plan
    need = max(plan.needs, key=lambda one: one.beyond)
    where = ", ".join(distances)
    if need.beyond <= ANSWERED:
        code = FAR if need.beyond > MARKED else EXTRAPOLATED
        warning = FitWarning(code, f"The answer lies beyond {plan.runs}: {where}.")
        return replace(plan, warnings=(*plan.warnings, warning))
    D, N, C = (Size(None, None, UNITS[axis], NOT_STATED) for axis in AXES)
    kept = [w for w in plan.warnings if w.code not in OF_RANGE]
    stop = FitWarning(UNSUPPORTED, f"The plan lies too far beyond {plan.runs} to be an answer: {where}.")
    return replace(plan, D=D, N=N, C=C, needs=(), change="", warnings=(stop, *kept), stopped=_in_place(plan, need))


def _in_place(plan: AmplitudePlan, need: Need) -> str:
    """Return what the runs support, how far beyond them the target lies, and which run would extend the support."""
    axis, start, unit = need.axis, need.start[0], UNITS[need.axis]
    most = start * 10**ANSWERED
    down = lower_first(asked(replace(plan.target, mse=_reached(need, most))))
    goal = f"{asked(plan.target)} for {plan.n_f} final-state particles"
    start_at, end = (number(x, unit) for x in (start, most))
    return (
        f"Plans from {plan.runs} at {axis} = {start_at} {unit} are supported up to {axis} = {end}, for {down} or "
        f"more. {goal} lies {_away(need)} beyond in {axis}. {_next(plan, need)}"
    )


def _away(need: Need) -> str:
    return decades(need.beyond) if math.isfinite(need.beyond) else "more decades than can be counted"


def _reached(need: Need, x: float) -> float:
    """Return the loss at ``x`` by the conservative curve."""
    if len(need.x) and need.x[-1] >= x:
        return float(np.exp(np.interp(math.log(x), np.log(need.x), np.log(need.slow_loss))))
    return need.floor + (need.start[1] - need.floor) * (need.start[0] / x) ** need.slow.value


def _next(plan: AmplitudePlan, need: Need) -> str:
    """Return the run that makes the target near enough; if it is too far, the run that measures the exponent."""
    axis, start, unit = need.axis, need.start[0], UNITS[need.axis]
    enough = need.farthest / 10**ANSWERED
    if enough <= start * FARTHEST:
        return f"Train a run near {axis} = {number(enough, unit)} {unit} first."
    alone = len({a.x for a in plan.anchors if a.axis == axis}) == 1
    why = ": the exponent of two runs takes the place of the bound" if alone else ""
    return f"Train a run at {axis} = {number(SECOND * start, unit)} {unit} and ask again{why}."
