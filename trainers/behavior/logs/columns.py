"""Which column of a table is the user, the item, the time, a text, a category or a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.logs.table_files import ITEM, TEXT, TIME, USER, Table

Kind = Literal["category", "number"]


@dataclass(frozen=True)
class Columns:
    """The columns of a table as the user names them; what is not named is told by its name or by its cells.

    ``user``, ``item`` and ``time`` are one column each, the item's alone in an item table; ``text`` are joined in their
    order. Columns that are left over are numbers where all their cells are, else categories; those of ``leave`` are
    not read.
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
    """What each column of a file is: ``user`` and ``time`` are empty where there is none.

    ``features`` are the columns that are left over, with their kind where it was said.
    """

    user: str
    item: str
    time: str
    text: tuple[str, ...]
    features: Mapping[str, Kind | None]

    @property
    def all(self) -> tuple[str, ...]:
        """Every column that is read."""
        return (*(name for name in (self.user, self.item, self.time) if name), *self.text, *self.features)


def roles(table: Table, columns: Columns, *, events: bool) -> Roles:
    """The roles of a table of ``events``, or else of items.

    Raises PlannerError for a column that is missing, or named twice.
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
    """The free column with the best of these names; empty for none."""
    lower = {name.lower(): name for name in reversed(free)}
    return next((lower[name] for name in names if name in lower), "")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
