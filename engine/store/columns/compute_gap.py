"""Comparison of the compute C in a table with the compute rule, which gives C for N parameters and D samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isoplan.engine.costs import ComputeRule
from isoplan.engine.costs.measured import MeasuredRule, fit_powers, fit_zeta
from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import Roles, Runs
from isoplan.engine.store.columns.units import off_rule, unit_of_compute

FAR = 3.0
"""The user is asked about a gap if the median of (C of the table) / (C of the rule) is below ``1 / FAR`` or above
``FAR``.
"""
SCATTERED = 0.3
"""Maximum scatter of ln C about C = zeta N D. If the scatter is larger, exponents of N and D are also fitted."""


@dataclass(frozen=True)
class ComputeGap:
    """A column of C that differs from the compute rule of its table.

    ``ratio`` is the median of (C of the column) / (C of the rule). ``measured`` is a rule fitted to the column.
    """

    column: str
    ratio: float
    rule: ComputeRule
    measured: MeasuredRule

    @property
    def text(self) -> str:
        """The difference in one sentence: ``C of the table (column 'flops') is 40 times 6 N D (median).``"""
        return f"C of the table (column {self.column!r}) is {self.ratio:.2g} times {_right(self.rule)} (median)."

    @property
    def rule_text(self) -> str:
        """The right-hand side of the rule of the table, such as ``6 N D``."""
        return _right(self.rule)

    @property
    def measured_text(self) -> str:
        """The right-hand side of the rule that is fitted to the column, such as ``241 N D``."""
        return _right(self.measured.rule)

    def with_column(self, roles: Roles) -> Roles:
        """Return the mapping with the rule that is fitted to the column. Plans then compute C by this rule."""
        return roles.model_copy(update={"compute": self.measured.rule})

    def with_rule(self, roles: Roles) -> Roles:
        """Return the mapping without the column, so that C follows from N and D by the rule of the table."""
        derived = {role: formula for role, formula in roles.derived.items() if role != "C"}
        return roles.model_copy(update={"C": None, "derived": derived})


def compute_gap(runs: Runs) -> ComputeGap | None:
    """Return the gap between the column C of ``runs`` and the compute rule; None if the median ratio is within ``FAR``.

    Also returns None if C, N or D has no column in the table, or if a unit such as PF-days explains the gap.
    """
    off = off_rule(runs)
    if not off.size:
        return None
    middle = float(np.median(off))
    if abs(middle) <= np.log10(FAR) or (middle < 0 and unit_of_compute(middle)):
        return None
    sizes = [runs[role] for role in ("N", "D", "C")]
    known = np.all([np.isfinite(x) & (x > 0) for x in sizes], axis=0)
    try:
        measured = _fitted(*(x[known] for x in sizes))
    except PlannerError:  # a fitted constant out of range is due to a wrong unit, which other notes report
        return None
    return ComputeGap(str(runs.roles.C), 10**middle, runs.roles.compute, measured)


def _fitted(*sizes: np.ndarray) -> MeasuredRule:
    simple = fit_zeta(*sizes)
    if simple.scatter <= SCATTERED:
        return simple
    try:
        return fit_powers(*sizes)
    except PlannerError:
        return simple


def _right(rule: ComputeRule) -> str:
    return rule.text.removeprefix("C = ")
