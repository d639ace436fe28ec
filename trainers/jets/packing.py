"""How the jets of a batch lie in memory: taken out of a set of jets, then in rectangles with hardly any padding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from trainers.jets.classes import MOST_PARTICLES
from trainers.jets.jetset import JetSet

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

CALLS = 50.0
"""Rows of padding that cost as much time as one rectangle more: measured at widths 4 to 128, where it is flat."""


def gather(jets: JetSet, chosen: Ints, most: int = MOST_PARTICLES) -> tuple[Floats, Ints, Ints]:
    """The particles (P, F) of the ``chosen`` jets (B,) one jet after the other, their lengths (B,) and labels (B,).

    Of each jet the ``most`` first particles are read, which are its hardest.
    """
    starts = jets.starts[chosen]
    lengths = np.minimum(jets.starts[chosen + 1] - starts, most)
    return jets.features[_runs(starts, lengths)], lengths, jets.labels[chosen]


def _runs(starts: Ints, lengths: Ints) -> Ints:
    """start, start + 1, ... for each run, one after the other."""
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - before, lengths)


@dataclass(frozen=True)
class Rectangle:
    """Jets of similar length among the rows of a layout, each with ``tokens`` rows: [CLS], its particles, padding."""

    jets: slice
    rows: slice
    tokens: int


@dataclass(frozen=True)
class Layout:
    """Where the tokens of a batch lie: its jets by rising length, in rectangles one below the other.

    ``order`` (B,) are the jets in that order, ``filled`` (B,) their tokens ([CLS] and particles), ``cls`` (B,) the row
    of each one's [CLS], and ``particles`` (P,) the row of each particle of the batch as it came.
    """

    order: Ints
    filled: Ints
    cls: Ints
    particles: Ints
    rectangles: tuple[Rectangle, ...]
    rows: int


def lay_out(lengths: Ints, calls: float = CALLS) -> Layout:
    """Where the tokens of jets of ``lengths`` (B,) particles lie; B is at least 1.

    A rectangle more costs as much time as ``calls`` rows of padding. Which jets a batch holds is never chosen by
    length, which goes with the class.
    """
    order = np.argsort(lengths, kind="stable")
    filled = lengths[order] + 1
    found = tuple(_rectangles(filled, calls))
    cls = np.concatenate([np.arange(r.rows.start, r.rows.stop, r.tokens) for r in found])
    first = np.empty_like(cls)
    first[order] = cls + 1
    return Layout(order, filled, cls, _runs(first, lengths), found, found[-1].rows.stop)


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
