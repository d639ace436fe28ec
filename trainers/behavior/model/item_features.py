"""Features of items and events for the embedder, and groups of items whose features are equal.

Two items with equal embeddings can have scores that differ in the last digit. The reason is that the order of the
additions in a processor depends on the position in the array. Equal items are therefore determined from features, not
from scores.
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
"""Number of embeddings that are hashed together."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of equal items.

    ``first`` (groups,) contains the first item of each group, in rising order. ``of`` (items,) contains the group of
    each item.
    """

    first: Ints
    of: Ints

    @classmethod
    def apart(cls, items: int) -> Groups:
        """Return groups of ``items`` different items, with one item per group."""
        return cls(np.arange(items), np.arange(items))

    def __len__(self) -> int:
        return len(self.first)

    @property
    def distinct(self) -> bool:
        """Whether every group contains only one item."""
        return len(self.first) == len(self.of)

    @cached_property
    def sizes(self) -> Ints:
        """Number of items in each group, (groups,)."""
        return np.bincount(self.of, minlength=len(self))

    @cached_property
    def members(self) -> Ints:
        """All items, (items,), sorted by group and then by item number."""
        return np.argsort(self.of, kind="stable")

    def expand(self, best: Ints, top: int) -> Ints:
        """Return the items (Q, K) of the groups ``best`` (Q, k), in the order of the groups.

        Each row contains the first K = ``top`` items of its groups, or all their items if there are fewer.
        """
        ends = np.minimum(np.cumsum(self.sizes[best], axis=1), top)
        lengths = np.diff(ends, axis=1, prepend=0)
        starts = np.cumsum(self.sizes) - self.sizes
        return self.members[runs(starts[best].ravel(), lengths.ravel())].reshape(len(best), -1)


def group_keys(keys: Ints) -> Groups:
    """Return the groups of items with equal ``keys`` (items,), numbered in the order of their first items."""
    _, first, of = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return Groups(first[order], place[of])


def group_vectors(vectors: NDArray[np.floating[Any]]) -> Groups:
    """Return the groups of items with equal ``vectors`` (items, h); 0 and -0 count as equal.

    The function compares hashes of the vectors. Two different vectors are in one group with a probability of 2^-64.
    """
    blocks = (vectors[begin : begin + GROUP_ROWS] + 0.0 for begin in range(0, len(vectors), GROUP_ROWS))
    hashes = (hash(row.tobytes()) for block in blocks for row in block)
    return group_keys(np.fromiter(hashes, np.int64, len(vectors)))


HASHES = 2
"""Number of rows of the id table that are summed for one item if the table has fewer rows than items.

