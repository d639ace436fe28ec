"""Memory layout of sequences of varying length: stacked rectangles with little padding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from isoplan.engine.arrays import Ints

CALLS = 50.0
"""Measured cost of one additional rectangle, in units of the cost of a row of padding.

The same value was measured for layers of width 4 to 128.
"""


def runs(starts: Ints, lengths: Ints) -> Ints:
    """Return start, start + 1, ..., start + length - 1 for each pair (start, length), one pair after the other."""
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - before, lengths)


@dataclass(frozen=True)
class Rectangle:
    """Sequences of similar length with ``tokens`` rows each. The last rows of a sequence can be padding.

    ``members`` are the numbers of the sequences in the order of the layout. ``rows`` are the rows of these sequences in
    the packed batch.
    """

    members: slice
    rows: slice
    tokens: int


@dataclass(frozen=True)
class Layout:
    """Positions of the tokens of a batch of B sequences, which are sorted by length and stacked in rectangles.

    ``order`` (B,) are the indices of the sequences in sorted order. ``filled`` (B,) is the number of tokens of each
    sequence and ``first`` (B,) the row of its first token, both in sorted order. ``rows`` is the total number of rows.
    """

    order: Ints
    filled: Ints
    first: Ints
    rectangles: tuple[Rectangle, ...]
    rows: int

    @property
    def begins(self) -> Ints:
        """The row of the first token of each sequence, (B,), in the original order of the sequences."""
        found = np.empty_like(self.first)
        found[self.order] = self.first
        return found


def lay_out(lengths: Ints, calls: float = CALLS) -> Layout:
    """Return the layout of B sequences with ``lengths`` (B,) tokens. B and every length are at least 1.

    ``calls`` is the cost of one additional rectangle, in units of the cost of a row of padding.
    """
    order = np.argsort(lengths, kind="stable")
    filled = lengths[order]
    found = tuple(_rectangles(filled, calls))
    first = np.concatenate([np.arange(r.rows.start, r.rows.stop, r.tokens) for r in found])
    return Layout(order, filled, first, found, found[-1].rows.stop)


def _rectangles(filled: Ints, calls: float) -> Iterator[Rectangle]:
    """Yield the rectangles with the lowest total cost for the sorted lengths ``filled``.

    The minimum is computed by dynamic programming over the distinct lengths.
    """
    tokens, counts = np.unique(filled, return_counts=True)
    ends = np.concatenate([[0], np.cumsum(counts)])
    least, cuts = np.zeros(len(ends)), []
    for last, n in enumerate(tokens, 1):
        costs = least[:last] + (ends[last] - ends[:last]) * n
        cuts.append(int(costs.argmin()))
        least[last] = costs[cuts[-1]] + calls
    edges = [len(tokens)]
    while edges[-1]:
        edges.append(cuts[edges[-1] - 1])
    row = 0
    for low, high in pairwise(reversed(edges)):
        first, last, n = int(ends[low]), int(ends[high]), int(tokens[high - 1])
        yield Rectangle(slice(first, last), slice(row, row + n * (last - first)), n)
        row += n * (last - first)
