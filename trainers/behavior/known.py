"""What is known of items, as numbers that an embedder reads: words, categories, scaled numbers, rows of hashed ids."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trainers.behavior.log import Codes, Floats, Ints, Items
from trainers.behavior.shape import TEXT, Fields
from trainers.packed.rectangles import runs

HASHES = 2
"""Rows that an id is the sum of where there are fewer rows than items: two items hardly ever share both."""
DECADES = 100.0
"""From the least to the largest of a column beyond which it is its logarithm that varies evenly."""
MOST_BUCKETS = 2**20
"""Rows of the table of ids at most, where nobody says how many."""


@dataclass(frozen=True, eq=False)
class Known:
    """Item i has ``lengths[i]`` of the ``words``, one item after the other, and row i of every other array.

    ``words`` (words,) are from 1, ``lengths`` (items,). ``categories`` (items, columns) are rows of one table that
    holds all columns. ``numbers`` (items, columns) have mean 0 and variance 1 over the catalogue; those of a column
    that is positive and spans a factor of 100, such as prices, are logarithms. ``ids`` (items,
    rows) are rows of the table of ids, summed; (items, 0) where ids are not read.
    """

    words: Codes
    lengths: Ints
    categories: Ints
    numbers: Floats
    ids: Ints

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def starts(self) -> Ints:
        """The first word of each item, (items,)."""
        return np.cumsum(self.lengths) - self.lengths

    def take(self, items: NDArray[np.integer]) -> Known:
        """What is known of some of the items, in the order asked for."""
        words = self.words[runs(self.starts[items], self.lengths[items])]
        return Known(words, self.lengths[items], self.categories[items], self.numbers[items], self.ids[items])


def fields_of(items: Items, buckets: int = 0) -> Fields:
    """What the embedder can read of a catalogue.

    Ids are read where nothing else is known, or where ``buckets`` says into how many rows to hash them. With at least
    as many rows as items, which is what one gets up to 2^20 items, each has its own.
    """
    features = items.features
    vocabulary = items.vocabulary if items.vocabulary > 1 else 0
    nothing = not (vocabulary or features.sizes or features.numbers.shape[1])
    rows = min(buckets or (MOST_BUCKETS if nothing else 0), len(items))
    return Fields(vocabulary, tuple(features.sizes), features.numbers.shape[1], rows)


def known_of(items: Items, fields: Fields) -> Known:
    """A catalogue as ``fields`` reads it, the first 24 words of each text."""
    lengths = np.minimum(np.diff(items.starts), TEXT) if fields.vocabulary else np.zeros(len(items), np.int64)
    words = items.tokens[runs(items.starts[:-1], lengths)]
    first = np.cumsum([0, *fields.categories[:-1]]) if fields.categories else np.zeros(0, np.int64)
    categories = items.features.categories.astype(np.int64) + first
    return Known(words, lengths, categories, _scaled(items.features.numbers), _rows(items, fields.buckets))


def _scaled(numbers: Floats) -> Floats:
    """Each column, or its logarithm, with mean 0 and variance 1; a column of one value is 0."""
    if not numbers.size:
        return numbers
    wide = numbers.astype(np.float64)
    far = (wide.min(axis=0) > 0) & (wide.max(axis=0) > DECADES * wide.min(axis=0))
    wide[:, far] = np.log(wide[:, far])
    mean, std = wide.mean(axis=0), wide.std(axis=0)
    return ((wide - mean) / np.where(std > 0, std, 1)).astype(np.float32)


def _rows(items: Items, buckets: int) -> Ints:
    """Rows of the table of ids: its own for each item, or hashes of its name where there are fewer rows than items."""
    if not buckets:
        return np.zeros((len(items), 0), np.int64)
    if buckets >= len(items):
        return np.arange(len(items))[:, None]
    names = [str(name).encode() for name in items.names]
    hashed = [[zlib.crc32(name, salt) % buckets for salt in range(HASHES)] for name in names]
    return np.array(hashed, np.int64)
