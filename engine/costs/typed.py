"""Compute rules as they are typed: the one reader of the page's fields and of the terminal's ``--rule``."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike

from isoplan.engine.costs import ComputeRule, TwoPart
from isoplan.engine.costs.measured import MeasuredRule, fit_powers, fit_zeta
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import parse_number, parse_share

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

MEASURED = {"zetaND": fit_zeta, "powers": fit_powers}
"""The rules that can be fitted to measured C."""


def measured_rule(name: str, columns: Mapping[str, ArrayLike] | None) -> MeasuredRule:
    """The rule ``name`` of MEASURED through N, D and C, each (n,), of the runs that hold them; None without runs.

    Raises PlannerError for another name, for runs without one of the three, and for what cannot be fitted.
    """
    if name not in MEASURED:
        raise PlannerError(f"No compute rule {name!r} is fitted to measured C: use {' or '.join(MEASURED)}.")
    if columns is None:
        raise PlannerError("A rule of measured C needs the runs behind the fit: choose another compute rule.")
    missing = next((axis for axis in ("N", "D", "C") if axis not in columns), None)
    if missing is not None:
        raise PlannerError(f"A rule of measured C needs a column of {missing} in the table of runs: map one to it.")
    return MEASURED[name](columns["N"], columns["D"], columns["C"])


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
