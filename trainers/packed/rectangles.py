"""How sequences of many lengths lie in memory: in rectangles one below the other, with hardly any padding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from isoplan.engine.arrays import Ints

CALLS = 50.0
"""Rows of padding that cost as much time as one rectangle more: measured at widths 4 to 128, where it is flat."""


def runs(starts: Ints, lengths: Ints) -> Ints:
    """start, start + 1, ... for each run, one after the other."""
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - before, lengths)


@dataclass(frozen=True)
class Rectangle:
    """Sequences of similar length among the rows of a layout, ``tokens`` rows each, the last ones padding."""

    members: slice
    rows: slice
    tokens: int


@dataclass(frozen=True)
class Layout:
    """Where the tokens of a batch lie: its sequences by rising length, in rectangles one below the other.

    ``order`` (B,) are the sequences in that order, ``filled`` (B,) their tokens and ``first`` (B,) the row of each
    one's first token.
    """

    order: Ints
    filled: Ints
    first: Ints
    rectangles: tuple[Rectangle, ...]
    rows: int

    @property
    def begins(self) -> Ints:
        """The row of each sequence's first token, (B,), as the sequences came."""
        found = np.empty_like(self.first)
        found[self.order] = self.first
        return found


def lay_out(lengths: Ints, calls: float = CALLS) -> Layout:
    """Where sequences of ``lengths`` (B,) tokens lie; B and every length are at least 1.

    A rectangle more costs as much time as ``calls`` rows of padding.
    """
    order = np.argsort(lengths, kind="stable")
    filled = lengths[order]
    found = tuple(_rectangles(filled, calls))
    first = np.concatenate([np.arange(r.rows.start, r.rows.stop, r.tokens) for r in found])
    return Layout(order, filled, first, found, found[-1].rows.stop)


def _rectangles(filled: Ints, calls: float) -> Iterator[Rectangle]:
    """The cuts of ``filled``, which rises, that cost least, by dynamic programming over its distinct values."""
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
