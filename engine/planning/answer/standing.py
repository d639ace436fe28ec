"""Standing of an answer: inside the runs, extrapolated, target not reached, or not supported by the runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from isoplan.engine.fitting.types.warnings import Level
from isoplan.engine.planning.answer.format import distance
from isoplan.engine.planning.answer.quantity import Quantity

INSIDE, UNSUPPORTED, NOT_REACHED = "inside the runs", "not supported", "not reached"
SEEN = 0.005
"""An answer counts as inside the runs up to this distance from them, in decades."""


class Placed(Protocol):
    """An answer with a distance from the runs, such as a plan."""

    @property
    def answers(self) -> bool:
        """Whether the runs support the answer."""

    @property
    def fails(self) -> bool:
        """Whether the best fit does not reach the target."""

    @property
    def placed(self) -> Mapping[str, Quantity]:
        """Quantities, such as N and D, that determine the distance of the answer from the runs."""


@dataclass(frozen=True)
class Standing:
    """Standing of an answer as a short label, with its warning level; ``level`` is None inside the runs."""

    label: str
    level: Level | None = None


def standing_of(plan: Placed) -> Standing:
    """Return the standing of ``plan``.

    The label is "inside the runs", "extrapolated 1.2 decades (16 times)", "not reached" (the best fit does not reach
    the target) or "not supported" (the plan lies too far beyond the runs).
    """
    if not plan.answers:
        return Standing(UNSUPPORTED, Level.STOP)
    if plan.fails:
        return Standing(NOT_REACHED, Level.STOP)
    far = max((q.beyond for q in plan.placed.values()), default=0.0)
    return Standing(f"extrapolated {distance(far)}", Level.CAUTION) if far > SEEN else Standing(INSIDE)
