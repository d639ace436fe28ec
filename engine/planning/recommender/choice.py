"""One line of the recipe: a knob, its value, and what it costs to choose otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.fitting.verdict import Place
from engine.planning.quantity import WITHHELD, Quantity

Knob = Literal["s", "B", "N", "D", "K", "lr"]
KNOBS: tuple[Knob, ...] = ("s", "B", "N", "D", "K", "lr")


@dataclass(frozen=True)
class Otherwise:
    """Another value ``x`` of the knob and what it costs: ``amount`` more of what its unit names."""

    x: float
    amount: Quantity


@dataclass(frozen=True)
class Choice:
    """A knob of the recipe for one metric.

    ``place`` says where the value lies against the sweep (None for knobs that have no sweep); a value is missing where
    no curve says it, and ``note`` then names what is missing. ``band`` is the range of the optimum over all budgets,
    ``quoted`` what the paper says. ``borrowed`` is the metric whose law gives the value where the served one has none.
    ``remarks`` say what was left out of the user's runs, or why they do not determine the knob. ``supported`` are the
    budgets at which the runs would give a value, where the one that was asked for lies too far beyond them.
    """

    knob: Knob
    value: Quantity
    place: Place | None = None
    note: str = ""
    band: tuple[float, float] | None = None
    quoted: str = ""
    otherwise: tuple[Otherwise, ...] = ()
    borrowed: str = ""
    remarks: tuple[str, ...] = ()
    supported: tuple[float, float] | None = None

    @property
    def withheld(self) -> bool:
        """Whether the budget lies too far beyond the runs for a value."""
        return self.value.note == WITHHELD
