"""Features of items and events for the embedder, and groups of items whose features are equal.

Scalar products with equal vectors may differ in the last digit, because the order of a sum depends on the processor and
on the place in the array. Items are therefore compared by their features before scoring, and not by their scores.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Ints, Singles
from isoplan.trainers.behavior.logs.log import Codes, Features, Items
from isoplan.trainers.behavior.model.shape import TEXT, Fields
from isoplan.trainers.packed.rectangles import runs

GROUP_ROWS = 2**14
"""Number of vectors that are compared at once."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of items: ``first`` (groups,), rising, is the first item of each; ``of`` (items,) the group of each
    item.
    """

    first: Ints
    of: Ints

    @classmethod
    def apart(cls, items: int) -> Groups:
        """Return groups of one item each."""
        return cls(np.arange(items), np.arange(items))

    def __len__(self) -> int:
        return len(self.first)

    @property
    def distinct(self) -> bool:
        """Whether no two items are the same."""
        return len(self.first) == len(self.of)

    @cached_property
    def sizes(self) -> Ints:
        """The number of items in each group, (groups,)."""
        return np.bincount(self.of, minlength=len(self))

    @cached_property
    def members(self) -> Ints:
        """All items, (items,), sorted by group, in rising order within each."""
        return np.argsort(self.of, kind="stable")

    def expand(self, best: Ints, top: int) -> Ints:
        """Return the items (Q, K) of the groups ``best`` (Q, k), the first ``top`` of each row."""
        ends = np.minimum(np.cumsum(self.sizes[best], axis=1), top)
        lengths = np.diff(ends, axis=1, prepend=0)
        starts = np.cumsum(self.sizes) - self.sizes
        return self.members[runs(starts[best].ravel(), lengths.ravel())].reshape(len(best), -1)


def group_keys(keys: Ints) -> Groups:
    """Group items (items,) by equal keys."""
    _, first, of = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return Groups(first[order], place[of])


def group_vectors(vectors: NDArray[np.floating[Any]]) -> Groups:
    """Group items by equal vectors (items, h); 0 and -0 are equal.

    Vectors are compared by a hash: two different ones are in one group with a probability of 2^-64.
    """
    blocks = (vectors[begin : begin + GROUP_ROWS] + 0.0 for begin in range(0, len(vectors), GROUP_ROWS))
    hashes = (hash(row.tobytes()) for block in blocks for row in block)
    return group_keys(np.fromiter(hashes, np.int64, len(vectors)))


HASHES = 2
"""Number of table rows summed for an id if there are fewer rows than items. Two items rarely share both rows."""
DECADES = 100.0
"""Ratio of the largest to the smallest value of a column above which its logarithm is used."""
ROWS = 2**20
"""Number of rows that are scaled at once."""
MOST_BUCKETS = 2**20
"""Maximum number of rows of the id table if none is set."""


@dataclass(frozen=True, eq=False)
class Scale:
    """Scaling of each column, or of its logarithm if ``logs`` (columns,), to mean 0 and variance 1.

    Logarithms are used for positive columns that span a factor of 100, such as prices; smaller values than ``low`` are
    set to ``low``. A constant column becomes 0. ``low``, ``mean`` and ``std`` are (columns,).
    """

    logs: NDArray[np.bool_]
    low: NDArray[np.float64]
    mean: NDArray[np.float64]
    std: NDArray[np.float64]

    def __call__(self, numbers: Singles) -> Singles:
        """Return the scaled ``numbers`` (rows, columns)."""
        return ((self.wide(numbers) - self.mean) / np.where(self.std > 0, self.std, 1)).astype(np.float32)

    def wide(self, numbers: Singles) -> NDArray[np.float64]:
        """Return ``numbers``, or their logarithms, in double precision."""
        wide = numbers.astype(np.float64)
        wide[:, self.logs] = np.log(np.maximum(wide[:, self.logs], self.low[self.logs]))
        return wide


@dataclass(frozen=True, eq=False)
class Circumstances:
    """Features of events other than their items: ``features`` as read, and their scaling."""

    features: Features
    scale: Scale

    def take(self, events: NDArray[np.integer]) -> tuple[Ints, Singles]:
        """Return rows of the category table (events, columns) and scaled numbers (events, columns) of some events."""
        some = self.features
        return _rows_of(some.categories[events], some.sizes), self.scale(some.numbers[events])


@dataclass(frozen=True, eq=False)
class Known:
    """Features of items. Item i has ``lengths[i]`` of the ``words``, in order, and row i of every other array.

    ``words`` (words,) are from 1, ``lengths`` is (items,). ``categories`` (items, columns) are rows of one table for
    all columns. ``numbers`` (items, columns) are scaled over the catalogue. ``ids`` (items, rows) are rows of the id
    table, which are summed; (items, 0) if ids are not read.
    """

    words: Codes
    lengths: Ints
    categories: Ints
    numbers: Singles
    ids: Ints

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def starts(self) -> Ints:
        """The first word of each item, (items,)."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def groups(self) -> Groups:
        """Groups of items with equal features, which an embedder cannot distinguish.

        Items are compared by a hash: two different ones are in one group with a probability of 2^-64.
        """
        if self.ids.shape[1] == 1 and np.array_equal(self.ids[:, 0], np.arange(len(self))):
            return Groups.apart(len(self))
        ends = np.cumsum(self.lengths)
        texts = zip(ends - self.lengths, ends, strict=True)
        columns = zip(self.categories, self.numbers + np.float32(0), self.ids, strict=True)  # 0 and -0 are equal
        rows = (
            (self.words[a:b].tobytes(), *(x.tobytes() for x in one)) for (a, b), one in zip(texts, columns, strict=True)
        )
        return group_keys(np.fromiter(map(hash, rows), np.int64, len(self)))

    def take(self, items: NDArray[np.integer]) -> Known:
        """Return the features of some items, in the given order."""
        words = self.words[runs(self.starts[items], self.lengths[items])]
        return Known(words, self.lengths[items], self.categories[items], self.numbers[items], self.ids[items])


