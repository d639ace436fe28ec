"""Event logs and item tables from files, read in one pass with one batch of rows in memory.

Ambiguous cases are resolved by these rules:

- Events are sorted by time for each user. Events with equal times stay in the order of the file.
- Without a column of times, the order of the file is the order in time.
- A user with one event stays in the log. The event counts for the popularity of its item, but it is never predicted.
- Without an item table, the catalogue contains the items of the events. A column with equal values in all events of
  each item becomes a feature of the items.

Each rule that applies adds a sentence to ``Log.notes``. Another sentence describes how the events are distributed over
the items. Invalid values raise PlannerError with the column and the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.logs.columns import Clock, Coder, Column, Kind, Texts, clock, gathered, moments, names
from isoplan.trainers.behavior.logs.log import Codes, Features, Items, Log, texts
from isoplan.trainers.behavior.logs.popularity import Popularity, describe_spread
from isoplan.trainers.behavior.logs.table_files import ITEM, TEXT, TIME, USER, Batch, Table, batches, open_table


@dataclass(frozen=True)
class Columns:
    """Column roles that the user sets. The role of any other column follows from its name or its cells.

    ``user``, ``item`` and ``time`` are one column each. An item table has only ``item``. The texts of all ``text``
    columns are joined in the given order. A column without a role becomes numeric if all its cells are numbers, and
    otherwise a category. Columns in ``leave`` are not read.
    """

    user: str = ""
    item: str = ""
    time: str = ""
    text: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()


AUTO = Columns()
"""No roles set by the user: the role of each column follows from its name or its cells."""


@dataclass(frozen=True)
class Roles:
    """The role of each column of a file. ``user`` and ``time`` are "" if the file has no such column.

    ``features`` contains the remaining columns, each with its kind. The kind is None if the user has not set it.
    """

    user: str
    item: str
    time: str
    text: tuple[str, ...]
    features: Mapping[str, Kind | None]

    @property
    def all(self) -> tuple[str, ...]:
        """Names of all columns to read."""
        return (*(name for name in (self.user, self.item, self.time) if name), *self.text, *self.features)


def read_items(path: Path, columns: Columns = AUTO) -> Items:
    """Return the catalogue from a table with one row per item, in the order of the rows.

    Raises PlannerError if an item has two rows.
    """
    table = open_table(path)
    role = roles(table, columns, events=False)
    coder, words, features = Coder(), Texts(table, role.text), [Column(table, *one) for one in role.features.items()]
    for batch in batches(table, role.all):
        codes, _ = coder.code(names(table, batch, role.item))
        expected = np.arange(batch.first - 1, batch.first - 1 + len(codes))
        if np.any(codes != expected):
            row = int(np.argmax(codes != expected))
            raise PlannerError(
                f"Column {role.item} of {table.name} names {batch.columns[role.item][row].as_py()!r} in row "
                f"{batch.first + row} and in row {codes[row] + 1}: keep one row for each item."
            )
        words.add(batch)
        for column in features:
            column.add(batch)
    return Items(texts(list(coder.codes)), *words.finish(len(coder.codes)), gathered(features, len(coder.codes)))


def read_log(path: Path, columns: Columns = AUTO, items: Items | None = None) -> Log:
    """Return the log from a table with one row per event, or from a ``.txt`` file of lines ``user item``.

    ``items`` is the catalogue from an item table, or None if there is no item table. Raises PlannerError if each user
    has only one event, or if an event has an item that is missing in ``items``.
    """
    table = open_table(path)
    role = roles(table, columns, events=True)
    notes = []
    if table.kind == "plain" and table.header:
        notes.append(f"{table.name} begins with the names of its columns: the first line is not read as an event.")
    if items is not None and role.text:
        if columns.text:
            raise PlannerError(
                f"Column {role.text[0]} of {table.name} is declared as text, but texts belong to the item table: "
                f"declare it there."
            )
        notes.append(f"Column {role.text[0]} of {table.name} is not read: only texts of the item table are used.")
        role = replace(role, text=())
    raw = _read(table, role, items)
    order, late = _order(raw.users, raw.times)
    if not role.time:
        notes.append(f"{table.name} has no column of time: the events of a user are used in the order of the file.")
    if late:
        notes.append(
            f"In {table.name}, {late:,} of {len(raw.users):,} events are earlier than the previous event of the "
            f"same user: the events of each user are sorted by {role.time}, and events of the same time stay in the "
            f"order of the file."
        )
    counts = np.bincount(raw.users)
    notes += _lonely(table, role, counts, raw.names)
    catalogue, features = raw.catalogue, raw.features
    if items is None:
        catalogue, features, moved = _lifted(catalogue, features, raw.items)
        notes += [
            f"Column {one} has the same value in all events of each item: it is used as a feature of the items."
            for one in moved
        ]
    notes += describe_spread(Popularity(np.bincount(raw.items, minlength=len(catalogue))))
    starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    if order is not None:
        raw = replace(raw, items=raw.items[order], times=raw.times[order])
        features = features.take(order)
    return Log(texts(raw.names), starts, raw.items, raw.times, features, catalogue, bool(role.time), tuple(notes))


@dataclass(frozen=True, eq=False)
class _Raw:
    """A log with its events in the order of the file, before they are sorted."""

    users: Codes
    items: Codes
    times: NDArray[np.float64]
    features: Features
    catalogue: Items
    names: list[str]


def _read(table: Table, role: Roles, items: Items | None) -> _Raw:
    users, known = Coder(), Coder([] if items is None else items.names.tolist())
    words, features = Texts(table, role.text), [Column(table, *one) for one in role.features.items()]
    parts: dict[str, list[NDArray[Any]]] = {"users": [], "items": [], "times": []}
    how: Clock | None = None
    for batch in batches(table, role.all):
        before = len(known.codes)
        codes, new = known.code(names(table, batch, role.item), grow=items is None)
        if new and items is not None:
            _refuse_unknown(table, batch, role.item, codes)
        if role.text:
            words.add(batch, _first_rows(codes, before))
        parts["users"].append(users.code(names(table, batch, role.user))[0])
        parts["items"].append(codes)
        if role.time:
            how = how or clock(batch, role.time)
            parts["times"].append(moments(table, batch, role.time, how))
        for column in features:
            column.add(batch)
    who, what = np.concatenate(parts.pop("users")), np.concatenate(parts.pop("items"))
    when = np.concatenate(parts.pop("times")) if role.time else np.arange(len(who), dtype=np.float64)
    if items is None:
        rows = len(known.codes)
        items = Items(texts(list(known.codes)), *words.finish(rows), Features.none(rows))
    return _Raw(who, what, when, gathered(features, len(who)), items, list(users.codes))


def _first_rows(codes: Codes, before: int) -> NDArray[np.int64]:
    """Return the first row of each item that is new in a batch, in the order of the item codes.

    An item is new if its code is at least ``before``.
    """
    found, rows = np.unique(codes, return_index=True)
    return rows[found >= before]


def _refuse_unknown(table: Table, batch: Batch, column: str, codes: Codes) -> NoReturn:
    row = int(np.argmax(codes < 0))
    raise PlannerError(
        f"Column {column} of {table.name} names {batch.columns[column][row].as_py()!r} in row {batch.first + row}. "
        "This item is missing in the item table: add it there, or remove its events."
    )


def _order(users: Codes, times: NDArray[np.float64]) -> tuple[NDArray[np.int64] | None, int]:
    """Return the order of the events by user and time, and the number of events in the wrong order.

    An event is in the wrong order if it is earlier than the previous event of its user in the file. The order is None
    if the file is already sorted.
    """
    order = np.argsort(users, kind="stable")
    back = int(np.sum((np.diff(users[order]) == 0) & (np.diff(times[order]) < 0)))
    if back:
        order = np.lexsort((times, users))
    return (None if np.array_equal(order, np.arange(len(order))) else order), back


def _lonely(table: Table, role: Roles, counts: NDArray[np.int64], users: Sequence[str]) -> list[str]:
    """Describe the users that have only one event. Raises PlannerError if no user has more than one event."""
    alone = np.flatnonzero(counts == 1)
    if len(alone) == len(counts):
        raise PlannerError(
            f"Each user of {table.name} has only one event, so there is nothing to predict. Column {role.user} was "
            f"read as the user: name the correct column."
        )
    if not len(alone):
        return []
    return [
        f"{len(alone):,} of {len(counts):,} users have one event ({users[alone[0]]!r} in column {role.user} is the "
        f"first): nothing can be predicted for them, but their events count for the popularity of the items."
    ]


def _lifted(items: Items, features: Features, codes: Codes) -> tuple[Items, Features, list[str]]:
    """Move a feature column of the events to the items if its values depend only on the item.

    Returns the items, the remaining features of the events, and the names of the moved columns.
    """
    first = np.zeros(len(items), np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    same = [
        np.array([np.array_equal(column[first][codes], column) for column in kept.T], np.bool_)
        for kept in (features.categories, features.numbers)
    ]
    of_items = _some(features, *same).take(first)
    moved = [*of_items.category_names, *of_items.number_names]
    return replace(items, features=of_items), _some(features, *(~one for one in same)), moved


def _some(features: Features, categories: NDArray[np.bool_], numbers: NDArray[np.bool_]) -> Features:
    """Return only the feature columns that are True in ``categories`` or ``numbers``."""
    return Features(
        features.categories[:, categories],
        tuple(size for size, kept in zip(features.sizes, categories, strict=True) if kept),
        features.numbers[:, numbers],
        tuple(name for name, kept in zip(features.category_names, categories, strict=True) if kept),
        tuple(name for name, kept in zip(features.number_names, numbers, strict=True) if kept),
    )


def roles(table: Table, columns: Columns, *, events: bool) -> Roles:
    """Return the roles of the columns of an event table, or of an item table if ``events`` is False.

    Raises PlannerError if a column is missing, or if two roles are set for a column.
    """
    named = (columns.user, columns.item, columns.time, *columns.text, *columns.categories, *columns.numbers)
    named = (*(name for name in named if name), *columns.leave)
    for name in named:
        if name not in table.columns:
            raise PlannerError(f"{table.name} has no column {name!r}: name one of {_listed(table.columns)}.")
        if named.count(name) > 1:
            raise PlannerError(f"Column {name} of {table.name} has two roles: give it one role.")
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
    """Return the column of ``free`` that matches the earliest of ``names``, or "" if none matches. Case is ignored."""
    lower = {name.lower(): name for name in reversed(free)}
    return next((lower[name] for name in names if name in lower), "")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
