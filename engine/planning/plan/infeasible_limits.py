"""Infeasible limits: the smallest subset of the given limits that together allow no answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from isoplan.engine.laws import Law
from isoplan.engine.planning.scenario.limits import LimitName, named
from isoplan.engine.planning.scenario.prices import Prices

OF_SPENDING: tuple[LimitName, ...] = ("budget", "hours", "money")
AMPLE = 1e6
"""Factor on the budget that makes it large enough not to be a limit."""


def clash(
    law: Law, limits: Mapping[LimitName, float], works: Callable[[Mapping[LimitName, float]], bool]
) -> dict[LimitName, float]:
    """Return the limits that contradict: no answer with all of them, but one if any of them is removed.

    ``works`` returns whether limits allow an answer, and is false for all of ``limits``. Limits without an effect are
    left out one by one, those on spending first, so that a size limit that no spending can offset is named. A budget is
    part of every question, so it becomes very large instead of being removed.
    """
    left = dict(limits)
    found = dict(limits)
    for name in sorted(limits, key=OF_SPENDING.__contains__, reverse=True):
        without = _without(law, left, name)
        if not works(without):
            left = without
            del found[name]
    return found


def _without(law: Law, limits: Mapping[LimitName, float], name: LimitName) -> dict[LimitName, float]:
    """Return ``limits`` without the one called ``name``."""
    if name == "budget":
        return {**limits, name: AMPLE * limits[name]}
    if name == "unique" and law.repeats:  # the law uses it
        return {**limits, name: np.inf}
    return {other: most for other, most in limits.items() if other != name}


def listed(limits: Mapping[LimitName, float], prices: Prices | None) -> str:
    """Return limits as a phrase for a sentence: "2 M unique samples and 100 M parameters"."""
    return " and ".join(named(name, most, prices) for name, most in limits.items())


def loosen(limits: Mapping[LimitName, float]) -> str:
    """Return what to do about the limits."""
    return "loosen one of them" if len(limits) > 1 else "loosen it"
