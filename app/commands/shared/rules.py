"""Compute rules of a command: named by its options, or fitted to the measured C of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from isoplan.app.commands.shared import reading
from isoplan.app.commands.shared.output import note
from isoplan.engine.costs import ComputeRule
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.scenario import typed_rules
from isoplan.engine.schema import Runs


@dataclass(frozen=True)
class Behind:
    """The runs to which a compute rule is fitted: the table of --runs (None if not given) and the roles of --map-runs.

    If the command reads a fit, the columns N, D and C and the row filter come from ``fit``. Otherwise, the filter is
    ``where``. ``convert`` and ``derive`` are the texts of --convert and --derive.
    """

    table: Path | None = None
    roles: Sequence[str] = ()
    fit: Fit | None = None
    convert: Sequence[str] = ()
    derive: Sequence[str] = ()
    where: str = ""


def read_used(rule: str, n_p: str, behind: Behind, option: str = "rule") -> ComputeRule | None:
    """Return the compute rule for the texts ``rule`` and ``n_p`` (tokens per sample); None if both texts are empty.

    If the rule is fitted to the runs of ``behind``, the rule and its scatter are printed on standard error.
    """
    table = behind.table
    read = None if table is None else lambda: _read_runs(behind, table)
    return typed_rules.choose_rule(rule, n_p, read, "terminal", option, note)


def check_runs(behind: Behind, *rules: str) -> None:
    """Raise PlannerError if --runs or --map-runs is given, but no rule in ``rules`` is fitted to runs."""
    given = "runs" if behind.table is not None else "map_runs" if behind.roles else ""
    typed_rules.check_runs(given, "terminal", *rules)


def _read_runs(behind: Behind, table: Path) -> Runs:
    """Return the runs of the table. If ``behind`` has a fit, the columns N, D and C are those of the fit."""
    data = behind.fit.data if behind.fit is not None else None
    named = {role: column for role, column in data.roles.items() if role in ("N", "D", "C")} if data else {}
    return reading.read_table(
        table, named | reading.read_map(list(behind.roles)), ("", ""), data.where if data else behind.where,
        ComputeRule(), convert=behind.convert, derive=behind.derive,
    )  # fmt: skip