def fields_of(items: Items, buckets: int = 0, events: Features | None = None) -> Fields:
    """Return the fields that the embedder can read of a catalogue and of ``events``.

    Ids are read if items have no other features, so that neither text nor columns differ between items, or if
    ``buckets`` sets the number of rows for their hashes. Otherwise items may share all features, which
    ``popularity.describe_equal_items`` reports. With at least as many rows as items, the default up to 2^20 items, each
    item has its own row.
    """
    features = items.features
    vocabulary = items.vocabulary if len(items.tokens) else 0
    columns = (*features.categories.T, *features.numbers.T)
    nothing = not (vocabulary or any((column != column[:1]).any() for column in columns))
    rows = min(buckets or (MOST_BUCKETS if nothing else 0), len(items))
    beside = events or Features.none(0)
    of_events = (tuple(beside.sizes), beside.numbers.shape[1])
    return Fields(vocabulary, tuple(features.sizes), features.numbers.shape[1], rows, *of_events)


def known_of(items: Items, fields: Fields) -> Known:
    """Return the features of a catalogue for ``fields``, with the first 24 words of each text."""
    lengths = np.minimum(np.diff(items.starts), TEXT) if fields.vocabulary else np.zeros(len(items), np.int64)
    words = items.tokens[runs(items.starts[:-1], lengths)]
    numbers = items.features.numbers
    categories = _rows_of(items.features.categories, fields.categories)
    return Known(words, lengths, categories, scale_of(numbers)(numbers), _rows(items, fields.buckets))


def circumstances(features: Features, trained: Ints) -> Circumstances:
    """Return the features of events, scaled over the training events ``trained``."""
    return Circumstances(features, scale_of(features.numbers[trained]))


def scale_of(numbers: Singles) -> Scale:
    """Return the scaling of the columns of ``numbers`` (rows, columns), computed in blocks of rows."""
    columns = numbers.shape[1]
    if not numbers.size:
        return Scale(np.zeros(columns, bool), *np.zeros((3, columns)))
    low, high = (ends.astype(np.float64) for ends in (numbers.min(axis=0), numbers.max(axis=0)))
    far = (low > 0) & (high > DECADES * low)
    bare = Scale(far, low, np.zeros(columns), np.ones(columns))
    blocks = [slice(first, first + ROWS) for first in range(0, len(numbers), ROWS)]
    mean = sum((bare.wide(numbers[b]).sum(axis=0) for b in blocks), np.zeros(columns)) / len(numbers)
    squares = sum((((bare.wide(numbers[b]) - mean) ** 2).sum(axis=0) for b in blocks), np.zeros(columns))
    return Scale(far, low, mean, np.sqrt(squares / len(numbers)))


def _rows_of(codes: Codes, sizes: tuple[int, ...]) -> Ints:
    """Return the codes of each column as rows of one table for all columns."""
    return codes.astype(np.int64) + np.cumsum([0, *sizes])[: len(sizes)]


def _rows(items: Items, buckets: int) -> Ints:
    """Return rows of the id table: one per item, or hashes of its name if there are fewer rows than items."""
    if not buckets:
        return np.zeros((len(items), 0), np.int64)
    if buckets >= len(items):
        return np.arange(len(items))[:, None]
    names = [str(name).encode() for name in items.names]
    hashed = [[zlib.crc32(name, salt) % buckets for salt in range(HASHES)] for name in names]
    return np.array(hashed, np.int64)
