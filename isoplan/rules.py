"""Compute rules as texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from isoplan.engine.errors import PlannerError
from isoplan.options import Amount, as_text

if TYPE_CHECKING:
    from isoplan.engine.costs import ComputeRule

    Rule: TypeAlias = str | ComputeRule
    """A rule of the engine, or a text: 6ND, 6npND, NAME:FIELD=VALUE,..., measured, or a formula of N and D."""


def read_rule(rule: Rule, n_p: Amount | None, option: str = "rule") -> ComputeRule | None:
    """Return the compute rule that ``rule`` and ``n_p`` (tokens per sample) define; None without either.

    Raises PlannerError that names ``option`` or n_p.
    """
    from isoplan.engine.costs import ComputeRule, compute_rule
    from isoplan.engine.costs.measured import FIELDS, rule_of
    from isoplan.engine.quantities import parse_number

    if isinstance(rule, ComputeRule):
        return rule
    tokens = as_text(n_p)
    if not rule and not tokens:
        return None
    name, colon, numbers = rule.partition(":")
    if (colon or name != "6npND") and name in FIELDS:
        return rule_of(name, _read_numbers(name, numbers, tokens, option), {})
    if rule == "6ND" and tokens:
        raise PlannerError("Option n_p: the rule 6ND does not read it. Use the rule 6npND, or remove n_p.")
    if rule == "6npND" and not tokens:
        raise PlannerError("Option n_p: the rule 6npND needs the tokens per sample. Add it, as in n_p=40.")
    value = parse_number(tokens, "option n_p") if tokens else 1.0
    if rule in ("", "6ND", "6npND"):
        return compute_rule(rule or "6npND", value)
    return compute_rule("formula", value, rule)


def _read_numbers(name: str, text: str, tokens: str, option: str) -> dict[str, str]:
    """Return the numbers of a rule by field, from ``s=2%,h=188``."""
    numbers = {"n_p": tokens} if tokens else {}
    for entry in filter(str.strip, text.split(",")):
        field, equals, value = (part.strip() for part in entry.partition("="))
        if not equals:
            raise PlannerError(f"Option {option}: {entry!r} cannot be read. Write {name}:FIELD=NUMBER,....")
        if field in numbers:
            raise PlannerError(f"Option {option}: {field} is given twice. Remove one of the two.")
        numbers[field] = value
    return numbers
