"""Declaration of a planner question: the part that page, terminal and Python show before it is answered."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

from isoplan.engine.planning.scenario.fields import FIELDS, LIMITS, LOSS, PRICES, Field

if TYPE_CHECKING:
    from isoplan.engine.fitting.types.result import Fit
    from isoplan.engine.planning.questions.answer import Answer
    from isoplan.engine.planning.questions.given import Given


@dataclass(frozen=True)
class PlannerQuestion:
    """A question about one fit.

    ``name`` is its command, its function in Python, and the kind of its saved answers. The Plan page shows ``title``
    with the Material symbol ``icon``, and the words ``lead`` before the first input. ``summary`` is one sentence of at
    most 66 characters. ``fit`` describes the fits that it accepts. ``fields`` are its inputs, in the order of the
    terminal. ``module`` contains the function ``answer(fit, given)``, and is imported when the question is answered.
    ``key`` is a key of the JSON that only its answers have.
    """

    name: str
    title: str
    icon: str
    summary: str
    lead: str
    fit: str
    fields: tuple[Field, ...]
    module: str
    key: str = ""

    @property
    def losses(self) -> tuple[Field, ...]:
        """The fields of a budget or a target loss, of which one must be given."""
        return self._of(LOSS)

    @property
    def limits(self) -> tuple[Field, ...]:
        """The fields that limit the answer."""
        return self._of(LIMITS)

    @property
    def prices(self) -> tuple[Field, ...]:
        """The fields of machine and prices."""
        return self._of(PRICES)

    @property
    def own(self) -> tuple[Field, ...]:
        """The fields that no other question has."""
        return tuple(field for field in self.fields if field.name not in FIELDS)

    def _of(self, fields: tuple[Field, ...]) -> tuple[Field, ...]:
        names = {field.name for field in fields}
        return tuple(field for field in self.fields if field.name in names)

    def answer(self, fit: Fit, given: Given) -> Answer:
        """Return the answer for the inputs ``given``. Raises PlannerError if there is none."""
        return cast("Answer", import_module(self.module).answer(fit, given))
