"""Sentences about a log: how its events spread over the items, and what of it no model can learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from isoplan.trainers.behavior.logs.log import Log
from isoplan.trainers.behavior.logs.popularity import Popularity
from isoplan.trainers.behavior.logs.split import Windows
from isoplan.trainers.behavior.model.item_features import MOST_BUCKETS, Known
from isoplan.trainers.packed.rectangles import runs

SHARE = 0.1
"""Of the items that were seen: the most popular ones, whose share of the events is said."""
FEWEST = round(1 / SHARE)
"""Items that were seen from which on it is."""


def spread(found: Popularity) -> list[str]:
    """How unevenly the events of a log spread over its items; nothing of fewer than ten items."""
    if found.seen < FEWEST:
        return []
    of = "" if found.seen == len(found.counts) else f" that have events, of {len(found.counts):,},"
    return [
        f"The most popular tenth of {found.seen:,} items{of} has {100 * found.head(SHARE):.0f} % of the events; Zipf "
        f"exponent {found.zipf:.2f}, Gini coefficient {found.gini:.2f}."
    ]


def alike(known: Known) -> list[str]:
    """How many items have the same words, categories and numbers as another one, where ids are not read."""
    if known.ids.shape[1]:
        return []
    counts = known.groups.sizes
    if not (shared := int(counts[counts > 1].sum())):
        return []
    return [
        f"{shared:,} of {len(known):,} items cannot be told apart by their features, of which there are "
        f"{len(counts):,} different ones: buckets = {min(len(known), MOST_BUCKETS)} reads their ids too."
    ]


def untrained(log: Log, train: Windows, judged: Windows, known: Known) -> list[str]:
    """Scored events of items that no event trained on has, where items differ by nothing but ids of their own."""
    if known.ids.shape[1] != 1 or len(replace(known, ids=known.ids[:, :0]).groups) > 1:
        return []
    taught = np.zeros(len(known), np.bool_)
    taught[log.items[runs(train.first, train.stop - train.first)]] = True
    scored = log.items[runs(judged.scored, judged.stop - judged.scored)]
    cold = scored[~taught[scored]]
    if not len(cold):
        return []
    return [
        f"{len(cold):,} of {len(scored):,} scored events are of items without an event to train on "
        f"({len(np.unique(cold)):,} of {len(known):,} items), of which only ids are known: they are scored with "
        f"vectors that were never fitted to an event."
    ]
