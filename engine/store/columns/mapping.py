"""Whether a mapping fits a table."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from isoplan.engine.errors import PlannerError
from isoplan.engine.formula import parse_formula
from isoplan.engine.schema import NUMERIC_ROLES, SINGLE_ROLES, Role, Roles
from isoplan.engine.store.columns.column import Column
from isoplan.engine.store.columns.conversions import read_conversion
from isoplan.engine.store.columns.derive import check_derived


def check_roles(columns: Sequence[Column], roles: Roles) -> None:
    """Raise PlannerError when ``roles`` names an unknown column, one column twice, or text where numbers are needed."""
    known = {c.name: c for c in columns}
    seen: dict[str, str] = {}
    for role, name in uses(roles):
        if name not in known:
            raise unknown_column(name, known, f"for {role}")
        if name in seen:
            raise PlannerError(f"Column {name!r} is mapped to both {seen[name]} and {role}: choose one of them.")
        seen[name] = str(role)
        if role in (*NUMERIC_ROLES, Role.METRIC, Role.HYPER):
            _check_number(known[name], role, roles)
    for name in formula_columns(roles):
        if name not in known:
            raise unknown_column(name, known, "of the compute formula")
        _check_number(known[name], "the compute formula", roles)
    for name, how in roles.conversions.items():
        if name not in known:
            raise unknown_column(name, known, "in the conversions")
        read_conversion(how, name)
    check_derived(columns, roles)
    for name in roles.pooled:
        if name not in known:
            raise unknown_column(name, known, "of the runs to fit together")
    if roles.each and roles.group is None:
        raise PlannerError("One law each needs a group: choose the column whose values get a law each.")


def like(columns: Sequence[Column], curves: Roles, runs: Roles) -> Roles:
    """The mapping of a curve table with the units and formulas of the run table, for columns of the same names."""
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
    """Every (role, column) of a mapping."""
    for role in SINGLE_ROLES:
        name = roles.column(role)
        if name is not None:
            yield role, name
    yield from ((Role.METRIC, metric.column) for metric in roles.metrics)
    yield from ((Role.HYPER, name) for name in roles.hyper)


def formula_columns(roles: Roles) -> tuple[str, ...]:
    """The columns that the compute formula reads by name, besides N, D, U and epochs."""
    names = roles.compute.parsed.names if roles.compute.rule == "formula" else frozenset()
    return tuple(sorted(names - {"N", "D", "U", "epochs", "n_p"}))


def unknown_column(name: str, known: Sequence[str] | dict[str, Column], where: str) -> PlannerError:
    """The sentence for a column that the table has not, with the closest names that it has."""
    names = list(known)
    lowered = {n.lower(): n for n in reversed(names)}
    close = [lowered[n] for n in difflib.get_close_matches(name.lower(), list(lowered), n=3, cutoff=0.5)]
    hint = f"did you mean {' or '.join(close)}?" if close else f"the columns are {', '.join(names[:12])}."
    return PlannerError(f"Column {name!r} {where} is not in the table: {hint}")


def _check_number(column: Column, role: str, roles: Roles) -> None:
    if column.kind in ("number", "bool") or (column.kind == "text" and column.name in roles.conversions):
        return
    what = "dates" if column.kind == "date" else "text"
    example = f" such as {column.cell}" if column.cell else ""
    way = f"{column.way_to_numbers}, or choose another column" if column.conversion else "choose a column of numbers"
    raise PlannerError(f"Column {column.name!r} holds {what}{example} and {role} needs numbers: {way}.")
