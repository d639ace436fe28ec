"""Memory layout of sequences of varying length: stacked rectangles with little padding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from isoplan.engine.arrays import Ints

CALLS = 50.0
"""Cost of one more rectangle, in rows of padding. Measured at widths 4 to 128, where it is constant."""


def runs(starts: Ints, lengths: Ints) -> Ints:
    """Return start, start + 1, ... for each run, concatenated."""
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - before, lengths)


@dataclass(frozen=True)
class Rectangle:
    """Sequences of similar length among the rows of a layout, ``tokens`` rows each; the last ones can be padding."""

    members: slice
    rows: slice
    tokens: int


@dataclass(frozen=True)
class Layout:
    """Positions of the tokens of a batch: its sequences sorted by length, in stacked rectangles.

    ``order`` (B,) are the sequences in that order, ``filled`` (B,) their numbers of tokens and ``first`` (B,) the row
    of the first token of each.
    """

    order: Ints
    filled: Ints
    first: Ints
    rectangles: tuple[Rectangle, ...]
    rows: int

    @property
    def begins(self) -> Ints:
        """Row of the first token of each sequence, (B,), in the original order."""
        found = np.empty_like(self.first)
        found[self.order] = self.first
        return found


def lay_out(lengths: Ints, calls: float = CALLS) -> Layout:
    """Return the layout of sequences of ``lengths`` (B,) tokens; B and every length are at least 1.

    An additional rectangle costs as much time as ``calls`` rows of padding.
    """
    order = np.argsort(lengths, kind="stable")
    filled = lengths[order]
    found = tuple(_rectangles(filled, calls))
    first = np.concatenate([np.arange(r.rows.start, r.rows.stop, r.tokens) for r in found])
    return Layout(order, filled, first, found, found[-1].rows.stop)


def _rectangles(filled: Ints, calls: float) -> Iterator[Rectangle]:
    """Yield the rectangles with the lowest cost for the sorted lengths ``filled``.

    They are found by dynamic programming over the distinct lengths.
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
