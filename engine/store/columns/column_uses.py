"""The use of each column of a table: the role that it has in a mapping, and the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isoplan.engine.schema import Role, Roles
from isoplan.engine.store.columns.column import TEXT_FORMATS, Column, read_conversion, text_kind
from isoplan.engine.store.columns.derive import read_formula
from isoplan.engine.store.columns.guess import suggestion, with_guesses
from isoplan.engine.store.columns.mapping import formula_columns, uses
from isoplan.engine.store.columns.names import seconds_column, seconds_each
from isoplan.engine.store.columns.unit_names import named_unit
from isoplan.engine.store.columns.unread_roles import withheld

TIME = "time"
"""Use of a column that contains the duration of each run. It is not a role of a law."""


@dataclass(frozen=True)
class ColumnUse:
    """Use of a column: a role, ``TIME``, or "unused". ``why`` is the reason in one or two sentences."""

    column: Column
    role: str
    why: str


def column_uses(columns: Sequence[Column], roles: Roles) -> tuple[ColumnUse, ...]:
    """Return the use of each column of a table with the mapping ``roles``, in the order of the table."""
    found = {name: role for role, name in uses(roles)}
    waiting = _waiting(columns, roles)
    formulas = _formulas(roles)
    time = seconds_column([c.name for c in columns if c.kind == "number"])
    made = []
    for column in with_guesses(columns):
        name, role = column.name, str(found.get(column.name, Role.UNUSED))
        if role != Role.UNUSED:
            why = " ".join(filter(None, (_why(column, role, roles, waiting.get(name, "")), formulas.get(name))))
        elif name in formulas:
            why = formulas[name]
        elif name in waiting:
            why = waiting[name]
        elif name == time:
            role, why = TIME, f"The name states the duration of a run in {_unit_of_time(name)}."
        else:
            why = f"{column.why} {_instead(column, roles)}".strip()
        made.append(ColumnUse(column, role, why))
    return tuple(made)


def _why(column: Column, role: str, roles: Roles, waiting: str) -> str:
    """Return why a column has ``role``, and how its cells are converted.

    ``waiting`` is the reason why the column does not have the role that its name suggests; empty if there is none.
    """
    how = roles.conversions.get(column.name, "")
    why = column.why
    if role != column.guess:
        why = waiting or _of_history(role, roles) or "The mapping names this column."
    elif how and role not in (Role.METRIC, Role.HYPER):
        why = f"{suggestion(column, Role(role), named_unit(column))}."
    return f"{why} {_converted(column.name, how)}".strip()


def _instead(column: Column, roles: Roles) -> str:
    """Return a sentence that names the column or formula used instead of ``column`` for its suggested role."""
    if column.guess in roles.derived:
        return f"The formula {column.guess} = {roles.derived[column.guess]} is used instead."
    other = roles.column(column.guess)
    return f"Column {other!r} is read instead." if other is not None else ""


def _of_history(role: str, roles: Roles) -> str:
    """Return why a column has ``role`` in a table with several rows per run, although its name does not suggest it."""
    if roles.rows == "all" or role not in (Role.RUN, Role.STEP, Role.EPOCHS):
        return ""
    return "It identifies the run of each row." if role == Role.RUN else "It orders the rows of a run."


def _converted(name: str, how: str) -> str:
    if not how:
        return ""
    about, kind = read_conversion(how, name).about, text_kind(how)
    text = f"as {TEXT_FORMATS[kind]}" if kind is not None else ""
    return f"It is read {', '.join(filter(None, (text, about)))}."


def _waiting(columns: Sequence[Column], roles: Roles) -> Mapping[str, str]:
    """Return column -> reason for the columns that are not read until the user confirms their unit or meaning."""
    guesses = {c.guess.value: c.name for c in with_guesses(columns) if c.guess is not Role.UNUSED}
    reasons = {guesses[role]: why for role, why in withheld(columns, roles).items() if role in guesses}
    return {name: f"{why[0].upper()}{why[1:]}." for name, why in reasons.items()}


def _formulas(roles: Roles) -> Mapping[str, str]:
    """Return column -> sentence with the formula, for each column that a formula of the mapping uses."""
    found = {name: f"C = {roles.compute.formula}" for name in formula_columns(roles)}
    found |= {n: f"{role} = {text}" for role, text in roles.derived.items() for n in read_formula(text).names}
    return {name: f"It is used in the formula {text}." for name, text in found.items()}


def _unit_of_time(name: str) -> str:
    return "hours" if seconds_each(name) > 1 else "seconds"
