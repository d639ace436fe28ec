"""One line of the recipe: a setting, its value, and the cost of another choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from isoplan.engine.fitting.types.optimum_location import Place
from isoplan.engine.planning.answer.quantity import WITHHELD, Quantity

Setting = Literal["s", "B", "N", "D", "K", "lr"]
SETTINGS: tuple[Setting, ...] = ("s", "B", "N", "D", "K", "lr")


@dataclass(frozen=True)
class Alternative:
    """Another value ``x`` of the setting and its cost: an increase by ``amount``, in the unit of ``amount``."""

    x: float
    amount: Quantity


@dataclass(frozen=True)
class Choice:
    """One setting of the recipe for one metric.

    ``place`` is the position of the value in the sweep (None for a setting without a sweep). If no curve determines the
    value, it is missing and ``note`` gives the reason. ``band`` is the range of the optimum over all budgets.
    ``quoted`` is the statement of the paper. ``borrowed`` names the metric whose law gives the value; it is empty if
    the served metric has its own law. ``remarks`` list the user's runs that were left out, or the reasons for which
    they do not determine the setting. ``supported`` is the range of budgets (FLOPs) at which the runs determine the
    value; it is None unless the given budget lies too far outside it.
    """

    setting: Setting
    value: Quantity
    place: Place | None = None
    note: str = ""
    band: tuple[float, float] | None = None
    quoted: str = ""
    otherwise: tuple[Alternative, ...] = ()
    borrowed: str = ""
    remarks: tuple[str, ...] = ()
    supported: tuple[float, float] | None = None

    @property
    def withheld(self) -> bool:
        """Whether the value is missing because the budget lies too far beyond the runs."""
        return self.value.note == WITHHELD
