"""The mapping of a table in short lines: which column has which role, with its range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isoplan.engine.quantities import count, number
from isoplan.engine.schema import NUMERIC_ROLES, Role, Roles
from isoplan.engine.store.columns.column import Column, read_conversion
from isoplan.engine.store.columns.derive import inputs
from isoplan.engine.store.columns.names import seconds_column, seconds_each

LABELS = {
    Role.N: "N: parameters",
    Role.D: "D: samples seen",
    Role.C: "C: compute [FLOPs]",
    Role.LOSS: "L: loss",
    Role.U: "U: unique samples",
    Role.EPOCHS: "Epochs: D / U",
    Role.BUDGET: "Budget [FLOPs]",
    Role.GROUP: "Group",
    Role.SEED: "Seed",
    Role.RUN: "Name of the run",
    Role.STATUS: "Status",
    Role.STEP: "Training steps",
    Role.WEIGHT: "Weight in the fit",
}
"""Names of the roles as the page and its messages show them."""
COUNTS = (Role.N, Role.D, Role.U)
"""Roles whose numbers are shown as counts, such as 50 M."""
MAIN = {Role.N: "N", Role.D: "D", Role.C: "C", Role.LOSS: "Loss"}
MORE = {
    Role.U: "U",
    Role.EPOCHS: "Epochs",
    Role.STEP: "Training steps",
    Role.BUDGET: "Budget",
    Role.GROUP: "Group",
    Role.SEED: "Seed",
    Role.RUN: "Name",
    Role.STATUS: "Status",
    Role.WEIGHT: "Weight",
}
MOST_NAMES = 4
"""Maximum number of columns that a line names."""
NO_SETTINGS: Mapping[str, str] = {}
_ROWS = {"last": "the last row of each run is used", "best": "the best row of each run is used"}


@dataclass(frozen=True)
class RoleLine:
    """One line of a mapping: the role (``label``), the names of its columns, and a text such as "50 M to 7 B"."""

    label: str
    columns: tuple[str, ...]
    text: str


def role_lines(
    columns: Sequence[Column], roles: Roles, settings: Mapping[str, str] = NO_SETTINGS
) -> tuple[RoleLine, ...]:
    """Return the mapping of a table in short lines: N, D, C and loss, then metrics and other roles that have a column.

    ``columns`` are the columns of the table. ``settings`` maps each column that gets a line of its own to the title of
    this line.
    """
    by_name = {c.name: c for c in columns}
    lines = [_main(role, label, by_name, roles) for role, label in MAIN.items()]
    for direction, what in (("max", "larger is better"), ("min", "smaller is better")):
        names = tuple(m.column for m in roles.metrics if m.direction == direction)
        if names:
            more = f"and {len(names) - MOST_NAMES} more, {what}" if len(names) > MOST_NAMES else what
            lines.append(RoleLine("Metric" if len(names) == 1 else "Metrics", names[:MOST_NAMES], more))
    group = roles.group
    if group is not None and roles.each:
        lines.append(RoleLine("One law for each", (group,), ""))
    for role, label in MORE.items():
        name = roles.column(role)
        if name not in by_name or (name == group and roles.each):
            continue
        column = by_name[name]
        if role in NUMERIC_ROLES:
            lines.append(RoleLine(label, (name,), span_of(column, roles, role)))
        elif column.distinct + (column.missing > 0) > 1:
            lines.append(RoleLine(label, (name,), f"{column.distinct:,} values" if role is Role.GROUP else ""))
    for name, title in settings.items():
        lines.append(RoleLine(title, (name,), span_of(by_name[name], roles, Role.HYPER)))
    others = tuple(name for name in roles.hyper if name not in settings)
    if others:
        left_out = len(others) - MOST_NAMES
        lines.append(RoleLine("Settings", others[:MOST_NAMES], f"and {left_out} more" if left_out > 0 else ""))
    if roles.rows in _ROWS and roles.run is not None:
        lines.append(RoleLine("Rows", (roles.run,), _ROWS[roles.rows]))
    return tuple(lines)


def duration_lines(
    columns: Sequence[Column], roles: Roles, settings: Mapping[str, str] = NO_SETTINGS
) -> tuple[RoleLine, ...]:
    """Return the line of the column of run durations, and the line of the columns that are not used.

    Columns in ``settings`` (column -> title) count as used.
    """
    time = seconds_column([c.name for c in columns if c.kind == "number"])
    used = {roles.column(role) for role in Role} | {m.column for m in roles.metrics} | {*roles.hyper, *inputs(roles)}
    used |= {*settings}
    unused = tuple(c.name for c in columns if c.name not in used and c.name != time)
    left_out = len(unused) - MOST_NAMES
    lines = [RoleLine("Time of a run", (time,), "hours" if seconds_each(time) > 1 else "seconds")] if time else []
    if unused:
        lines.append(RoleLine("Not used", unused[:MOST_NAMES], f"and {left_out} more" if left_out > 0 else ""))
    return tuple(lines)


def span_of(column: Column, roles: Roles, role: Role) -> str:
    """Return the range of a column as text, such as ``50 M to 7 B``.

    The conversion in the mapping is applied first. For a column without numbers, return up to two examples.
    """
    if column.minimum is None or column.maximum is None:
        return f"for example {', '.join(column.examples[:2])}" if column.examples else "no values"
    how = roles.conversions.get(column.name)
    ends = (column.minimum, column.maximum)
    low, high = (read_conversion(how, column.name).one(x) if how else x for x in ends)
    show = count if role in COUNTS else number
    return show(low) if show(low) == show(high) else f"{show(low)} to {show(high)}"


def _main(role: Role, label: str, by_name: dict[str, Column], roles: Roles) -> RoleLine:
    name = roles.column(role)
    if role.value in roles.derived:
        return RoleLine(label, (), f"computed as {roles.derived[role.value]}")
    if name is None:
        sizes = all(roles.column(size) or size.value in roles.derived for size in (Role.N, Role.D))
        return RoleLine(label, (), _computed(roles) if role is Role.C and sizes else "no column")
    column = by_name.get(name)
    if column is None:
        return RoleLine(label, (name,), "not in the table")
    missing = f", {column.missing:,} missing" if column.missing else ""
    return RoleLine(label, (name,), f"{span_of(column, roles, role)}{missing}")


def _computed(roles: Roles) -> str:
    return f"computed as {roles.compute.text.removeprefix('C = ')}"
