"""One setting of a recipe: its value, the source of the value, and the costs of other values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from isoplan.engine.fitting.types.optimum_location import Place
from isoplan.engine.planning.answer.quantity import WITHHELD, Quantity

Setting = Literal["s", "B", "N", "D", "K", "lr"]
SETTINGS: tuple[Setting, ...] = ("s", "B", "N", "D", "K", "lr")
LABELS: dict[Setting, str] = {
    "s": "Embedder share s",
    "B": "Batch size B",
    "N": "Model size N",
    "D": "Training events D",
    "K": "Extra negatives K",
    "lr": "Learning rate",
}
"""Names of the settings on pages and in tables."""
FAILED = "Your runs do not determine"
"""First words of a remark which states that the user's runs of a setting cannot be fitted."""
NOT_LOCATED = "Your sweep does not locate the optimum."
"""Remark on a published value that replaces the user's sweep, because the sweep has no optimum."""


@dataclass(frozen=True)
class Alternative:
    """Another value ``x`` of a setting, and its cost compared with the chosen value.

    The unit of ``amount`` states how the cost is measured, such as "times as many samples".
    """

    x: float
    amount: Quantity


@dataclass(frozen=True)
class Choice:
    """The choice of one setting of a recipe for one metric.

    If no curve determines the ``value``, it is missing and ``note`` states the reason. ``place`` is the position of the
    value relative to its sweep (inside, outside left, ...); None for a setting without a sweep. ``band`` is the range
    of the optimum over all budgets. ``quoted`` is a statement of the paper. ``otherwise`` are other values with their
    costs. ``unpriced`` states why no such cost is known.

    ``borrowed`` is the metric that provides the law for the value; it is empty if the serving metric has its own law.
    ``remarks`` list the user's runs that were excluded, or the reasons why the user's runs do not determine the
    setting. ``supported`` is the range of budgets in FLOPs at which the runs determine the value. It is set only if the
    requested budget lies too far outside this range.
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
    unpriced: str = ""

    @property
    def withheld(self) -> bool:
        """Whether the value is missing because the budget lies too far beyond the runs."""
        return self.value.note == WITHHELD
