"""Data of a training run: its log from files or synthetic, the split and windows of the log, and item features."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from isoplan.trainers.behavior.cell import SYNTHETIC, BehaviorCell
from isoplan.trainers.behavior.checks import check_batch
from isoplan.trainers.behavior.logs.folder import open_log
from isoplan.trainers.behavior.logs.log import FOLDER, Cut, Facts, Log, keep_facts
from isoplan.trainers.behavior.logs.popularity import describe_equal_items, describe_untrained, popularity
from isoplan.trainers.behavior.logs.split import (
    Split,
    Windows,
    by_share,
    leave_last_out,
    leave_one_out,
    scored_windows,
    training_windows,
)
from isoplan.trainers.behavior.logs.synthetic import make
from isoplan.trainers.behavior.model.item_features import Circumstances, Known, circumstances, fields_of, known_of
from isoplan.trainers.packed.rectangles import runs

SPLITS: dict[Cut, Callable[[Log], Split]] = {"last": leave_last_out, "last-one": leave_one_out, "time": by_share}


@dataclass(frozen=True, eq=False)
class Data:
    """The data of one training run: its log, the split of the log, windows and features.

    - ``train``: windows for training.
    - ``judged``: windows for evaluation.
    - ``known``: features of items; row i belongs to item i.
    - ``beside``: features of events that are not features of their items.
    - ``facts``: numbers that determine the size of a training run.
    """

    log: Log
    split: Split
    train: Windows
    judged: Windows
    known: Known
    beside: Circumstances
    facts: Facts

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user about the reading of the log and about items that a model cannot learn."""
        found = (*describe_equal_items(self.known), *describe_untrained(self.log, self.train, self.judged, self.known))
        return (*self.log.notes, *found)

    @cached_property
    def fingerprint(self) -> int:
        """Checksum of the training windows, the log, its items, and the features of items and events."""
        known, beside = self.known, self.beside.features
        arrays = (self.log.items, self.log.starts, self.train.first, self.train.stop, known.words, known.lengths,
                  known.categories, known.numbers, known.ids, beside.categories, beside.numbers)  # fmt: skip
        found = 0
        for array in arrays:
            found = zlib.crc32(np.ascontiguousarray(array).data.cast("B") if array.size else b"", found)
        return found

    @cached_property
    def shares(self) -> NDArray[np.float32]:
        """For each item, the fraction of the training events with this item, (items,).

        An item without training events is treated as if it had half an event.
        """
        counts = popularity(self.log, self.split).counts
        return (np.maximum(counts, 0.5) / max(counts.sum(), 1)).astype(np.float32)


def open_data(root: Path, cell: BehaviorCell) -> Data:
    """Read the data of a training run from the workspace ``root``.

    Raises PlannerError if a folder has no events, if its files cannot be read or split, or if the log has fewer
    training windows than the batch size.
    """
    log = make(cell.world) if cell.data == SYNTHETIC else open_log(root / FOLDER / cell.data)
    split = SPLITS[cell.split](log)
    train = training_windows(split, cell.length)
    check_batch(cell, len(train))
    beside = circumstances(log.features, runs(split.first, split.train - split.first))
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
                beside, facts)  # fmt: skip
