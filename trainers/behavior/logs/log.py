"""An event log as arrays, and the properties of a log.

A log has the user, the item and the time of each event, and features of items and events. The properties (facts) of a
log are numbers that determine the size of a training run. They are stored in the folder of the log after its first use.
Other modules of this folder: ``read`` reads a log from files, ``synthetic`` generates a log, and ``split`` selects the
events for training and for scoring. Metrics are computed in ``isoplan.trainers.behavior.scores.metrics``.
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
"""Array of strings of any length (NumPy's ``StringDType``)."""

UNKNOWN = 0
"""Code of an empty cell in a column of categories."""


def texts(values: Sequence[str]) -> Names:
    """Return strings as an array of variable-length strings."""
    return np.array(values, np.dtypes.StringDType())


@dataclass(frozen=True, eq=False)
class Features:
    """Features of the rows of a table, where each row is an item or an event.

    - ``categories`` (rows, columns): codes from 1, or ``UNKNOWN`` for an empty cell.
    - ``sizes``: the largest code plus 1 for each column of ``categories``.
    - ``numbers`` (rows, columns): finite numbers from the file, not scaled.
    - ``category_names``, ``number_names``: names of the columns.

    Without such columns, the arrays have the shape (rows, 0).
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
        """Return features with ``rows`` rows and without columns."""
        return cls(np.zeros((rows, 0), np.int32), (), np.zeros((rows, 0), np.float32))

    def take(self, rows: Ints | slice) -> Features:
        """Return the features of the given rows, in the given order."""
        return Features(self.categories[rows], self.sizes, self.numbers[rows], self.category_names, self.number_names)


@dataclass(frozen=True, eq=False)
class Items:
    """The catalogue: all items of a log. Item i is row i of every array.

    ``names`` (items,) contains the ids of the items in the log, as strings. ``tokens`` (words,) contains the words of
    the texts of all items, in the order of the items. A word is a number from 1 to ``vocabulary`` - 1. ``starts``
    (items + 1,) contains the offset of each item in ``tokens``: the first is 0, the last is the number of words. If
    items have no text, ``vocabulary`` is 1 and ``tokens`` is empty.
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
    """Events of a log, sorted by user, and by time within a user.

    User u has the events from ``starts[u]`` (included) to ``starts[u + 1]`` (excluded). ``starts`` is (users + 1,).
    Event e has the item ``items[e]``, a row of ``catalogue``, and the time ``times[e]``. The two arrays are (events,).

    Times are seconds since 1970 if the column has dates, and otherwise the numbers in the file. If the file has no
    times, they are row numbers. ``timed`` is True if the times of different users are comparable.

    ``features`` contains the features of the events. ``users`` (users,) contains the names of the users in the log.
    ``notes`` contains sentences for the user of Isoplan about the reading of the log.
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
        """Number of events of each user, (users,)."""
        return np.diff(self.starts)

    @cached_property
    def owners(self) -> Codes:
        """Index of the user of each event, (events,)."""
        return np.repeat(np.arange(len(self.users), dtype=np.int32), self.lengths)

    @cached_property
    def seen(self) -> Ints:
        """Distinct (user, item) pairs of the events, as user * (number of items) + item, in rising order."""
        return np.unique(self.owners.astype(np.int64) * len(self.catalogue) + self.items)


FOLDER = "behavior"
"""Folder of the workspace for event logs.

Each log is a subfolder with a file ``events`` and optionally a file ``items``.
"""
KEPT = "facts"

Cut = Literal["last", "last-one", "time"]


class Facts(BaseModel):
    """Properties of a log: the sizes of its catalogue and features, and of one pass over its training windows.

    ``targets`` is the number of events that the model predicts in one pass, and ``windows`` the number of training
    windows (sequences). ``t`` is the mean number of tokens of an item, at least 1. ``buckets`` is the number of rows of
    the id table. The other fields have the same meaning as in ``Fields``.
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
        """Inputs of the embedder for an item and for an event."""
        of_events = (self.event_categories, self.event_numbers)
        return Fields(self.vocabulary, self.categories, self.numbers, self.buckets, *of_events)

    @property
    def events(self) -> float:
        """Mean number of events that the model reads per sequence."""
        return self.targets / max(self.windows, 1)


def read_facts(root: Path, data: str, split: Cut, length: int, buckets: int) -> Facts | None:
    """Return the stored properties of a log, or None if no training run has read the current version of its files."""
    with contextlib.suppress(OSError, ValidationError):
        return Facts.model_validate_json(_place(root, data, split, length, buckets).read_bytes())
    return None


def keep_facts(root: Path, data: str, split: Cut, length: int, buckets: int, facts: Facts) -> None:
    """Store the properties of a log, to make them available before the next training run on this log."""
    place = _place(root, data, split, length, buckets)
    if not place.exists():
        place.parent.mkdir(exist_ok=True)
        write_json(place, facts.model_dump(mode="json"))


def _place(root: Path, data: str, split: Cut, length: int, buckets: int) -> Path:
    """Return the path of the stored properties of a log.

    The file name is a hash of the arguments and of the state of the files of the log.
    """
    folder = root / FOLDER / data
    files = sorted((p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in folder.iterdir() if p.is_file())
    what = hashlib.sha256(repr((VERSION, files, split, length, buckets)).encode()).hexdigest()[:16]
    return folder / KEPT / f"{what}.json"
