"""Conversion of a typed compute rule to a rule, for the terminal and Python.

A rule is typed as a name (6ND), as a formula in N and D, or as "measured" to be fitted to the C of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NoReturn

from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.scenario.fields import Place
from isoplan.engine.quantities import parse_number

if TYPE_CHECKING:
    from isoplan.engine.arrays import Floats
    from isoplan.engine.costs import ComputeRule
    from isoplan.engine.costs.measured import MeasuredRule
    from isoplan.engine.schema import Runs

MEASURED = "measured"


def option_name(name: str, place: Place) -> str:
    """Return an option as the user types it: ``--second-rule`` in the terminal, ``second_rule`` in Python."""
    return f"--{name.replace('_', '-')}" if place == "terminal" else name


def is_measured(rule: object) -> bool:
    """Return whether ``rule`` is a typed text that requires a fit to the measured C of runs."""
    return isinstance(rule, str) and rule.partition(":")[0] == MEASURED


def read_typed_rule(rule: str, n_p: str, place: Place, option: str = "rule") -> ComputeRule | None:
    """Read a compute rule from the text ``rule`` and the tokens per sample ``n_p``; None if both are empty.

    ``rule`` is 6ND, 6npND, NAME:FIELD=VALUE,..., or a formula. If it is empty, ``n_p`` means the rule 6npND. Raises
    PlannerError, which names ``option`` or n_p.
    """
    from isoplan.engine.costs import compute_rule
    from isoplan.engine.costs.measured import FIELDS, rule_of

    if not rule and not n_p:
        return None
    tokens = option_name("n_p", place)
    name, colon, numbers = rule.partition(":")
    if (colon or name != "6npND") and name in FIELDS:
        return rule_of(name, _read_numbers(name, numbers, n_p, option_name(option, place)), {})
    if rule == "6ND" and n_p:
        raise PlannerError(f"Option {tokens}: the rule 6ND does not read it. Use the rule 6npND, or remove {tokens}.")
    if rule == "6npND" and not n_p:
        raise PlannerError(f"Option {tokens}: the rule 6npND needs the tokens per sample. Add it, as in {tokens}=40.")
    value = parse_number(n_p, f"option {tokens}") if n_p else 1.0
    if rule in ("", "6ND", "6npND"):
        return compute_rule(rule or "6npND", value)
    return compute_rule("formula", value, rule)


def _read_numbers(name: str, text: str, n_p: str, option: str) -> dict[str, str]:
    """Read the numbers of a rule from a text such as "s=2%,h=188".

    They are returned as texts by field. ``n_p`` is added if it is given.
    """
    from isoplan.engine.costs.measured import FIELDS

    numbers = {"n_p": n_p} if n_p else {}
    for entry in filter(str.strip, text.split(",")):
        field, equals, value = (part.strip() for part in entry.partition("="))
        if not equals:
            raise PlannerError(f"Option {option}: {entry!r} cannot be read. Write {name}:{FIELDS[name][0]}=NUMBER.")
        if field in numbers:
            raise PlannerError(f"Option {option}: {field} is given twice. Remove one of the two.")
        numbers[field] = value
    return numbers


def fit_rule(
    rule: str, n_p: str, columns: Callable[[], Mapping[str, Floats]] | None, place: Place, option: str = "rule"
) -> MeasuredRule:
    """Fit the measured ``rule`` to runs. ``columns`` returns their N, D and C; it is None if there are no runs.

    Raises PlannerError if there are no runs or if ``n_p`` is given, which such a rule does not use.
    """
    from isoplan.engine.costs.measured import measured_rule

    tokens = option_name("n_p", place)
    if n_p:
        raise PlannerError(f"Option {tokens}: the {option} {MEASURED} does not read it. Remove {tokens}.")
    if columns is None:
        named, runs = option_name(option, place), option_name("runs", place)
        raise PlannerError(f"Option {named}: {MEASURED} needs runs with a column of C. Add {runs}.")
    return measured_rule(rule.partition(":")[2] or "zetaND", columns())


def measured_columns(runs: Runs) -> dict[str, Floats]:
    """Return N, D and C of the runs by name, each (n,), without those that the table lacks.

    C is included if it is a column or follows from a formula of columns, but not if it follows from a compute rule.
    """
    return {role: runs[role] for role in ("N", "D", "C") if role in runs and getattr(runs.roles, role)}


def tokens_of_second(rule: str, used: ComputeRule) -> str:
    """Return the tokens per sample for a second ``rule``, as text.

    They are those of the first rule ``used``; empty if the second rule does not need them.
    """
    from isoplan.engine.costs.measured import FIELDS

    name = rule.partition(":")[0]
    counts = rule == "6npND" or not (rule in ("", "6ND") or name in (*FIELDS, MEASURED))
    return f"{used.n_p:g}" if counts else ""


def check_runs(given: str, place: Place, *rules: object) -> None:
    """Raise PlannerError if the option ``given`` names runs although no rule is fitted to runs."""
    if given and not any(map(is_measured, rules)):
        refuse_alone(given, "rule", place, f" {MEASURED}")


def refuse_alone(given: str, other: str, place: Place, value: str = "") -> NoReturn:
    """Raise PlannerError that the option ``given`` requires the option ``other`` with this ``value``."""
    option = option_name(given, place)
    raise PlannerError(f"Option {option} requires {option_name(other, place)}{value}. Add it, or leave {option} out.")
