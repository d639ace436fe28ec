"""Compute rules of an answer: given by options, or fitted to measured compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoplan.engine.errors import PlannerError
from isoplan.options import Amount, as_text
from isoplan.rules import read_rule

if TYPE_CHECKING:
    from isoplan.engine.arrays import Floats
    from isoplan.engine.costs import ComputeRule
    from isoplan.engine.fitting import Fit
    from isoplan.engine.schema import Runs
    from isoplan.rules import Rule
    from isoplan.tables import Table

MEASURED = "measured"


def is_measured(rule: Rule) -> bool:
    """Return whether ``rule`` is fitted to measured C."""
    return isinstance(rule, str) and rule.partition(":")[0] == MEASURED


def choose_rule(
    rule: Rule, n_p: Amount | None, runs: Table | Runs | None, fit: Fit | None, option: str = "rule"
) -> ComputeRule | None:
    """Return the compute rule of an answer: from ``read_rule``, or fitted to the measured C of ``runs``.

    A table is read with the columns and the condition of ``fit``.
    """
    if not is_measured(rule):
        return read_rule(rule, n_p, option)
    if as_text(n_p):
        raise PlannerError(f"Option n_p: the {option} {MEASURED} does not read it. Remove n_p.")
    if runs is None:
        raise PlannerError(f"Option {option}: {MEASURED} needs runs with a column of C. Add runs.")
    from isoplan.engine.costs.measured import measured_rule

    form = str(rule).partition(":")[2]
    return measured_rule(form or "zetaND", _measured_columns(runs, fit)).rule


def choose_second(rule: Rule, used: ComputeRule, runs: Table | Runs | None, fit: Fit) -> ComputeRule | None:
    """Return the second compute rule of a plan; its tokens per sample are those of ``used``."""
    from isoplan.engine.costs.measured import FIELDS

    if not isinstance(rule, str):
        return rule
    name = rule.partition(":")[0]
    counts = bool(rule) and (rule == "6npND" or not (rule == "6ND" or name in (*FIELDS, MEASURED)))
    return choose_rule(rule, f"{used.n_p:g}" if counts else "", runs, fit, "second_rule")


def check_runs(runs: object, *rules: Rule) -> None:
    """Raise PlannerError if there are ``runs`` and none of the ``rules`` is fitted to them."""
    if runs is not None and not any(map(is_measured, rules)):
        raise PlannerError(f"Option runs: only the rule {MEASURED} reads it. Add rule={MEASURED!r}, or remove runs.")


def _measured_columns(runs: Table | Runs, fit: Fit | None) -> dict[str, Floats]:
    """Return N, D and C of the runs, each (n,), if given by a column or a formula; C is never from a rule."""
    from isoplan.engine.costs import ComputeRule
    from isoplan.engine.schema import Runs
    from isoplan.tables import read_table

    if not isinstance(runs, Runs):
        known = fit.data.roles if fit is not None else {}
        roles = {role: known[role] for role in ("N", "D", "C") if role in known}
        runs = read_table(runs, roles, compute=ComputeRule(), where=fit.data.where if fit is not None else "")
    return {role: runs[role] for role in ("N", "D", "C") if role in runs and getattr(runs.roles, role)}
