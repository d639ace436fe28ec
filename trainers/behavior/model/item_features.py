"""Features of items and events for the embedder, and groups of items whose features are equal.

Two products of equal vectors may differ in the last digit: the order of a sum depends on the processor and on the place
in the array. So items are compared before they are scored, not by their scores.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
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
"""Vectors that are compared at once."""


@dataclass(frozen=True, eq=False)
class Groups:
    """``first`` (groups,) is the first item of each group, in rising order; ``of`` (items,) is the group of an item."""

    first: Ints
    of: Ints

    @classmethod
    def apart(cls, items: int) -> Groups:
        """No two of so many items are the same."""
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
        """All items, (items,), group after group, in rising order within each."""
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

    Vectors are compared by a hash: two different ones are in one group with a chance of 2^-64.
    """
    return group_keys(np.fromiter(_hashes(vectors), np.int64, len(vectors)))


def _hashes(vectors: NDArray[np.floating[Any]]) -> Iterator[int]:
    for begin in range(0, len(vectors), GROUP_ROWS):
        yield from (hash(row.tobytes()) for row in vectors[begin : begin + GROUP_ROWS] + 0.0)


HASHES = 2
"""Rows that an id is the sum of where there are fewer rows than items: two items hardly ever share both."""
DECADES = 100.0
"""From the least to the largest of a column beyond which it is its logarithm that varies evenly."""
ROWS = 2**20
"""That are scaled at once."""
MOST_BUCKETS = 2**20
"""Rows of the table of ids at most, where nobody says how many."""


@dataclass(frozen=True, eq=False)
class Scale:
    """Makes each column, or its logarithm where ``logs`` (columns,), one of mean 0 and variance 1.

    Logarithms are taken of columns that are positive and span a factor of 100, such as prices; what lies below ``low``
    there counts as that. A column of one value becomes 0. ``low``, ``mean`` and ``std`` are (columns,).
    """

    logs: NDArray[np.bool_]
    low: NDArray[np.float64]
    mean: NDArray[np.float64]
    std: NDArray[np.float64]

    def __call__(self, numbers: Singles) -> Singles:
        """``numbers`` (rows, columns) scaled."""
        return ((self.wide(numbers) - self.mean) / np.where(self.std > 0, self.std, 1)).astype(np.float32)

    def wide(self, numbers: Singles) -> NDArray[np.float64]:
        """``numbers``, or their logarithms, in double precision."""
        wide = numbers.astype(np.float64)
        wide[:, self.logs] = np.log(np.maximum(wide[:, self.logs], self.low[self.logs]))
        return wide


@dataclass(frozen=True, eq=False)
class Circumstances:
    """What is known of events beside their items: ``features`` as they were read, and how to scale them."""

    features: Features
    scale: Scale

    def take(self, events: NDArray[np.integer]) -> tuple[Ints, Singles]:
        """Rows of the table of categories (events, columns) and scaled numbers (events, columns) of some events."""
        some = self.features
        return _rows_of(some.categories[events], some.sizes), self.scale(some.numbers[events])


@dataclass(frozen=True, eq=False)
class Known:
    """Item i has ``lengths[i]`` of the ``words``, one item after the other, and row i of every other array.

    ``words`` (words,) are from 1, ``lengths`` (items,). ``categories`` (items, columns) are rows of one table that
    holds all columns. ``numbers`` (items, columns) are scaled over the catalogue. ``ids`` (items, rows) are rows of the
    table of ids, summed; (items, 0) where ids are not read.
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
        """The items of which the same is known, so that an embedder cannot tell them apart.

        Items are compared by a hash: two different ones are in one group with a chance of 2^-64.
        """
        if self.ids.shape[1] == 1 and np.array_equal(self.ids[:, 0], np.arange(len(self))):
            return Groups.apart(len(self))
        ends = np.cumsum(self.lengths)
        texts = zip(ends - self.lengths, ends, strict=True)
        columns = zip(self.categories, self.numbers + np.float32(0), self.ids, strict=True)  # 0 and -0 are one
        rows = (
            (self.words[a:b].tobytes(), *(x.tobytes() for x in one)) for (a, b), one in zip(texts, columns, strict=True)
        )
        return group_keys(np.fromiter(map(hash, rows), np.int64, len(self)))

    def take(self, items: NDArray[np.integer]) -> Known:
        """What is known of some of the items, in the order asked for."""
        words = self.words[runs(self.starts[items], self.lengths[items])]
        return Known(words, self.lengths[items], self.categories[items], self.numbers[items], self.ids[items])


def fields_of(items: Items, buckets: int = 0, events: Features | None = None) -> Fields:
    """What the embedder can read of a catalogue, and of ``events`` beside their items.

    Ids are read where nothing else is known, so that neither a text nor a column differs between items, or where
    ``buckets`` says into how many rows to hash them; items may thus share all that is read of them, which
    ``remarks.alike`` says. With at least as many rows as items, which is what one gets up to 2^20 items, each has its
    own.
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
    """A catalogue as ``fields`` reads it, the first 24 words of each text."""
    lengths = np.minimum(np.diff(items.starts), TEXT) if fields.vocabulary else np.zeros(len(items), np.int64)
    words = items.tokens[runs(items.starts[:-1], lengths)]
    numbers = items.features.numbers
    categories = _rows_of(items.features.categories, fields.categories)
    return Known(words, lengths, categories, scale_of(numbers)(numbers), _rows(items, fields.buckets))


def circumstances(features: Features, trained: Ints) -> Circumstances:
    """What is known of events, scaled over those that are ``trained`` on."""
    return Circumstances(features, scale_of(features.numbers[trained]))


def scale_of(numbers: Singles) -> Scale:
    """How to scale the columns of ``numbers`` (rows, columns), by all rows, some at a time."""
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
    """Codes of each column as rows of one table that holds all columns."""
    return codes.astype(np.int64) + np.cumsum([0, *sizes])[: len(sizes)]


def _rows(items: Items, buckets: int) -> Ints:
    """Rows of the table of ids: its own for each item, or hashes of its name where there are fewer rows than items."""
    if not buckets:
        return np.zeros((len(items), 0), np.int64)
    if buckets >= len(items):
        return np.arange(len(items))[:, None]
    names = [str(name).encode() for name in items.names]
    hashed = [[zlib.crc32(name, salt) % buckets for salt in range(HASHES)] for name in names]
    return np.array(hashed, np.int64)
