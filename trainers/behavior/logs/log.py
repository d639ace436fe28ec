"""An event log as arrays: user, item and time of each event, and features of the items; and its facts.

Facts determine the size of a cell. They are stored next to the log after its first read.
Modules of this folder: ``read`` reads a log from files, ``synthetic`` makes one, ``split`` selects the events for
training and for scoring. ``isoplan.trainers.behavior.scores.metrics`` measures the scores.
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
"""Texts of any length, in numpy's ``StringDType``."""

UNKNOWN = 0
"""The code of an empty category."""


def texts(values: Sequence[str]) -> Names:
    """Return texts as an array."""
    return np.array(values, np.dtypes.StringDType())


@dataclass(frozen=True, eq=False)
class Features:
    """Features of rows (items or events).

    ``categories`` (rows, columns) are codes from 1, or ``UNKNOWN`` for an empty cell. ``sizes`` has the largest code
    plus 1 of each column. ``numbers`` (rows, columns) are finite and unscaled; a model scales them. ``category_names``
    and ``number_names`` are the names of the columns. Without such columns the arrays are (rows, 0).
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
        """Return empty features of ``rows`` rows."""
        return cls(np.zeros((rows, 0), np.int32), (), np.zeros((rows, 0), np.float32))

    def take(self, rows: Ints | slice) -> Features:
        """Return the features of the given rows, in that order."""
        return Features(self.categories[rows], self.sizes, self.numbers[rows], self.category_names, self.number_names)


@dataclass(frozen=True, eq=False)
class Items:
    """The catalogue: item i is row i of every array.

    ``names`` (items,) are the ids in the log, as texts. ``tokens`` (words,) are the words of the items' texts,
    concatenated in order of the items, as numbers from 1 below ``vocabulary``. ``starts`` (items + 1,) are the offsets
    of the items in ``tokens``, from 0; the last one is the number of words. Without text ``vocabulary`` is 1 and
    ``tokens`` is empty.
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
    """Events sorted by user, then by time.

    User u has the events from ``starts[u]`` up to ``starts[u + 1]``; ``starts`` is (users + 1,). Event e has the item
    ``items[e]``, (events,), a row of ``catalogue``, and the time ``times[e]``, (events,): seconds since 1970 for dates,
    else the given number, or the row in the file if there is no time. ``features`` are those of the events. ``users``
    (users,) are the names in the log. ``timed`` is true if ``times`` can be compared between users. ``notes`` are
    sentences from the reading of the log.
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
        """The user of each event, (events,)."""
        return np.repeat(np.arange(len(self.users), dtype=np.int32), self.lengths)

    @cached_property
    def seen(self) -> Ints:
        """The unique pairs of user and item in rising order, as user times number of items plus item."""
        return np.unique(self.owners.astype(np.int64) * len(self.catalogue) + self.items)


FOLDER = "behavior"
"""Folder in the workspace with event logs, each a folder with ``events`` and optionally ``items``."""
KEPT = "facts"

Cut = Literal["last", "last-one", "time"]


class Facts(BaseModel):
    """Facts of a log: the catalogue with its features, and one pass over the training windows.

    ``targets`` is the number of events that a pass predicts in ``windows`` sequences. ``t`` is the mean number of
    tokens of an item, at least 1. ``event_categories`` and ``event_numbers`` are the features of an event in addition
    to its item.
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
        """The fields of an item and of an event that the embedder reads."""
        of_events = (self.event_categories, self.event_numbers)
        return Fields(self.vocabulary, self.categories, self.numbers, self.buckets, *of_events)

    @property
    def events(self) -> float:
        """The mean number of events that a sequence reads."""
        return self.targets / max(self.windows, 1)


def read_facts(root: Path, data: str, split: Cut, length: int, buckets: int) -> Facts | None:
    """Return the stored facts of the current version of a log, or None if it has not been read."""
    with contextlib.suppress(OSError, ValidationError):
        return Facts.model_validate_json(_place(root, data, split, length, buckets).read_bytes())
    return None


def keep_facts(root: Path, data: str, split: Cut, length: int, buckets: int, facts: Facts) -> None:
    """Store the facts of a log, for use before a cell runs."""
    place = _place(root, data, split, length, buckets)
    if not place.exists():
        place.parent.mkdir(exist_ok=True)
        write_json(place, facts.model_dump(mode="json"))


def _place(root: Path, data: str, split: Cut, length: int, buckets: int) -> Path:
    """Return the path of the facts. Its name is a hash of the state of the files and of the split."""
    folder = root / FOLDER / data
    files = sorted((p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in folder.iterdir() if p.is_file())
    what = hashlib.sha256(repr((VERSION, files, split, length, buckets)).encode()).hexdigest()[:16]
    return folder / KEPT / f"{what}.json"
