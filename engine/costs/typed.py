"""Compute rules as they are typed: the one reader of the page's fields and of the terminal's ``--rule``."""

from __future__ import annotations

from collections.abc import Mapping

from engine.costs import ComputeRule, TwoPart
from engine.errors import PlannerError
from engine.quantities import parse_number, parse_share

FIELDS: dict[str, tuple[str, ...]] = {
    "6npND": ("n_p",),
    "zetaND": ("zeta",),
    "per-epoch": ("zeta", "n_p", "epochs"),
    "powers": ("zeta", "a", "b"),
    "step": ("s", "h", "B", "L", "t"),
    "stage2": ("s", "h", "B", "L", "K"),
}
"""What each rule of numbers takes."""
NEEDED: dict[str, tuple[str, ...]] = {
    "6npND": ("n_p",),
    "zetaND": ("zeta",),
    "per-epoch": ("epochs",),
    "powers": ("zeta", "a", "b"),
    "step": ("s", "h", "B"),
    "stage2": ("s", "h", "B", "K"),
}
"""What has no usual value."""


def rule_of(name: str, texts: Mapping[str, str], called: Mapping[str, str]) -> ComputeRule:
    """The rule ``name`` of FIELDS from its numbers by name; ``called`` is what sentences call each of them.

    Raises PlannerError for a number that is unknown, missing, cannot be read or makes no rule.
    """
    known = FIELDS[name]
    wrong = next((field for field in texts if field not in known), None)
    if wrong is not None:
        raise PlannerError(f"The compute rule {name} takes no {wrong}: give {', '.join(known)}.")
    missing = next((field for field in NEEDED[name] if not texts.get(field)), None)
    if missing is not None:
        raise PlannerError(f"The compute rule {name} needs the {called.get(missing, missing)}: give it.")
    numbers = {
        field: (parse_share if field == "s" else parse_number)(text, called.get(field, field))
        for field, text in texts.items()
        if text
    }
    if numbers.get("n_p", 1.0) <= 0:
        raise PlannerError(f"n_p = {numbers['n_p']:g} is not a number of tokens per sample: use a positive number.")
    if name in ("step", "stage2"):
        return ComputeRule.model_validate({"rule": name, "parts": TwoPart.model_validate(numbers)})
    return ComputeRule.model_validate({"rule": name, **numbers})
