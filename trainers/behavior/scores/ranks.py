"""Rank of the true next item among candidates by their scores, and its log-likelihood.

``rank_batch`` ranks candidates whose scores are in one array: the candidates of a batch, or random candidates of each
query. ``rank_catalogue`` ranks all items. It computes the scores in chunks, because the scores of all items need too
much memory. The two functions are exact.

The notation is that of App. A of the behavioural paper: a query q has scores z over C candidates. One of the candidates
is the target of the query. p is the softmax of z.

**Ties**: metrics are means over all orders of the candidates with equal scores. A model that gives all items the same
score is therefore as good as guessing, and the order of the items does not matter. Items with equal vectors
(``groups``) are scored once, so they are tied on every processor. In the list of the K best items, equal scores are in
the order of rising item number, and the items of a group are neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.model.item_features import Groups

Scores = NDArray[np.floating[Any]]

BLOCK = 2**20
"""Approximate number of scores that are processed at once. An array of them in double precision takes 8 MiB."""
AT_ONCE, QUERIES = 2**22, 2**12
"""Approximate number of scores (or of collected embedding values) in memory, and maximum number of queries at once."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """Ranks of the true items of Q queries.

    ``above`` (Q,) is the number of candidates with a higher score than the target. ``tied`` (Q,) is the number of
    candidates with the score of the target, including the target. ``cross_entropy`` (Q,) is -log p of the target, and
    ``entropy`` (Q,) the entropy of p, both in nats. ``top`` (Q, K) contains the items with the K highest scores,
    highest first. K is smaller if there are fewer candidates. ``pool`` contains all distinct items that were
    candidates.
    """

    above: Ints
    tied: Ints
    cross_entropy: Floats
    entropy: Floats
    top: Ints
    pool: Ints | range

    def __len__(self) -> int:
        return len(self.above)


@dataclass(frozen=True, eq=False)
class _Softmax:
    """Sums over the candidates that are processed so far, (Q,) each.

    z are the scores of a query. ``most`` is the largest score so far, ``total`` the sum of e^(z - most), and ``slope``
    the sum of (z - most) e^(z - most). No sum overflows, because no exponent is positive (streaming log-sum-exp).
    """

    most: Floats
    total: Floats
    slope: Floats

    @classmethod
    def of(cls, z: Floats, sizes: Ints | None = None) -> _Softmax:
        """Return the sums for the scores ``z`` (Q, C).

        A candidate counts ``sizes`` (C,) times, because it represents this number of equal items. None means 1.
        """
        with np.errstate(invalid="ignore"):  # An infinite score gives NaN. ``_checked`` raises the error.
            most = z.max(axis=1)
            below = z - most[:, None]
            weights = np.exp(below)
            if sizes is not None:
                weights *= sizes
            total = weights.sum(axis=1)
            return cls(most, total, np.multiply(weights, below, out=weights).sum(axis=1))

    def merge(self, other: _Softmax) -> _Softmax:
        most = np.maximum(self.most, other.most)
        mine, theirs = self._moved(most), other._moved(most)
        return _Softmax(most, mine.total + theirs.total, mine.slope + theirs.slope)

    def _moved(self, most: Floats) -> _Softmax:
        step = self.most - most
        factor = np.exp(step)
        return _Softmax(most, factor * self.total, factor * (self.slope + step * self.total))

    def cross_entropy(self, target: Floats) -> Floats:
        return (self.most - target) + np.log(self.total)

    @property
    def entropy(self) -> Floats:
        return np.maximum(np.log(self.total) - self.slope / self.total, 0.0)


def rank_batch(scores: Scores, targets: Ints, candidates: Ints, *, top: int) -> Ranked:
    """Return the ranks of queries whose candidates have their scores in one array.

    ``scores`` is (Q, C), and ``targets`` (Q,) is the column of the true item of each query. ``candidates`` contains the
    items of the columns, (C,) if all queries share them, otherwise (Q, C). The result contains the ``top`` best items
    of each query. Raises PlannerError if a score is not finite.
    """
    queries, count = scores.shape
    if targets.shape != (queries,) or candidates.shape not in ((count,), scores.shape) or not count:
        raise ValueError(f"scores {scores.shape}, targets {targets.shape}, candidates {candidates.shape}")
    pieces = []
    for rows in _blocks(queries, count):
        z, own = scores[rows].astype(np.float64), candidates if candidates.ndim == 1 else candidates[rows]
        target = z[np.arange(len(z)), targets[rows]]
        softmax, (above, tied) = _checked(_Softmax.of(z)), _count(z, target)
        best, _ = _best(z, own, top)
        pieces.append(Ranked(above, tied, softmax.cross_entropy(target), softmax.entropy, best, range(0)))
    return join(pieces, np.unique(candidates), min(top, count))


def rank_catalogue(
    score: Callable[[int, int], Scores],
    targets: Ints,
    groups: Groups,
    *,
    top: int,
    chunk: int,
) -> Ranked:
    """Return the ranks of queries among all items.

    ``score(first, stop)`` returns the scores (Q, stop - first) of the groups of equal items from ``first`` to ``stop``.
    At most ``chunk`` groups are scored at a time. If there are several chunks, ``score`` is called twice per chunk:
    first for the sums and the scores of the targets, then to count the higher scores. The two calls must return
    identical scores.

    ``targets`` (Q,) contains the true items. The function uses at most ``ranking_bytes`` of memory. Raises PlannerError
    if a score is not finite.
    """
    if not len(groups):
        raise ValueError("a catalogue without items")
    queries, own = len(targets), groups.of[targets]
    softmax, target = None, np.empty(queries)
    best, values = np.zeros((queries, 0), np.int64), np.zeros((queries, 0))
    for first, stop, z in _chunks(score, len(groups), chunk, queries):
        rows = np.flatnonzero((own >= first) & (own < stop))
        target[rows] = z[rows, own[rows] - first]
        found, best, values = _added(z, first, best, values, top, _sizes(groups, first, stop))
        softmax = found if softmax is None else softmax.merge(found)
    assert softmax is not None
    above, tied = np.zeros(queries, np.int64), np.zeros(queries, np.int64)
    again = [(0, len(groups), z)] if chunk >= len(groups) else _chunks(score, len(groups), chunk, queries)
    for first, stop, z in again:
        sizes = _sizes(groups, first, stop)
        for block in _blocks(*z.shape):
            more, same = _count(z[block], target[block], sizes)
            above[block] += more
            tied[block] += same
    if np.any(tied < 1):
        raise ValueError("score returned different values in a second call")
    items = best if groups.distinct else groups.expand(best, top)
    return Ranked(above, tied, softmax.cross_entropy(target), softmax.entropy, items, range(len(groups.of)))


def level(scores: Scores, groups: Ints) -> Scores:
    """Return the scores (Q, C), where each candidate has the score of the first candidate of its group.

    ``groups`` (Q, C) is the group of each candidate.
    """
    order = np.argsort(groups, axis=1, kind="stable")
    grouped = np.take_along_axis(groups, order, 1)
    starts = np.where(np.diff(grouped, axis=1, prepend=-1) != 0, np.arange(grouped.shape[1]), 0)
    first = np.take_along_axis(order, np.maximum.accumulate(starts, axis=1), 1)
    found = np.empty_like(scores)
    np.put_along_axis(found, order, np.take_along_axis(scores, first, 1), 1)
    return found


def ranking_bytes(queries: int, chunk: int, top: int, itemsize: int = 4) -> float:
    """Return the maximum memory of ``rank_catalogue`` in bytes, with ``itemsize`` bytes per score.

    While one chunk replaces another, the scores of two chunks are in memory.
    """
    return 2.0 * itemsize * queries * chunk + 8.0 * (6 * BLOCK + queries * (6 * top + 16) + 6 * chunk)


def _chunks(
    score: Callable[[int, int], Scores], count: int, chunk: int, queries: int
) -> Iterator[tuple[int, int, Scores]]:
    for first in range(0, count, chunk):
        stop = min(first + chunk, count)
        z = score(first, stop)
        if z.shape != (queries, stop - first):
            raise ValueError(f"scores {z.shape} for {queries} queries and the items {first} to {stop}")
        yield first, stop, z


def _sizes(groups: Groups, first: int, stop: int) -> Ints | None:
    """Return the number of items of each group from ``first`` to ``stop``, or None if all groups have one item."""
    return None if groups.distinct else groups.sizes[first:stop]


def _added(
    scores: Scores, first: int, best: Ints, values: Floats, top: int, sizes: Ints | None
) -> tuple[_Softmax, Ints, Floats]:
    """Return the sums of a chunk, and the best items so far with their scores.

    The best items are those of this chunk and of all earlier chunks. ``first`` is the number of the first group of the
    chunk. Groups of earlier chunks have smaller numbers, so they come first among equal scores.
    """
    sums, kept, worth = [], [], []
    ids = np.arange(first, first + scores.shape[1])
    for rows in _blocks(*scores.shape):
        z = scores[rows].astype(np.float64)
        sums.append(_checked(_Softmax.of(z, sizes)))
        new, highest = _best(z, ids, top)
        both, high = np.hstack([best[rows], new]), np.hstack([values[rows], highest])
        order = np.argsort(-high, axis=1, kind="stable")[:, :top]
        kept.append(np.take_along_axis(both, order, 1))
        worth.append(np.take_along_axis(high, order, 1))
    if not sums:
        return _Softmax(np.zeros(0), np.ones(0), np.zeros(0)), best, values
    found = _Softmax(*(np.concatenate([getattr(s, name) for s in sums]) for name in ("most", "total", "slope")))
    return found, np.vstack(kept), np.vstack(worth)


def _count(z: Scores, target: Floats, sizes: Ints | None = None) -> tuple[Ints, Ints]:
    """Return, for each row of ``z`` (Q, C), the number of scores above ``target`` and the number equal to ``target``.

    The score of a column counts ``sizes`` (C,) times. None means once.
    """
    larger, equal = z > target[:, None], z == target[:, None]
    if sizes is None:
        return np.count_nonzero(larger, axis=1), np.count_nonzero(equal, axis=1)
    return np.where(larger, sizes, 0).sum(axis=1), np.where(equal, sizes, 0).sum(axis=1)


def _best(z: Floats, items: Ints, top: int) -> tuple[Ints, Floats]:
    """Return the items (q, K) with the K highest scores of each row, and these scores, highest first.

    Equal scores are in the order of rising item number.
    """
    own = np.broadcast_to(items, z.shape)
    if items.ndim == 2 or np.any(items[1:] < items[:-1]):
        order = np.argsort(own, axis=1, kind="stable")
        own, z = np.take_along_axis(own, order, 1), np.take_along_axis(z, order, 1)
    count = z.shape[1]
    if top < count:
        lowest = np.partition(z, count - top, axis=1)[:, count - top]
        chosen = z >= lowest[:, None]
        for row in np.flatnonzero(np.count_nonzero(chosen, axis=1) > top):  # on a tie, keep the first
            edge = np.flatnonzero(z[row] == lowest[row])
            chosen[row, edge[top - np.count_nonzero(z[row] > lowest[row]) :]] = False
        columns = np.nonzero(chosen)[1].reshape(len(z), top)
        own, z = np.take_along_axis(own, columns, 1), np.take_along_axis(z, columns, 1)
    order = np.argsort(-z, axis=1, kind="stable")
    return np.take_along_axis(own, order, 1), np.take_along_axis(z, order, 1)


def _checked(softmax: _Softmax) -> _Softmax:
    """Return ``softmax`` if its sums are finite.

    Raises PlannerError otherwise. In that case, at least one score is NaN or infinite.
    """
    if not (np.isfinite(softmax.total).all() and np.isfinite(softmax.slope).all()):
        raise PlannerError("The model gives scores that are not finite: use a smaller learning rate.")
    return softmax


def _blocks(queries: int, count: int) -> Iterator[slice]:
    step = max(BLOCK // count, 1)
    return (slice(first, min(first + step, queries)) for first in range(0, queries, step))


def join(pieces: list[Ranked], pool: Ints | range, top: int) -> Ranked:
    """Return the ranks of one pool from the ranks of its pieces, with the ``top`` best items of each query."""
    if not pieces:
        none, nothing = np.zeros(0, np.int64), np.zeros(0)
        return Ranked(none, none, nothing, nothing, np.zeros((0, top), np.int64), pool)
    above, tied = (np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("above", "tied"))
    cross, own = (np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("cross_entropy", "entropy"))
    return Ranked(above, tied, cross, own, np.vstack([piece.top for piece in pieces]), pool)
