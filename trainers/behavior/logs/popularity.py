"""Popularity of items in a log, random draws of unseen items, and sentences about items that a model cannot learn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Ints
from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.logs.log import Log
from isoplan.trainers.behavior.logs.split import Split, Windows
from isoplan.trainers.behavior.model.item_features import MOST_BUCKETS, Known
from isoplan.trainers.packed.rectangles import runs

STEPS = 60
"""Number of bisection steps in the computation of the Zipf exponent."""
LARGEST_EXPONENT = 10.0


@dataclass(frozen=True, eq=False)
class Popularity:
    """Popularity of the items of a log: the number of events of each item, ``counts`` (items,)."""

    counts: Ints

    @property
    def events(self) -> int:
        """Total number of events."""
        return int(self.counts.sum())

    @property
    def seen(self) -> int:
        """Number of items with at least one event."""
        return int(np.count_nonzero(self.counts))

    @cached_property
    def falling(self) -> Ints:
        """Counts of the items that have events, (seen,). The most popular item is first."""
        return np.sort(self.counts[self.counts > 0])[::-1]

    def head(self, share: float = 0.01) -> float:
        """Return the fraction of all events that belong to the most popular items.

        The most popular items are the fraction ``share`` of all items with events, but at least one item.
        """
        return float(self.falling[: max(round(share * self.seen), 1)].sum() / max(self.events, 1))

    @property
    def gini(self) -> float:
        """Gini coefficient of the counts of the items with events. It is 0 if all counts are equal."""
        up = self.falling[::-1].astype(np.float64)
        return float((2 * np.arange(1, len(up) + 1) - len(up) - 1) @ up / (len(up) * max(up.sum(), 1)))

    @property
    def zipf(self) -> float:
        """Exponent a of a popularity proportional to rank^-a, by maximum likelihood over the items with events.

        At the maximum, the mean log rank equals its expectation (Clauset, Shalizi and Newman 2009, Sec. 3, for ranks).
        The ranks and the fit use the same counts, so the exponent is slightly too large if most items have only one or
        two events.
        """
        logs = np.log(np.arange(1, self.seen + 1))
        wanted = float(self.falling @ logs) / max(self.events, 1)
        low, high = 0.0, LARGEST_EXPONENT
        for _ in range(STEPS):
            middle = (low + high) / 2
            weights = np.exp(-middle * logs)
            low, high = (middle, high) if weights @ logs / weights.sum() > wanted else (low, middle)
        return (low + high) / 2


def popularity(log: Log, split: Split | None = None) -> Popularity:
    """Return the number of events of each item.

    Only the training events of ``split`` count. If ``split`` is None, all events count.
    """
    items = log.items
    if split is not None:
        ends = np.zeros(len(log) + 1, np.int64)
        np.add.at(ends, split.first, 1)
        np.add.at(ends, split.train, -1)
        items = items[np.cumsum(ends[:-1]) > 0]
    return Popularity(np.bincount(items, minlength=len(log.catalogue)))


def draw_unseen(log: Log, users: NDArray[np.integer], count: int, *, seed: int) -> Ints:
    """Return random items (Q, count), drawn uniformly from the items that the user of each query has never seen.

    ``users`` (Q,) is the user of each query. An item can be drawn twice for a query. The evaluation of SASRec (Kang and
    McAuley 2018, arXiv:1808.09781, Sec. IV) ranks the target among such items. Raises PlannerError if ``count`` is
    larger than the number of items, or if a user has events with all items.
    """
    items = len(log.catalogue)
    if count > items:
        raise PlannerError(f"{count:,} candidates cannot be drawn from a catalogue of {items:,} items: request fewer.")
    known = log.seen
    firsts, ends = (np.searchsorted(known, np.asarray(users, np.int64) * items + edge) for edge in (0, items))
    full = ends - firsts >= items
    if full.any():
        name = log.users[users[full.argmax()]]
        raise PlannerError(
            f"User {name!r} has events with every item, so no unseen item can be drawn: remove this user."
        )
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, items, (len(users), count))
    again = np.arange(drawn.size)
    owners = np.repeat(np.asarray(users, np.int64), count)
    while len(again):
        keys = owners[again] * items + drawn.flat[again]
        places = np.searchsorted(known, keys)
        again = again[known[np.minimum(places, len(known) - 1)] == keys]
        drawn.flat[again] = rng.integers(0, items, len(again))
    return drawn


SHARE = 0.1
"""Fraction of the items with events that ``describe_spread`` counts as the most popular items."""
FEWEST = round(1 / SHARE)
"""Minimum number of items with events for which ``describe_spread`` returns a sentence."""


def describe_spread(found: Popularity) -> list[str]:
    """Describe how unevenly the events are distributed over the items.

    The result is empty if fewer than ten items have events.
    """
    if found.seen < FEWEST:
        return []
    of = "" if found.seen == len(found.counts) else f" with events (of {len(found.counts):,} items in the catalogue)"
    return [
        f"The most popular tenth of {found.seen:,} items{of} has {100 * found.head(SHARE):.0f} % of the events; Zipf "
        f"exponent {found.zipf:.2f}, Gini coefficient {found.gini:.2f}."
    ]


def describe_equal_items(known: Known) -> list[str]:
    """Describe how many items have the same words, categories and numbers as another item.

    The result is empty if the model reads item ids, or if all items differ.
    """
    if known.ids.shape[1]:
        return []
    counts = known.groups.sizes
    if not (shared := int(counts[counts > 1].sum())):
        return []
    return [
        f"{shared:,} of {len(known):,} items have the same features as another item ({len(counts):,} distinct sets of "
        f"features): use buckets = {min(len(known), MOST_BUCKETS)} to read their ids too."
    ]


def describe_untrained(log: Log, train: Windows, judged: Windows, known: Known) -> list[str]:
    """Describe how many scored events have an item that does not occur in the training events.

    If items differ only by their ids, an item without training events has an untrained embedding. If items also differ
    by other features, the result is empty.
    """
    if known.ids.shape[1] != 1 or len(replace(known, ids=known.ids[:, :0]).groups) > 1:
        return []
    taught = np.zeros(len(known), np.bool_)
    taught[log.items[runs(train.first, train.stop - train.first)]] = True
    scored = log.items[runs(judged.scored, judged.stop - judged.scored)]
    cold = scored[~taught[scored]]
    if not len(cold):
        return []
    return [
        f"{len(cold):,} of {len(scored):,} scored events have an item without a training event "
        f"({len(np.unique(cold)):,} of {len(known):,} items). Only the ids of items are known, so these items are "
        f"scored with untrained embeddings."
    ]
