"""Compute rules as texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from isoplan.engine.planning.scenario.typed_rules import read_typed_rule
from isoplan.options import Amount, as_text

if TYPE_CHECKING:
    from isoplan.engine.costs import ComputeRule

    Rule: TypeAlias = str | ComputeRule
    """A rule of the engine, or a text: 6ND, 6npND, NAME:FIELD=VALUE,..., measured, or a formula of N and D."""


def read_rule(rule: Rule, n_p: Amount | None, option: str = "rule") -> ComputeRule | None:
    """Return the compute rule that ``rule`` and ``n_p`` (tokens per sample) define; None without either.

    Raises PlannerError that names ``option`` or n_p.
    """
    return read_typed_rule(rule, as_text(n_p), "python", option) if isinstance(rule, str) else rule
