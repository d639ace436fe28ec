"""Which limits stand in the way of an answer: of all that were given the few that together allow none."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from isoplan.engine.laws import Law
from isoplan.engine.planning.scenario.limits import LimitName, named
from isoplan.engine.planning.scenario.prices import Prices

OF_SPENDING: tuple[LimitName, ...] = ("budget", "hours", "money")
AMPLE = 1e6
"""How many times the budget counts as a budget that is no limit."""


def clash(
    law: Law, limits: Mapping[LimitName, float], works: Callable[[Mapping[LimitName, float]], bool]
) -> dict[LimitName, float]:
    """The limits that contradict: ``works`` with none of them loosened, and with any one of them gone.

    ``works`` says whether limits leave an answer, and does not for all of ``limits``. Limits that only look on are
    left out one by one, those on spending first, so that a size that no spending makes up for is what is named; a
    budget, which no question goes without, becomes ample instead.
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
    """``limits`` with the one called ``name`` out of the way."""
    if name == "budget":
        return {**limits, name: AMPLE * limits[name]}
    if name == "unique" and law.repeats:  # the law reads it
        return {**limits, name: np.inf}
    return {other: most for other, most in limits.items() if other != name}


def listed(limits: Mapping[LimitName, float], prices: Prices | None) -> str:
    """Limits as a sentence names them: "2 M unique samples and 100 M parameters"."""
    return " and ".join(named(name, most, prices) for name, most in limits.items())


def loosen(limits: Mapping[LimitName, float]) -> str:
    """What to do about them."""
    return "loosen one of them" if len(limits) > 1 else "loosen it"
