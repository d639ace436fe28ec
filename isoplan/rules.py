"""Compute rules of an answer, given by options or fitted to measured compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoplan.engine.planning.scenario import typed_rules
from isoplan.options import Amount, as_text

if TYPE_CHECKING:
    from isoplan.engine.costs import ComputeRule
    from isoplan.engine.fitting import Fit
    from isoplan.engine.schema import Runs
    from isoplan.options import Rule
    from isoplan.tables import Table


def choose_rule(
    rule: Rule, n_p: Amount | None, runs: Table | Runs | None, fit: Fit | None, option: str = "rule"
) -> ComputeRule | None:
    """Return the compute rule of an answer; None if ``rule`` and ``n_p`` (tokens per sample) are empty.

    The rule "measured" is fitted to the C of ``runs``. If ``runs`` is a table, it is read with the columns and the row
    condition of ``fit``. A PlannerError names the wrong option (``option`` or ``n_p``).
    """
    read = None if runs is None else lambda: _read_runs(runs, fit)
    return typed_rules.choose_rule(rule, as_text(n_p), read, "python", option)


def check_runs(runs: object, *rules: Rule) -> None:
    """Raise PlannerError if ``runs`` are given and none of the ``rules`` is fitted to them."""
    typed_rules.check_runs("" if runs is None else "runs", "python", *rules)


def _read_runs(runs: Table | Runs, fit: Fit | None) -> Runs:
    """Return ``runs``; a table is read with the columns N, D and C of ``fit``."""
    from isoplan.engine.costs import ComputeRule
    from isoplan.engine.schema import Runs
    from isoplan.tables import read_table

    if isinstance(runs, Runs):
        return runs
    columns = fit.data.roles if fit is not None else {}
    roles = {role: columns[role] for role in ("N", "D", "C") if role in columns}
    return read_table(runs, roles, compute=ComputeRule(), where=fit.data.where if fit is not None else "")
