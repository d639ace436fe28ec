"""Sweeps of ``isoplan recipe``: table files as evidence for a recipe, with progress on standard error."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from isoplan.app.commands.shared import reading
from isoplan.app.commands.shared.output import note
from isoplan.engine.errors import PlannerError
from isoplan.engine.mixtures import option
from isoplan.engine.mixtures import ways as ways_of
from isoplan.engine.planning.recommender import Evidence
from isoplan.engine.planning.recommender.builder import build_evidence, join
from isoplan.engine.planning.recommender.choice import Setting
from isoplan.engine.planning.recommender.columns import SIZES, find_columns
from isoplan.engine.planning.recommender.metric_names import metric_name
from isoplan.engine.planning.recommender.run_table import Table, read_sweeps
from isoplan.engine.schema import SINGLE_ROLES, Curves, RowsOfRun, Runs

if TYPE_CHECKING:
    from isoplan.engine.store.files.table_files import OpenTable

FIRST, BETWEEN = 1.0, 2.0
"""Seconds until the first progress line, and between two lines."""
OPTIONS: dict[Setting, str] = {"s": "share", "K": "negatives"}
ROLES = (*(role.value for role in SINGLE_ROLES), "metric", "hyper")


@dataclass
class Progress:
    """Progress of a fit on standard error, if fitting takes longer than a second."""

    table: Path
    next: float = field(default_factory=lambda: time.monotonic() + FIRST)

    def __call__(self, setting: str, part: float) -> None:
        if time.monotonic() >= self.next:
            note([f"Fitting {setting} of {self.table.name}: {100 * part:.0f} %."])
            self.next = time.monotonic() + BETWEEN


@dataclass(frozen=True)
class Asked:
    """What is fitted to a table: the serving ``metric``, and the number and seed of refits.

    ``spelled`` is the metric as typed, which can be the name of one of several columns of that metric.
    """

    metric: str
    refits: int
    seed: int
    spelled: str = ""

    def column(self, numeric: Sequence[str]) -> dict[str, str]:
        """Return, by metric, the column that was requested by its own name, if it is among ``numeric`` columns."""
        known = self.spelled in numeric and metric_name(self.spelled) == self.metric
        return {self.metric: self.spelled} if known else {}


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading run tables: conversions, formulas, rows of a run, a filter, and pooled datasets."""

    convert: Sequence[str] = ()
    derive: Sequence[str] = ()
    rows: RowsOfRun | None = None
    where: str = ""
    pool: Sequence[str] = ()


AS_FOUND = ReadOptions()


@dataclass(frozen=True)
class CurveOptions:
    """Training curves of a table, and the mapping of their columns."""

    file: Path | None = None
    roles: Sequence[str] = ()


def fit_sweep(
    setting: Setting,
    table: Path | None,
    column: str,
    roles: Sequence[str] | None,
    asked: Asked,
    how: ReadOptions = AS_FOUND,
) -> Evidence:
    """Return the evidence of a table whose runs all vary ``setting``; empty without a table.

    Raises PlannerError as reading the table does.
    """
    if table is None:
        return Evidence()
    option = OPTIONS[setting]
    with _opened(table, reading.read_map(list(roles or [])), how) as opened:
        numeric = _numeric(opened)
        chosen = {str(setting): column} if column in numeric or column != setting else {}
        columns = find_columns(numeric, opened.roles, asked.column(numeric) | chosen)
        if setting not in columns.settings:
            raise PlannerError(
                f"--{option}: no column of {table.name} has a name of {setting}. Add --{option}-column COLUMN."
            )
        found = read_sweeps(opened.read, columns, setting, waiting=opened.waiting)
        note([*opened.notes, *_left_out(found)])
        built = build_evidence(found, (asked.metric,), refits=asked.refits, seed=asked.seed, progress=Progress(table))
    if setting in built.errors:
        raise PlannerError(built.errors[setting])
    return built.evidence


def fit_runs(
    table: Path | None,
    roles: Sequence[str],
    curves: CurveOptions,
    asked: Asked,
    needed: bool,
    how: ReadOptions = AS_FOUND,
) -> Evidence:
    """Return the evidence of a table that can contain several sweeps, separated by the setting that varies.

    Raises PlannerError if the evidence is ``needed`` and no setting varies in the table.
    """
    if table is None:
        return Evidence()
    named = reading.read_map(list(roles))
    with _opened(table, {role: column for role, column in named.items() if role in ROLES}, how) as opened:
        numeric = _numeric(opened)
        text = [c.name for c in opened.columns if c.kind == "text"]
        chosen = {name: column for name, column in named.items() if name not in ROLES or name in SIZES}
        columns = find_columns(numeric, opened.roles, asked.column(numeric) | chosen, text)
        found = read_sweeps(opened.read, columns, waiting=opened.waiting)
        if not found.rows and needed:
            raise PlannerError(
                f"--runs: no runs of {table.name} vary N, s, B or K while the rest is equal. "
                "Name the columns, as in --map-runs N=params,K=negatives."
            )
        note([*opened.notes, found.sentence, *_left_out(found), *_renamed(found)])
        built = build_evidence(
            found, (asked.metric,), curves=None if curves.file is None else lambda runs: _curves(curves, runs, found),
            refits=asked.refits, seed=asked.seed, progress=Progress(table),
        )  # fmt: skip
    return built.evidence


def _opened(table: Path, mapping: Mapping[str, str], how: ReadOptions) -> AbstractContextManager[OpenTable]:
    from isoplan.engine.store.columns.derive import read_derived
    from isoplan.engine.store.files.table_files import open_table

    return open_table(table, mapping, how.where, agreed=tuple(how.convert), derived=read_derived(how.derive),
                      rows=how.rows, pooled=reading.read_names(list(how.pool)))  # fmt: skip


def _numeric(opened: OpenTable) -> list[str]:
    return [c.name for c in opened.columns if c.kind == "number" or c.name in opened.roles.conversions]


def _left_out(table: Table) -> list[str]:
    """Return sentences about what is not read of a table and which dataset is used, with the options that change it."""
    said = list(table.runs.notes)
    said += [f"{role} is not read: {why}." for role, why in table.waiting.items() if role in SIZES]
    if table.rivals is not None:
        question, used = table.rivals.question, table.rivals.used
        other = next(value for value in question.counts if value != used)
        ways = f"{option(question.only(other))}, or --pool {shlex.quote(question.column)} for all as one"
        said.append(f"{table.rivals.sentence} Choose another with {ways}.")
    return said + [f"{question.text} All runs are used: {ways_of(question)}." for question in table.questions]


def _renamed(table: Table) -> list[str]:
    return [f"{column} is read as {name}." for name, column in table.columns.renamed.items()]


def _curves(curves: CurveOptions, runs: Runs, table: Table) -> Curves:
    from isoplan.engine.store.files.table_files import read_curves

    assert curves.file is not None
    extra = tuple(table.columns.settings[name] for name in ("B",) if name in table.columns.settings)
    return read_curves(curves.file, runs, reading.read_map(list(curves.roles)), extra)


def joined(*parts: Evidence) -> Evidence:
    """Return the union of the user's evidence. Raises PlannerError if two tables determine one setting."""
    whole = Evidence()
    for part in parts:
        for name in ("share", "negatives", "batch", "allocation"):
            if getattr(whole, name) and getattr(part, name):
                raise PlannerError(f"--runs and --{name} both determine the same setting. Leave one of them out.")
        whole = join(whole, part)
    return whole
