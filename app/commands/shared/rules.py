"""Compute rules of a command: those that its options name, or a rule fitted to the measured C of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from isoplan.app.commands.shared import reading
from isoplan.app.commands.shared.output import note
from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.costs.measured import FIELDS, measured_rule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit

MEASURED = "measured"


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


def read_used(rule: str, n_p: str, behind: Behind, option: str = "--rule") -> ComputeRule | None:
    """Return the rule that ``option`` and --n-p name; None if neither is given.

    A rule fitted to the runs ``behind`` is printed on standard error with its scatter.
    """
    name, _, form = rule.partition(":")
    if name != MEASURED:
        return reading.read_rule(rule, n_p) if rule or n_p else None
    if n_p:
        raise PlannerError(f"--n-p has no effect with {option} measured. Leave it out.")
    if behind.table is None:
        raise PlannerError(f"{option} measured needs the runs whose C was measured: add --runs TABLE.")
    found = measured_rule(form or "zetaND", _columns(behind, behind.table))
    note([f"{option} {rule} is {found.text}."])
    return found.rule


def read_second(rule: str, used: ComputeRule, behind: Behind) -> ComputeRule | None:
    """Return the rule of --second-rule, or None; its tokens per sample are those of the rule ``used``."""
    name = rule.partition(":")[0]
    counts = rule == "6npND" or not (rule == "6ND" or name in (*FIELDS, MEASURED))
    return read_used(rule, f"{used.n_p:g}" if counts else "", behind, "--second-rule") if rule else None


def check_runs(behind: Behind, *rules: str) -> None:
    """Check that runs are only given if one of the ``rules`` needs them. Raises PlannerError otherwise."""
    if (behind.table is not None or behind.roles) and MEASURED not in (rule.partition(":")[0] for rule in rules):
        option = "--runs" if behind.table is not None else "--map-runs"
        raise PlannerError(f"{option} requires --rule measured. Add it, or leave {option} out.")


def _columns(behind: Behind, table: Path) -> dict[str, Floats]:
    """Return the columns N, D and C of the table, each (n,), as far as they exist; C is measured, never from a rule."""
    data = behind.fit.data if behind.fit is not None else None
    named = {role: column for role, column in data.roles.items() if role in ("N", "D", "C")} if data else {}
    runs = reading.read_table(
        table, named | reading.read_map(list(behind.roles)), ("", ""), data.where if data else behind.where,
        ComputeRule(), repeats="all", convert=list(behind.convert), derive=list(behind.derive), sheet=None, inner=None,
    )  # fmt: skip
    note(runs.notes)
    return {role: runs[role] for role in ("N", "D", "C") if getattr(runs.roles, role)}
