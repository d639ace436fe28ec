"""Changes of a mapping that give a role the column of another role: the column moves, and the two roles swap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isoplan.engine.schema import NUMERIC_ROLES, Metric, Role, Roles

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
    Role.STEP: "Updates",
    Role.WEIGHT: "Weight in the fit",
}
LISTS = {"metrics": "metrics", "hyper": "hyperparameters"}
"""What the roles of several columns are called in a sentence."""


def with_swaps(roles: Roles, changes: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return ``changes`` of ``roles`` without conflicts, and a line for each column that moved.

    A column that had another role leaves it. That role gets the column that the changed role had before, where the
    kinds of the two roles allow it, and else has no column.
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
    """Take ``column`` out of every role but ``name``, and give these roles ``before`` in its place."""
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
    """``loss_ptb moved from the metrics to L: loss. The metrics now have val_loss.``"""
    to = next((text for role, text in LABELS.items() if role.value == name), f"the {LISTS.get(name, name)}")
    has = "have" if left.startswith("the ") else "has"
    rest = f"{left[0].upper()}{left[1:]} now {has} {swapped}." if swapped else ""
    none = "" if swapped or has == "have" else f"{left} has no column now."
    return f"{column} moved from {left} to {to}. {rest}{none}".strip()


def _columns(entries: Sequence[Any]) -> list[str]:
    return [_column(entry) for entry in entries]


def _column(entry: Any) -> str:
    """The column of an entry of a list: a metric, the same as a dictionary, or a name."""
    if isinstance(entry, Metric):
        return entry.column
    return str(entry["column"]) if isinstance(entry, Mapping) else str(entry)
