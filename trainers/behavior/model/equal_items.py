"""Which items are the same to a model, so that each is embedded and scored once.

Two products of equal vectors may differ in the last digit: the order of a sum depends on the processor and on the place
in the array. So items are compared before they are scored, not by their scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Ints
from isoplan.trainers.packed.rectangles import runs

ROWS = 2**14
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
    for begin in range(0, len(vectors), ROWS):
        yield from (hash(row.tobytes()) for row in vectors[begin : begin + ROWS] + 0.0)
