"""The law catalogue. A new law is a new description here; nothing else changes."""

from engine.errors import PlannerError
from engine.laws.chinchilla import CHINCHILLA
from engine.laws.isoflop import ISOFLOP
from engine.laws.law import Derived, Law, Param, Point
from engine.laws.power import power_law
from engine.laws.typed import typed_law

LAWS: tuple[Law, ...] = (CHINCHILLA, power_law("N"), power_law("D"), power_law("C"), ISOFLOP)

__all__ = ["LAWS", "Derived", "Law", "Param", "Point", "get_law", "typed_law"]


def get_law(name: str, axis: str | None = None) -> Law:
    """The law called ``name``; the one-axis law needs ``axis``. Raises PlannerError for an unknown one."""
    named = [law for law in LAWS if law.name == name]
    if not named:
        known = ", ".join(dict.fromkeys((*(law.name for law in LAWS), "formula")))
        raise PlannerError(f"Law {name!r} is unknown: use one of {known}.")
    found = [law for law in named if law.axis == axis]
    if not found:
        if named[0].axis is None:
            raise PlannerError(f"Law {name} takes no axis: leave {axis} out, or use the law power.")
        axes = ", ".join(str(law.axis) for law in named)
        raise PlannerError(f"Law {name} needs an axis: say which, one of {axes}.")
    return found[0]
