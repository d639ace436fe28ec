"""Compute rules of an answer: given by options, or fitted to measured compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoplan.engine.planning.scenario import typed_rules
from isoplan.options import Amount, as_text
from isoplan.rules import read_rule

if TYPE_CHECKING:
    from isoplan.engine.arrays import Floats
    from isoplan.engine.costs import ComputeRule
    from isoplan.engine.fitting import Fit
    from isoplan.engine.schema import Runs
    from isoplan.rules import Rule
    from isoplan.tables import Table


def choose_rule(
    rule: Rule, n_p: Amount | None, runs: Table | Runs | None, fit: Fit | None, option: str = "rule"
) -> ComputeRule | None:
    """Return the compute rule of an answer: from ``read_rule``, or fitted to the measured C of ``runs``.

    A table is read with the columns and the condition of ``fit``.
    """
    if not typed_rules.is_measured(rule):
        return read_rule(rule, n_p, option)
    columns = None if runs is None else lambda: _measured_columns(runs, fit)
    return typed_rules.fit_rule(str(rule), as_text(n_p), columns, "python", option).rule


def choose_second(rule: Rule, used: ComputeRule, runs: Table | Runs | None, fit: Fit) -> ComputeRule | None:
    """Return the second compute rule of a plan; its tokens per sample are those of ``used``."""
    n_p = typed_rules.tokens_of_second(rule, used) if isinstance(rule, str) else ""
    return choose_rule(rule, n_p, runs, fit, "second_rule")


def check_runs(runs: object, *rules: Rule) -> None:
    """Raise PlannerError if there are ``runs`` and none of the ``rules`` is fitted to them."""
    typed_rules.check_runs("" if runs is None else "runs", "python", *rules)


def _measured_columns(runs: Table | Runs, fit: Fit | None) -> dict[str, Floats]:
    """Return N, D and C of the runs, each (n,), if given by a column or a formula."""
    from isoplan.engine.costs import ComputeRule
    from isoplan.engine.schema import Runs
    from isoplan.tables import read_table

    if not isinstance(runs, Runs):
        known = fit.data.roles if fit is not None else {}
        roles = {role: known[role] for role in ("N", "D", "C") if role in known}
        runs = read_table(runs, roles, compute=ComputeRule(), where=fit.data.where if fit is not None else "")
    return typed_rules.measured_columns(runs)
