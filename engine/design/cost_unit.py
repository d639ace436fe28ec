"""Units of the cost of a cell and of a spend: FLOPs, hours of training, or a currency."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from isoplan.engine.quantities import SECONDS, duration, number, power10


@dataclass(frozen=True)
class CostUnit:
    """A unit of costs. ``name`` is its name in sentences and in JSON: "FLOPs", "hours" or a currency such as "EUR".

    ``write`` returns an amount as text, such as "10¹⁸", "2.0 h" or "20 EUR"; ``after`` follows this text in a sentence.
    ``label`` is the title of an axis of spends, and ``digits`` the d3 format of an amount on this axis.
    """

    name: str
    label: str = field(compare=False)
    write: Callable[[float], str] = field(compare=False, repr=False)
    after: str = field(default="", compare=False)
    digits: str = field(default=".3~g", compare=False)

    def text(self, amount: float) -> str:
        """Return ``amount`` as text in a sentence, such as "10¹⁸ FLOPs" or "2.0 h of training"."""
        return f"{self.write(amount)}{self.after}"


FLOPS = CostUnit("FLOPs", "Compute spent on cells", power10, " FLOPs", ".2e")
HOURS = CostUnit("hours", "Training time of cells", lambda hours: duration(SECONDS["h"] * hours), " of training")


def money(currency: str) -> CostUnit:
    """Return the unit of costs in ``currency``."""
    return CostUnit(currency, "Money spent on cells", lambda amount: f"{number(amount, 3)} {currency}")
