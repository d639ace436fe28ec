"""Checks of a mapping (role -> column): whether it fits the table, and whether other columns also fit a role."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterator, Sequence

from isoplan.engine.errors import PlannerError
from isoplan.engine.formula import parse_formula
from isoplan.engine.schema import NUMERIC_ROLES, SINGLE_ROLES, Role, Roles
from isoplan.engine.store.columns.column import Column, TableKind, read_conversion
from isoplan.engine.store.columns.derive import check_derived
from isoplan.engine.store.columns.guess import counted_epochs, quoted, same_cells
from isoplan.engine.store.columns.names import (
    counts_data_set,
    held_out,
    may_count_unique,
    name_score,
    of_training,
    words,
)


def check_roles(columns: Sequence[Column], roles: Roles, kind: TableKind = "runs") -> None:
    """Check a mapping against the columns of a table of this ``kind``.

    Raises PlannerError if ``roles`` names a column that does not exist, names one column twice, or gives a numeric role
    to a column of text.
    """
    by_name = {c.name: c for c in columns}
    seen: dict[str, str] = {}
    for role, name in uses(roles):
        if name not in by_name:
            raise unknown_column(name, by_name, f"for {role}")
        if name in seen:
            raise PlannerError(f"Column {name!r} is mapped to both {seen[name]} and {role}: choose one of them.")
        seen[name] = str(role)
        if role in (*NUMERIC_ROLES, Role.METRIC, Role.HYPER):
            _check_number(by_name[name], role, roles, kind)
    for name in formula_columns(roles):
        if name not in by_name:
            raise unknown_column(name, by_name, "of the compute formula")
        _check_number(by_name[name], "the compute formula", roles, kind)
    for name, how in roles.conversions.items():
        if name not in by_name:
            raise unknown_column(name, by_name, "in the conversions")
        read_conversion(how, name)
    check_derived(columns, roles)
    for name in roles.pooled:
        if name not in by_name:
            raise unknown_column(name, by_name, "with values to fit as one law")
    if roles.each and roles.group is None:
        raise PlannerError("Separate laws need a group: choose a column; each of its values gets its own law.")


def like(columns: Sequence[Column], curves: Roles, runs: Roles) -> Roles:
    """Return the mapping ``curves`` of a curve table with conversions and formulas of the mapping ``runs`` added.

    ``runs`` is the mapping of the run table, and ``columns`` are the columns of the curve table. A conversion or a
    formula is added only if its columns are in ``columns``. A column whose conversion is added also gets the role that
    it has in ``runs``, unless another column has this role in ``curves``.
    """
    names = {c.name for c in columns}
    kinds = {name: how for name, how in runs.conversions.items() if name in names}
    derived = {
        role: text
        for role, text in runs.derived.items()
        if parse_formula(text).names <= names and curves.column(Role(role)) is None
    }
    free = {
        role.value: name
        for role in NUMERIC_ROLES
        if (name := runs.column(role)) in kinds and curves.column(role) is None and role.value not in derived
    }
    metrics = tuple(m for m in curves.metrics if m.column not in free.values())
    conversions = kinds | curves.conversions
    return curves.model_copy(update={**free, "metrics": metrics, "conversions": conversions, "derived": derived})


def uses(roles: Roles) -> Iterator[tuple[Role, str]]:
    """Yield (role, column name) for every column in a mapping."""
    for role in SINGLE_ROLES:
        name = roles.column(role)
        if name is not None:
            yield role, name
    yield from ((Role.METRIC, metric.column) for metric in roles.metrics)
    yield from ((Role.HYPER, name) for name in roles.hyper)


def formula_columns(roles: Roles) -> tuple[str, ...]:
    """Return the names in the compute formula that are columns of the table (all except N, D, U, epochs and n_p)."""
    names = roles.compute.parsed.names if roles.compute.rule == "formula" else frozenset()
    return tuple(sorted(names - {"N", "D", "U", "epochs", "n_p"}))


def unknown_column(name: str, known: Sequence[str] | dict[str, Column], where: str) -> PlannerError:
    """Return the error for a column that is not in the table. The error suggests the most similar column names."""
    names = list(known)
    lowered = {n.lower(): n for n in reversed(names)}
    close = [lowered[n] for n in difflib.get_close_matches(name.lower(), list(lowered), n=3, cutoff=0.5)]
    hint = f"did you mean {' or '.join(close)}?" if close else f"the columns are {', '.join(names[:12])}."
    return PlannerError(f"Column {name!r} {where} is not in the table: {hint}")


def _check_number(column: Column, role: str, roles: Roles, kind: TableKind) -> None:
    if column.kind in ("number", "bool") or (column.kind == "text" and column.name in roles.conversions):
        return
    what = "dates" if column.kind == "date" else "text"
    example = f" such as {column.cell}" if column.cell else ""
    way = "choose a column of numbers"
    if column.conversion:
        way = f"{column.way_to_numbers(role, roles, kind)}, or choose another column"
    if column.words:
        cells = column.describe_words(f" of column {column.name!r}")
        raise PlannerError(f"{role}: {cells}. {way[0].upper()}{way[1:]}.")
    raise PlannerError(f"Column {column.name!r} holds {what}{example} and {role} needs numbers: {way}.")


_ACTIVE = {"active", "activated", "nonembedding"}
_EMBEDDING = {"embedding", "embeddings", "embed", "emb"}


def choice_notes(columns: Sequence[Column], roles: Roles) -> list[str]:
    """Return notes on columns that also fit a mapped role but have another meaning, such as a training loss."""
    numbers = [c for c in columns if c.kind == "number" or c.name in roles.conversions]
    return [*_losses(numbers, roles), *_parameters(numbers, roles), *_samples(numbers, roles), *_unique(numbers, roles)]


UNIQUE_OR_SEEN = "is read as the samples seen in training"
"""Part of the note on a column of D that may count unique samples instead of samples seen."""


def unique_or_seen(columns: Sequence[Column], roles: Roles) -> str:
    """Return the column of D if its name can mean unique samples as well as samples seen; otherwise "".

    Also returns "" if the table shows the number of epochs, the unique samples or the compute, or if the user has
    confirmed that the column counts samples seen.
    """
    stated = any(roles.column(role) or role.value in roles.derived for role in (Role.U, Role.EPOCHS, Role.C))
    if roles.D is None or roles.samples_seen or stated or counted_epochs(columns) is not None:
        return ""
    return roles.D if may_count_unique(roles.D) else ""


def with_epochs(roles: Roles, epochs: float) -> dict[str, object]:
    """Return the changes to make in the mapping if the column of D counts unique samples.

    Each run makes ``epochs`` epochs.
    """
    derived = roles.derived | {"D": f"{epochs:g} * {quoted(roles.D or '')}"}
    return {"D": None, "U": roles.D, "derived": derived}


def _unique(columns: Sequence[Column], roles: Roles) -> Iterator[str]:
    if name := unique_or_seen(columns, roles):
        derive, unique = f"D = EPOCHS * {quoted(name)}", f"U={name}"
        yield (
            f"D: column {name!r} {UNIQUE_OR_SEEN}. If it counts unique samples, enter the epochs on the Data page "
            f"(--derive {shlex.quote(derive)} --map {shlex.quote(unique)} in the terminal)."
        )


def _losses(columns: Sequence[Column], roles: Roles) -> Iterator[str]:
    if roles.loss is None or not held_out(roles.loss):
        return
    for name in [c.name for c in columns if of_training(c.name)][:1]:
        yield (
            f"Column {roles.loss!r} is read as the loss; column {name!r} is assumed to be the training loss. "
            f"To use {name!r} instead, {_map('loss', name)}."
        )


def _parameters(columns: Sequence[Column], roles: Roles) -> Iterator[str]:
    own = next((c for c in columns if c.name == roles.N), None)
    if own is None or _counts_part(own.name):
        return
    for c in columns:
        if _counts_part(c.name) and not same_cells(c, own):
            yield f"Column {own.name!r} is read as N. To use {c.name!r} instead, {_map('N', c.name)}."


def _counts_part(name: str) -> bool:
    """Return whether a column name denotes a part of the parameters: active parameters or non-embedding parameters."""
    own = words(name)
    partial = bool(own & _ACTIVE) or ("non" in own and bool(own & _EMBEDDING))
    return partial and name_score(name, Role.N) > 0


def _samples(columns: Sequence[Column], roles: Roles) -> Iterator[str]:
    epochs = counted_epochs(columns)
    if roles.D is None or epochs is None or epochs.minimum == epochs.maximum or not counts_data_set(roles.D):
        return
    derive = f"D = {quoted(epochs.name)} * {quoted(roles.D)}"
    yield (
        f"D (column {roles.D!r}): the name denotes the size of a dataset, not the samples seen in all epochs (column "
        f"{epochs.name!r}). To use the samples seen in training as D, compute {derive} on the Data page "
        f"(--derive {shlex.quote(derive)} in the terminal)."
    )


def _map(role: str, name: str) -> str:
    return f"map it to {role} on the Data page (--map {shlex.quote(f'{role}={name}')} in the terminal)"
