"""Runs straight from a file, for the terminal: a store in memory and never the workspace, so the app may run too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from engine.costs import ComputeRule
from engine.errors import PlannerError
from engine.schema import SINGLE_ROLES, Curves, Metric, Role, Roles, Runs
from engine.store import catalog, snapshots, tables
from engine.store.columns import Column
from engine.store.database import memory
from engine.store.guess import Guess, better, guess_curve_roles, guess_roles
from engine.store.mapping import check_roles, unknown_column, uses
from engine.store.snapshots import Filter

_SINGLE = tuple(role.value for role in SINGLE_ROLES)
_MANY = {"metric": "metrics", "hyper": "hyper"}


def read_runs(
    path: Path,
    mapping: Mapping[str, str] | None = None,
    where: str = "",
    compute: ComputeRule | None = None,
    *,
    repeats_mean: bool = False,
    agreed: tuple[str, ...] = (),
    sheet: str | None = None,
    inner: str | None = None,
    extra: tuple[str, ...] = (),
    offered: tuple[str, ...] = (),
) -> Runs:
    """The runs of a table file under the guessed mapping, corrected by ``mapping`` (role -> column).

    Roles are N, D, U, C, loss, epochs, budget, step, weight, group, seed, run, status, and ``metric`` and ``hyper``,
    which take several columns joined by ``+``. A role that is mapped to nothing (``C=``) is left open. A text column
    named in ``mapping`` is read as numbers by its proposed conversion when that is beyond doubt for every cell, one
    named in ``agreed`` in any case; columns named in ``extra`` are read under their own names, and those in ``offered``
    where the table has such a column of numbers. ``source`` of the runs is the path. Raises PlannerError for an
    unreadable file, an unknown role or column and a bad condition.
    """
    if not path.is_file():
        raise PlannerError(f"There is no file {path}: check the path.")
    with memory() as db:
        info = tables.add(db, path, path.name, sheet=sheet, inner=inner)
        known = catalog.columns(db, info.id)
        numbers = tuple(c.name for c in known if c.name in offered and c.name not in set(Role) and c.kind == "number")
        roles = _with_extra(with_mapping(known, mapping or {}, agreed), (*extra, *numbers))
        roles = roles.model_copy(
            update={"compute": compute or ComputeRule(), "repeats": "mean" if repeats_mean else "all"}
        )
        check_roles(known, roles)
        runs = snapshots.runs(db, snapshots.take(db, info.id, roles, Filter(where=where)))
    return replace(runs, source=str(path), notes=(*info.notes, *runs.notes))


def read_curves(
    path: Path, runs: Runs, mapping: Mapping[str, str] | None = None, extra: tuple[str, ...] = ()
) -> Curves:
    """The training curves of a table file, tied to ``runs`` by the names of the runs; ``mapping`` as for ``read_runs``.

    Those of ``extra`` that the file has are read under their own names; what it lacks may stand in the run table.
    Raises PlannerError as ``read_runs`` does, and where the curves cannot be tied or have no measure of training.
    """
    if not path.is_file():
        raise PlannerError(f"There is no file {path}: check the path.")
    with memory() as db:
        info = tables.add(db, path, path.name)
        known = catalog.columns(db, info.id)
        there = tuple(c.name for c in known if c.name in extra)
        roles = _with_extra(with_mapping(known, mapping or {}, guess=guess_curve_roles), there)
        check_roles(known, roles)
        curves = snapshots.curves(db, snapshots.take(db, info.id, roles), runs)
    return replace(curves, source=str(path), notes=(*info.notes, *curves.notes))


def with_mapping(
    columns: tuple[Column, ...], mapping: Mapping[str, str], agreed: tuple[str, ...] = (), guess: Guess = guess_roles
) -> Roles:
    """The guessed roles of ``columns`` with the given ones in their place; a column moves to the role that names it."""
    asked = {role: _columns(role, text) for role, text in mapping.items()}
    names = [c.name for c in columns]
    for role, chosen in asked.items():
        for name in chosen:
            if name not in names:
                raise unknown_column(name, names, f"for {role}")
    named = {name for chosen in asked.values() for name in chosen}
    clean = {c.name for c in columns if c.conversion and c.conversion.fails == 0 and not c.conversion.ambiguous}
    guessed = guess(columns, (clean & named) | set(agreed)).model_dump()
    fields = {k: v for k, v in guessed.items() if k not in _SINGLE or v not in named}
    fields["metrics"] = [m for m in guessed["metrics"] if m["column"] not in named]
    fields["hyper"] = [name for name in guessed["hyper"] if name not in named]
    kinds = {c.name: c.conversion.kind for c in columns if c.conversion and c.name in (clean & named) | set(agreed)}
    fields["conversions"] = kinds
    for role, chosen in asked.items():
        if role == "metric":
            fields["metrics"] = [Metric(column=name, direction=better(name)) for name in chosen]
        elif role == "hyper":
            fields["hyper"] = chosen
        else:
            fields[role] = chosen[0] if chosen else None
    return Roles.model_validate(fields)


def _with_extra(roles: Roles, extra: tuple[str, ...]) -> Roles:
    """The roles with columns that are read under their own names as hyperparameters, where they have no role yet."""
    used = {column for _, column in uses(roles)}
    return roles.model_copy(update={"hyper": (*roles.hyper, *(name for name in extra if name not in used))})


def _columns(role: str, text: str) -> list[str]:
    """The columns that one entry of a mapping names; raises PlannerError for an unknown role."""
    if role not in _SINGLE and role not in _MANY:
        listed = ", ".join([*_SINGLE, *_MANY])
        raise PlannerError(f"--map knows no role {role!r}: use one of {listed}.")
    if role in _MANY:
        return [name for name in text.split("+") if name]
    return [text] if text else []
