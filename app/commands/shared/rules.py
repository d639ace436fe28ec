"""Compute rules of a command: those that its options name, or a rule fitted to the measured C of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from isoplan.app.commands.shared import reading
from isoplan.app.commands.shared.output import note
from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.scenario import typed_rules


@dataclass(frozen=True)
class Behind:
    """The table of --runs, its --map-runs, and the fit whose columns and filter apply to it, if any.

    ``convert``, ``derive`` and ``where`` are the options for a table without a fit.
    """

    table: Path | None = None
    roles: Sequence[str] = ()
    fit: Fit | None = None
    convert: Sequence[str] = ()
    derive: Sequence[str] = ()
    where: str = ""


def read_used(rule: str, n_p: str, behind: Behind, option: str = "rule") -> ComputeRule | None:
    """Return the rule that ``option`` and n_p name; None if neither is given.

    A rule fitted to the runs ``behind`` is printed on standard error with its scatter.
    """
    if not typed_rules.is_measured(rule):
        return typed_rules.read_typed_rule(rule, n_p, "terminal", option)
    table = behind.table
    columns = None if table is None else lambda: _columns(behind, table)
    found = typed_rules.fit_rule(rule, n_p, columns, "terminal", option)
    note([f"{typed_rules.option_name(option, 'terminal')} {rule} is {found.text}."])
    return found.rule


def read_second(rule: str, used: ComputeRule, behind: Behind) -> ComputeRule | None:
    """Return the rule of --second-rule, or None; its tokens per sample are those of the rule ``used``."""
    return read_used(rule, typed_rules.tokens_of_second(rule, used), behind, "second_rule")


def check_runs(behind: Behind, *rules: str) -> None:
    """Check that runs are only given if one of the ``rules`` needs them. Raises PlannerError otherwise."""
    given = "runs" if behind.table is not None else "map_runs" if behind.roles else ""
    typed_rules.check_runs(given, "terminal", *rules)


def _columns(behind: Behind, table: Path) -> dict[str, Floats]:
    """Return the columns N, D and C of the table, each (n,), as far as they exist; C is measured, never from a rule."""
    data = behind.fit.data if behind.fit is not None else None
    named = {role: column for role, column in data.roles.items() if role in ("N", "D", "C")} if data else {}
    runs = reading.read_table(
        table, named | reading.read_map(list(behind.roles)), ("", ""), data.where if data else behind.where,
        ComputeRule(), convert=behind.convert, derive=behind.derive,
    )  # fmt: skip
    note(runs.notes)
    return typed_rules.measured_columns(runs)
