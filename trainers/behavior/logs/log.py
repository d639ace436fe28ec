"""An event log as arrays, and the facts of a log.

A log has the user, the item and the time of each event, and features of items and events. The facts of a log are the
numbers that determine the size of a cell; they are stored next to the log after its first read. Modules of this folder:
``read`` reads a log from files, ``synthetic`` generates one, and ``split`` selects the events for training and for
scoring. Metrics are computed in ``isoplan.trainers.behavior.scores.metrics``.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from isoplan.engine.arrays import Ints, Singles
from isoplan.trainers.backend.store.files import write_json
from isoplan.trainers.behavior.model.shape import VERSION, Fields

Codes = NDArray[np.int32]
Names = NDArray[Any]
"""Array of texts of any length (numpy's ``StringDType``)."""

UNKNOWN = 0
"""Code of an empty cell in a column of categories."""


def texts(values: Sequence[str]) -> Names:
    """Return texts as an array of variable-length strings."""
    return np.array(values, np.dtypes.StringDType())


@dataclass(frozen=True, eq=False)
class Features:
    """Features of rows, where a row is an item or an event.

    ``categories`` (rows, columns) are codes from 1, or ``UNKNOWN`` for an empty cell. ``sizes`` has, for each of these
    columns, the largest code plus 1. ``numbers`` (rows, columns) are finite and as in the file; a model scales them.
    ``category_names`` and ``number_names`` are the names of the columns. Without such columns the arrays are (rows, 0).
    """

    categories: Codes
    sizes: tuple[int, ...]
    numbers: Singles
    category_names: tuple[str, ...] = ()
    number_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        c, n = self.categories, self.numbers
        names = (len(self.category_names), len(self.sizes), len(self.number_names))
        if c.ndim != 2 or n.ndim != 2 or len(c) != len(n) or names != (c.shape[1], c.shape[1], n.shape[1]):
            raise ValueError(f"not features: categories {c.shape}, numbers {n.shape}, names {names}")

    def __len__(self) -> int:
        return len(self.categories)

    @classmethod
    def none(cls, rows: int) -> Features:
        """Return features of ``rows`` rows without any column."""
        return cls(np.zeros((rows, 0), np.int32), (), np.zeros((rows, 0), np.float32))

    def take(self, rows: Ints | slice) -> Features:
        """Return the features of the given rows, in the given order."""
        return Features(self.categories[rows], self.sizes, self.numbers[rows], self.category_names, self.number_names)


@dataclass(frozen=True, eq=False)
class Items:
    """The catalogue: all items of a log. Item i is row i of every array.

    ``names`` (items,) are the ids of the items in the log, as texts. ``tokens`` (words,) are the words of the items'
    texts, concatenated in the order of the items. A word is a number from 1 to ``vocabulary`` - 1. ``starts`` (items +
    1,) are the offsets of the items in ``tokens``: the first is 0, the last the number of words. If items have no text,
    ``vocabulary`` is 1 and ``tokens`` is empty.
    """

    names: Names
    tokens: Codes
    starts: Ints
    vocabulary: int
    features: Features

    def __post_init__(self) -> None:
        s, t = self.starts, self.tokens
        whole = s.ndim == 1 and len(s) == len(self.names) + 1 and s[0] == 0 and s[-1] == len(t)
        if not whole or np.any(s[1:] < s[:-1]) or len(self.features) != len(self.names):
            raise ValueError(f"not a catalogue: names {self.names.shape}, tokens {t.shape}, starts {s.shape}")

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class Log:
    """Events sorted by user, and by time within a user.

    User u has the events from ``starts[u]`` up to ``starts[u + 1]``, without the latter; ``starts`` is (users + 1,).
    Event e has the item ``items[e]``, a row of ``catalogue``, and the time ``times[e]``; both arrays are (events,). The
    time of an event is in seconds since 1970 if the column has dates, and the number in the file otherwise. If the file
    has no time, it is the number of the row. ``features`` are those of the events. ``users`` (users,) are the names in
    the log. ``timed`` is true if ``times`` can be compared between users. ``notes`` are sentences for the user from the
    reading of the log.
    """

    users: Names
    starts: Ints
    items: Codes
    times: NDArray[np.float64]
    features: Features
    catalogue: Items
    timed: bool = True
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        s = self.starts
        whole = s.ndim == 1 and len(s) == len(self.users) + 1 and s[0] == 0 and s[-1] == len(self.items)
        if not whole or np.any(s[1:] < s[:-1]) or not len(self.items) == len(self.times) == len(self.features):
            raise ValueError(f"not a log: users {self.users.shape}, starts {s.shape}, items {self.items.shape}")

    def __len__(self) -> int:
        return len(self.items)

    @property
    def lengths(self) -> Ints:
        """The number of events of each user, (users,)."""
        return np.diff(self.starts)

    @cached_property
    def owners(self) -> Codes:
        """The index of the user of each event, (events,)."""
        return np.repeat(np.arange(len(self.users), dtype=np.int32), self.lengths)

    @cached_property
    def seen(self) -> Ints:
        """The distinct pairs of user and item with an event, in rising order, as user * (number of items) + item."""
        return np.unique(self.owners.astype(np.int64) * len(self.catalogue) + self.items)


FOLDER = "behavior"
"""Folder of the workspace for event logs. Each log is a folder in it, with a file ``events`` and optionally
``items``.
"""
KEPT = "facts"

Cut = Literal["last", "last-one", "time"]


class Facts(BaseModel):
    """Facts of a log: the sizes of its catalogue and features, and of one pass over its training windows.

    ``targets`` is the number of events that one pass predicts, and ``windows`` the number of training windows
    (sequences). ``t`` is the mean number of tokens of an item, at least 1. ``buckets`` is the number of rows of the id
    table. The other fields are those of ``Fields``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    items: int
    vocabulary: int
    categories: tuple[int, ...]
    numbers: int
    buckets: int
    targets: int
    windows: int
    t: int
    event_categories: tuple[int, ...] = ()
    event_numbers: int = 0

    @property
    def fields(self) -> Fields:
        """The inputs of the embedder for an item and for an event."""
        of_events = (self.event_categories, self.event_numbers)
        return Fields(self.vocabulary, self.categories, self.numbers, self.buckets, *of_events)

    @property
    def events(self) -> float:
        """The mean number of events that a sequence reads."""
        return self.targets / max(self.windows, 1)


def read_facts(root: Path, data: str, split: Cut, length: int, buckets: int) -> Facts | None:
    """Return the stored facts of a log, or None if no cell has read the current version of its files."""
    with contextlib.suppress(OSError, ValidationError):
        return Facts.model_validate_json(_place(root, data, split, length, buckets).read_bytes())
    return None


def keep_facts(root: Path, data: str, split: Cut, length: int, buckets: int, facts: Facts) -> None:
    """Store the facts of a log, so that they are available before the next cell on this log runs."""
    place = _place(root, data, split, length, buckets)
    if not place.exists():
        place.parent.mkdir(exist_ok=True)
        write_json(place, facts.model_dump(mode="json"))


def _place(root: Path, data: str, split: Cut, length: int, buckets: int) -> Path:
    """Return the path of the stored facts.

    Its name is a hash of the state of the log's files and of the other arguments.
    """
    folder = root / FOLDER / data
    files = sorted((p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in folder.iterdir() if p.is_file())
    what = hashlib.sha256(repr((VERSION, files, split, length, buckets)).encode()).hexdigest()[:16]
    return folder / KEPT / f"{what}.json"
