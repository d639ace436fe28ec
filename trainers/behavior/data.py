"""The log that a cell trains on: read or made up, split, cut into windows, and what is known of its items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trainers.behavior.cell import SYNTHETIC, BehaviorCell
from trainers.behavior.facts import FOLDER, Facts, keep_facts
from trainers.behavior.folder import open_log
from trainers.behavior.known import Circumstances, Known, circumstances, fields_of, known_of
from trainers.behavior.log import Log
from trainers.behavior.popularity import popularity
from trainers.behavior.split import Split, Windows, by_share, leave_last_out, scored_windows, training_windows
from trainers.behavior.synthetic import make


@dataclass(frozen=True, eq=False)
class Data:
    """Windows to train on and to be judged on, of one log, and ``known``, which has a row for each of its items.

    ``beside`` is what is known of events beside their items.

    ``facts`` are what the size of a cell follows from.
    """

    log: Log
    split: Split
    train: Windows
    judged: Windows
    known: Known
    beside: Circumstances
    facts: Facts

    @cached_property
    def shares(self) -> NDArray[np.float32]:
        """The share of all targets that each item is, (items,); an item that is never one has that of half a target."""
        counts = popularity(self.log, self.split).counts
        return (np.maximum(counts, 0.5) / max(counts.sum(), 1)).astype(np.float32)


def open_data(root: Path, cell: BehaviorCell) -> Data:
    """The data of a cell of the workspace ``root``.

    Raises PlannerError for a folder without events, and for what cannot be read or split.
    """
    log = make(cell.world).log if cell.data == SYNTHETIC else open_log(root / FOLDER / cell.data)
    split = leave_last_out(log) if cell.split == "last" else by_share(log)
    train = training_windows(split, cell.length)
    fields = fields_of(log.catalogue, cell.buckets, log.features)
    known = known_of(log.catalogue, fields)
    facts = Facts(
        items=len(log.catalogue), vocabulary=fields.vocabulary, categories=fields.categories, numbers=fields.numbers,
        buckets=fields.buckets, targets=int((train.stop - train.first - 1).sum()), windows=len(train),
        t=max(round(float(known.lengths.mean())), 1),
        event_categories=fields.event_categories, event_numbers=fields.event_numbers,
    )  # fmt: skip
    if cell.data != SYNTHETIC:
        keep_facts(root, cell.data, cell.split, cell.length, cell.buckets, facts)
    return Data(log, split, train, scored_windows(split, cell.judge, cell.length), known,
                circumstances(log.features), facts)  # fmt: skip
