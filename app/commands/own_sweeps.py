"""The sweeps of ``isoplan recipe``: table files as the evidence of a recipe, with progress on standard error."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.commands import reading
from app.commands.output import note
from engine.errors import PlannerError
from engine.planning.recommender import Evidence
from engine.planning.recommender.builder import Table, build_evidence, join, read_sweeps
from engine.planning.recommender.choice import Knob
from engine.planning.recommender.columns import SIZES, find_columns
from engine.schema import SINGLE_ROLES, Curves, Runs

FIRST, BETWEEN = 1.0, 2.0
"""Seconds until the first line of progress, and between two lines."""
OPTIONS: dict[Knob, str] = {"s": "share", "K": "negatives"}
ROLES = (*(role.value for role in SINGLE_ROLES), "metric", "hyper")


@dataclass
class Progress:
    """Tells on standard error which part of a sweep is fitted, once fitting takes longer than a second."""

    table: Path
    next: float = field(default_factory=lambda: time.monotonic() + FIRST)

    def __call__(self, knob: str, part: float) -> None:
        if time.monotonic() >= self.next:
            note([f"Fitting {knob} of {self.table.name}: {100 * part:.0f} %."])
            self.next = time.monotonic() + BETWEEN


@dataclass(frozen=True)
class Asked:
    """What is fitted to a table: the ``metric`` that is served, with how many refits of which seed."""

    metric: str
    refits: int
    seed: int


@dataclass(frozen=True)
class CurveOptions:
    """The training curves of a table, and the mapping of their columns."""

    file: Path | None = None
    roles: Sequence[str] = ()


def fit_sweep(knob: Knob, table: Path | None, column: str, roles: Sequence[str] | None, asked: Asked) -> Evidence:
    """The evidence of a table whose runs all vary ``knob``; none without a table. Raises PlannerError as it is read."""
    if table is None:
        return Evidence()
    option = OPTIONS[knob]
    from engine.store.files import open_table

    with open_table(table, reading.read_map(list(roles or []))) as opened:
        numeric = [c.name for c in opened.columns if c.kind == "number"]
        chosen = {str(knob): column} if column in numeric or column != knob else {}
        columns = find_columns(numeric, opened.roles, chosen)
        if knob not in columns.settings:
            raise PlannerError(
                f"--{option}: no column of {table.name} has a name of {knob}. Add --{option}-column COLUMN."
            )
        note(opened.notes)
        built = build_evidence(read_sweeps(opened.read, columns, knob), (asked.metric,), refits=asked.refits,
                               seed=asked.seed, progress=Progress(table))  # fmt: skip
    if knob in built.errors:
        raise PlannerError(built.errors[knob])
    return built.evidence


def fit_runs(table: Path | None, roles: Sequence[str], curves: CurveOptions, asked: Asked, needed: bool) -> Evidence:
    """The evidence of a table that may hold several sweeps, sorted by what varies in it.

    Raises PlannerError where the evidence is ``needed`` and no setting varies in the table.
    """
    if table is None:
        return Evidence()
    from engine.store.files import open_table

    named = reading.read_map(list(roles))
    with open_table(table, {role: column for role, column in named.items() if role in ROLES}) as opened:
        numeric = [c.name for c in opened.columns if c.kind == "number" or c.name in opened.roles.conversions]
        text = [c.name for c in opened.columns if c.kind == "text"]
        chosen = {name: column for name, column in named.items() if name not in ROLES or name in SIZES}
        columns = find_columns(numeric, opened.roles, chosen, text)
        found = read_sweeps(opened.read, columns)
        if not found.rows and needed:
            raise PlannerError(
                f"--runs: no runs of {table.name} vary N, s, B or K while the rest is equal. "
                "Name the columns, as in --map-runs N=params,K=negatives."
            )
        note([*opened.notes, found.sentence, *_renamed(found)])
        built = build_evidence(
            found, (asked.metric,), curves=None if curves.file is None else lambda runs: _curves(curves, runs, found),
            refits=asked.refits, seed=asked.seed, progress=Progress(table),
        )  # fmt: skip
    return built.evidence


def _renamed(table: Table) -> list[str]:
    return [f"{column} is read as {name}." for name, column in table.columns.renamed.items()]


def _curves(curves: CurveOptions, runs: Runs, table: Table) -> Curves:
    from engine.store.files import read_curves

    assert curves.file is not None
    extra = tuple(table.columns.settings[name] for name in ("B",) if name in table.columns.settings)
    return read_curves(curves.file, runs, reading.read_map(list(curves.roles)), extra)


def joined(*parts: Evidence) -> Evidence:
    """All evidence of the user's; raises PlannerError where two tables determine one knob."""
    whole = Evidence()
    for part in parts:
        for name in ("share", "negatives", "batch", "allocation"):
            if getattr(whole, name) and getattr(part, name):
                raise PlannerError(f"--runs and --{name} both determine the same setting. Leave one of them out.")
        whole = join(whole, part)
    return whole