Two items rarely have the same pair of rows.
"""
DECADES = 100.0
"""A column of positive values is replaced by its logarithm if its values vary by more than this factor."""
ROWS = 2**20
"""Number of rows of a column that are scaled together."""
MOST_BUCKETS = 2**20
"""Maximum number of rows of the id table if a training run does not set the number."""


@dataclass(frozen=True, eq=False)
class Scale:
    """Scaling of the columns of a table to mean 0 and variance 1.

    Columns with True in ``logs`` (columns,) are replaced by their logarithm. These are positive columns whose values
    vary by more than a factor of 100, such as prices. ``low`` is the smallest value from which the scaling of such a
    column was computed. Smaller values are set to ``low``. A constant column becomes 0. ``low``, ``mean`` and ``std``
    have the shape (columns,).
    """

    logs: NDArray[np.bool_]
    low: NDArray[np.float64]
    mean: NDArray[np.float64]
    std: NDArray[np.float64]

    def __call__(self, numbers: Singles) -> Singles:
        """Return the scaled ``numbers`` (rows, columns)."""
        return ((self.wide(numbers) - self.mean) / np.where(self.std > 0, self.std, 1)).astype(np.float32)

    def wide(self, numbers: Singles) -> NDArray[np.float64]:
        """Return ``numbers`` (rows, columns) in double precision, with the logarithm of each column in ``logs``."""
        wide = numbers.astype(np.float64)
        wide[:, self.logs] = np.log(np.maximum(wide[:, self.logs], self.low[self.logs]))
        return wide


@dataclass(frozen=True, eq=False)
class Circumstances:
    """Features of events that are not features of their items, such as the price paid.

    ``features`` are the unscaled features from the log, and ``scale`` is the scaling of the numeric features.
    """

    features: Features
    scale: Scale

    def take(self, events: NDArray[np.integer]) -> tuple[Ints, Singles]:
        """Return the features of the given events.

        The first result contains rows of the category table (events, columns), the second the scaled numbers (events,
        columns).
        """
        some = self.features
        return _rows_of(some.categories[events], some.sizes), self.scale(some.numbers[events])


@dataclass(frozen=True, eq=False)
class Known:
    """Features of items in the form that the embedder reads.

    - ``words`` (words,): token numbers (from 1) of the texts of all items, in the order of the items.
    - ``lengths`` (items,): number of words of each item.
    - ``categories`` (items, columns): rows of the one table that all category columns share.
    - ``numbers`` (items, columns): numbers that are scaled over the catalogue.
    - ``ids`` (items, rows): rows of the id table that are summed for an item; (items, 0) if ids are not read.
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
        """Index in ``words`` of the first word of each item, (items,)."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def groups(self) -> Groups:
        """Groups of items with equal features. An embedder cannot distinguish the items of a group.

        The function compares hashes of the features. Two different items are in one group with a probability of 2^-64.
        """
        if self.ids.shape[1] == 1 and np.array_equal(self.ids[:, 0], np.arange(len(self))):
            return Groups.apart(len(self))
        ends = np.cumsum(self.lengths)
        texts = zip(ends - self.lengths, ends, strict=True)
        # The sum with 0 converts -0 to 0. These two numbers are equal, but their bytes differ.
        columns = zip(self.categories, self.numbers + np.float32(0), self.ids, strict=True)
        rows = (
            (self.words[a:b].tobytes(), *(x.tobytes() for x in one)) for (a, b), one in zip(texts, columns, strict=True)
        )
        return group_keys(np.fromiter(map(hash, rows), np.int64, len(self)))

    def take(self, items: NDArray[np.integer]) -> Known:
        """Return the features of the given items, in the given order."""
        words = self.words[runs(self.starts[items], self.lengths[items])]
        return Known(words, self.lengths[items], self.categories[items], self.numbers[items], self.ids[items])


def fields_of(items: Items, buckets: int = 0, events: Features | None = None) -> Fields:
    """Return the inputs of the embedder for a catalogue, and for the features of ``events`` if the log has any.

    ``buckets`` is the number of rows of the id table; 0 means the default. Item ids are read in two cases: if
    ``buckets`` is positive, or if no text and no column differs between items. The default number of rows is the number
    of items, but at most 2^20. If the table has at least one row per item, each item has its own row. If ids are not
    read, some items can have equal features, which ``popularity.describe_equal_items`` reports.
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
    """Return the features of the catalogue that ``fields`` selects, with at most 24 words of each text."""
    lengths = np.minimum(np.diff(items.starts), TEXT) if fields.vocabulary else np.zeros(len(items), np.int64)
    words = items.tokens[runs(items.starts[:-1], lengths)]
    numbers = items.features.numbers
    categories = _rows_of(items.features.categories, fields.categories)
    return Known(words, lengths, categories, scale_of(numbers)(numbers), _rows(items, fields.buckets))


def circumstances(features: Features, trained: Ints) -> Circumstances:
    """Return the features of events. The scaling is computed from the training events ``trained``."""
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
    """Return category codes (rows, columns) as row numbers of one table that contains all columns."""
    return codes.astype(np.int64) + np.cumsum([0, *sizes])[: len(sizes)]


def _rows(items: Items, buckets: int) -> Ints:
    """Return the rows of the id table for each item, (items, rows).

    An item has its own row if the table has enough rows. Otherwise, it has two rows, which are hashes of its name.
    """
    if not buckets:
        return np.zeros((len(items), 0), np.int64)
    if buckets >= len(items):
        return np.arange(len(items))[:, None]
    names = [str(name).encode() for name in items.names]
    hashed = [[zlib.crc32(name, salt) % buckets for salt in range(HASHES)] for name in names]
    return np.array(hashed, np.int64)
