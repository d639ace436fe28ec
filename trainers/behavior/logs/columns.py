"""Roles of the columns of a table: user, item, time, text, category or number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.logs.table_files import ITEM, TEXT, TIME, USER, Table

Kind = Literal["category", "number"]


@dataclass(frozen=True)
class Columns:
    """The columns of a table as set by the user. The role of other columns follows from their name or cells.

    ``user``, ``item`` and ``time`` are one column each; an item table has only the item. ``text`` columns are joined in
    order. Remaining columns are numbers if all their cells are, else categories. Columns in ``leave`` are not read.
    """

    user: str = ""
    item: str = ""
    time: str = ""
    text: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()


@dataclass(frozen=True)
class Roles:
    """The role of each column of a file. ``user`` and ``time`` are empty if the file has none.

    ``features`` are the remaining columns, with their kind if it was set.
    """

    user: str
    item: str
    time: str
    text: tuple[str, ...]
    features: Mapping[str, Kind | None]

    @property
    def all(self) -> tuple[str, ...]:
        """All columns that are read."""
        return (*(name for name in (self.user, self.item, self.time) if name), *self.text, *self.features)


def roles(table: Table, columns: Columns, *, events: bool) -> Roles:
    """Return the roles of the columns of a table of ``events``, or of items if false.

    Raises PlannerError if a column is missing or has two roles.
    """
    named = (columns.user, columns.item, columns.time, *columns.text, *columns.categories, *columns.numbers)
    named = (*(name for name in named if name), *columns.leave)
    for name in named:
        if name not in table.columns:
            raise PlannerError(f"{table.name} has no column {name!r}: name one of {_listed(table.columns)}.")
        if named.count(name) > 1:
            raise PlannerError(f"Column {name} of {table.name} is named twice: give it one role.")
    free = [name for name in table.columns if name not in named]
    user = (columns.user or _needed(table, free, "user", USER)) if events else ""
    item = columns.item or _needed(table, free, "item", ITEM)
    time = (columns.time or _guessed(free, TIME)) if events else ""
    text = columns.text or tuple(name for name in free if name.lower() in TEXT)
    rest: dict[str, Kind | None] = {name: None for name in free if name not in (user, item, time, *text)}
    for name in columns.categories:
        rest[name] = "category"
    for name in columns.numbers:
        rest[name] = "number"
    return Roles(user, item, time, text, {name: rest[name] for name in table.columns if name in rest})


def _needed(table: Table, free: Sequence[str], what: str, names: Sequence[str]) -> str:
    if found := _guessed(free, names):
        return found
    raise PlannerError(
        f"{table.name} has no column {what!r}: rename the column of the {what}, or say in columns.toml which of "
        f"{_listed(table.columns)} it is."
    )


def _guessed(free: Sequence[str], names: Sequence[str]) -> str:
    """Return the free column with the first matching name, or "" if none matches."""
    lower = {name.lower(): name for name in reversed(free)}
    return next((lower[name] for name in names if name in lower), "")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
