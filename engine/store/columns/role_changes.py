"""Changes of a mapping of roles to columns. A column that gets a new role loses its previous role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isoplan.engine.schema import NUMERIC_ROLES, Metric, Roles
from isoplan.engine.store.columns.role_lines import LABELS

LISTS = {"metrics": "metrics", "hyper": "hyperparameters"}
"""Roles that can have several columns: field of ``Roles`` -> name in messages."""


def change_roles(roles: Roles, changes: Mapping[str, Any]) -> tuple[Roles, tuple[str, ...]]:
    """Return the mapping with ``changes`` (fields of ``Roles``), and a message per column that moved to another role.

    In the result, a column has two roles only if ``changes`` contains the column twice.
    """
    made, moves = with_swaps(roles, changes)
    if "group" in made and made["group"] is None:
        made["each"] = False
    return Roles.model_validate({**roles.model_dump(), **made}), moves


def with_swaps(roles: Roles, changes: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Extend ``changes`` until no column has two roles; return the result, and a message per column that moved.

    A column that gets a new role loses its previous role. If the two roles need the same kind of column, they exchange
    their columns. Otherwise the previous role has no column afterwards.
    """
    made, lines = dict(changes), list[str]()
    for name in [role.value for role in LABELS if role.value in changes]:
        column, before = changes[name], getattr(roles, name)
        if column is not None and column != before:
            lines += _leave(roles, made, name, column, before)
    for name in LISTS:
        for column in _columns(changes.get(name, ())):
            if column not in _columns(getattr(roles, name)):
                lines += _leave(roles, made, name, column, None)
    return made, tuple(lines)


def _leave(roles: Roles, made: dict[str, Any], name: str, column: str, before: str | None) -> list[str]:
    """Remove ``column`` from all roles except ``name``, and assign ``before`` to the role that ``column`` leaves.

    ``before`` is the former column of the role ``name``. ``made`` contains the changes and is updated. Returns the
    messages.
    """
    lines = []
    for role in LABELS:
        if role.value not in (name, *made) and roles.column(role) == column:
            number_or_text = (role in NUMERIC_ROLES) == (name in NUMERIC_ROLES)
            made[role.value] = before if number_or_text else None
            lines.append(_line(column, LABELS[role], name, made[role.value]))
    for list_name, label in LISTS.items():
        held = made.get(list_name, getattr(roles, list_name))
        if list_name == name or column not in _columns(held):
            continue
        swapped = before if list_name == "hyper" or name == "loss" else None
        rest = [entry for entry in held if _column(entry) != column]
        if swapped is not None and list_name == "metrics":
            rest.append(Metric(column=swapped, direction="min"))
        elif swapped is not None:
            rest.append(swapped)
        made[list_name] = rest
        lines.append(_line(column, f"the {label}", name, swapped))
    return lines


def _line(column: str, left: str, name: str, swapped: str | None) -> str:
    """Return a message such as ``loss_ptb moved from the metrics to L: loss. The metrics now have val_loss.``

    ``left`` is the previous role, ``name`` the new role, and ``swapped`` the new column of the previous role.
    """
    to = next((text for role, text in LABELS.items() if role.value == name), f"the {LISTS.get(name, name)}")
    has = "have" if left.startswith("the ") else "has"
    rest = f"{left[0].upper()}{left[1:]} now {has} {swapped}." if swapped else ""
    none = "" if swapped or has == "have" else f"{left} has no column now."
    return f"{column} moved from {left} to {to}. {rest}{none}".strip()


def _columns(entries: Sequence[Any]) -> list[str]:
    return [_column(entry) for entry in entries]


def _column(entry: Any) -> str:
    """Return the name of the column in ``entry``.

    An entry is a Metric, a mapping with the key "column", or the name itself.
    """
    if isinstance(entry, Metric):
        return entry.column
    return str(entry["column"]) if isinstance(entry, Mapping) else str(entry)
