"""Conversion of typed texts to compute rules, for the terminal and Python.

The text of a rule is a name (such as 6ND), a formula in N and D, or "measured". The text "measured" requests a rule
that is fitted to the measured C of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NoReturn

from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.scenario.fields import Place
from isoplan.engine.quantities import parse_number

if TYPE_CHECKING:
    from isoplan.engine.costs import ComputeRule
    from isoplan.engine.schema import Runs

MEASURED = "measured"


def option_name(name: str, place: Place) -> str:
    """Return an option as typed at ``place``: ``--second-rule`` in the terminal, ``second_rule`` in Python."""
    return f"--{name.replace('_', '-')}" if place == "terminal" else name


def is_measured(rule: object) -> bool:
    """Return whether ``rule`` is the text "measured" or "measured:NAME", which requests a fit to the C of runs."""
    return isinstance(rule, str) and rule.partition(":")[0] == MEASURED


def read_typed_rule(rule: str, n_p: str, place: Place, option: str = "rule") -> ComputeRule | None:
    """Read a compute rule from the text ``rule`` and the tokens per sample ``n_p``; None if both texts are empty.

    ``rule`` is "6ND", "6npND", "NAME:FIELD=VALUE,...", or a formula in N and D. If only ``n_p`` is given, the rule is
    6npND. Raises PlannerError if a text is wrong; the message names ``option`` or n_p.
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
        raise PlannerError(f"Option {tokens}: the rule 6ND does not use it. Use the rule 6npND, or remove {tokens}.")
    if rule == "6npND" and not n_p:
        raise PlannerError(f"Option {tokens}: the rule 6npND needs the tokens per sample. Add it, as in {tokens}=40.")
    value = parse_number(n_p, f"option {tokens}") if n_p else 1.0
    if rule in ("", "6ND", "6npND"):
        return compute_rule(rule or "6npND", value)
    return compute_rule("formula", value, rule)


def _read_numbers(name: str, text: str, n_p: str, option: str) -> dict[str, str]:
    """Read the numbers of the rule ``name`` from a text such as "s=2%,h=188".

    Returns the number of each field as text. The field n_p is included if ``n_p`` is not empty.
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


def choose_rule(
    rule: str | ComputeRule,
    n_p: str,
    read_runs: Callable[[], Runs] | None,
    place: Place,
    option: str = "rule",
    tell: Callable[[Iterable[str]], object] | None = None,
) -> ComputeRule | None:
    """Return the compute rule for the text ``rule`` and ``n_p`` tokens per sample; None if both texts are empty.

    A ``rule`` that is not a text is returned unchanged. The rule "measured" is fitted to N, D and C of the runs that
    ``read_runs`` returns; ``read_runs`` is None if no runs are given. C must be a column of the table or a formula in
    its columns. ``tell`` is called first with the notes on these runs, then with a sentence that states the fitted
    rule. Raises PlannerError if a text is wrong; the message names ``option`` or n_p.
    """
    from isoplan.engine.costs.measured import measured_rule

    if not isinstance(rule, str):
        return rule
    if not is_measured(rule):
        return read_typed_rule(rule, n_p, place, option)
    named, tokens = option_name(option, place), option_name("n_p", place)
    if n_p:
        raise PlannerError(f"Option {tokens}: the {option} {MEASURED} does not use it. Remove {tokens}.")
    if read_runs is None:
        with_runs = option_name("runs", place)
        raise PlannerError(f"Option {named}: {MEASURED} needs runs with a column of C. Add {with_runs}.")
    runs = read_runs()
    columns = {role: runs[role] for role in ("N", "D", "C") if role in runs and getattr(runs.roles, role)}
    if tell:
        tell(runs.notes)
    fitted = measured_rule(rule.partition(":")[2] or "zetaND", columns)
    if tell:
        tell([f"{named} {rule} is {fitted.text}."])
    return fitted.rule


def tokens_of_second(rule: str | ComputeRule, used: ComputeRule) -> str:
    """Return n_p as text for a second ``rule``: the number of tokens per sample of the first rule (``used``).

    The text is empty if the second rule does not depend on n_p.
    """
    from isoplan.engine.costs.measured import FIELDS

    if not isinstance(rule, str):
        return ""
    name = rule.partition(":")[0]
    counts = rule == "6npND" or not (rule in ("", "6ND") or name in (*FIELDS, MEASURED))
    return f"{used.n_p:g}" if counts else ""


def check_runs(given: str, place: Place, *rules: object) -> None:
    """Raise PlannerError if the option ``given`` names runs but none of ``rules`` is fitted to runs."""
    if given and not any(map(is_measured, rules)):
        refuse_alone(given, "rule", place, f" {MEASURED}")


def refuse_alone(given: str, other: str, place: Place, value: str = "") -> NoReturn:
    """Raise PlannerError, which states that the option ``given`` requires the option ``other`` with this ``value``."""
    option = option_name(given, place)
    raise PlannerError(f"Option {option} requires {option_name(other, place)}{value}. Add it, or leave {option} out.")
