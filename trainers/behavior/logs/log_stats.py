"""Facts of a log that determine the size of a cell, stored next to the log after its first read."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from isoplan.trainers.backend.store.files import write_json
from isoplan.trainers.behavior.model.shape import VERSION, Fields

FOLDER = "behavior"
"""Folder in the workspace with event logs, each a folder with ``events`` and optionally ``items``."""
KEPT = "facts"

Cut = Literal["last", "last-one", "time"]


class Facts(BaseModel):
    """Facts of a log: the catalogue with its features, and one pass over the training windows.

    ``targets`` is the number of events that a pass predicts in ``windows`` sequences. ``t`` is the mean number of
    tokens of an item, at least 1. ``event_categories`` and ``event_numbers`` are the features of an event in addition
    to its item.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    items: int
    vocabulary: int
    categories: tuple[int, ...]
    numbers: int
    buckets: int
    targets: int
    windows: int
    t: int
    event_categories: tuple[int, ...] = ()
    event_numbers: int = 0

    @property
    def fields(self) -> Fields:
        """The fields of an item and of an event that the embedder reads."""
        of_events = (self.event_categories, self.event_numbers)
        return Fields(self.vocabulary, self.categories, self.numbers, self.buckets, *of_events)

    @property
    def events(self) -> float:
        """The mean number of events that a sequence reads."""
        return self.targets / max(self.windows, 1)


def read_facts(root: Path, data: str, split: Cut, length: int, buckets: int) -> Facts | None:
    """Return the stored facts of the current version of a log, or None if it has not been read."""
    with contextlib.suppress(OSError, ValidationError):
        return Facts.model_validate_json(_place(root, data, split, length, buckets).read_bytes())
    return None


def keep_facts(root: Path, data: str, split: Cut, length: int, buckets: int, facts: Facts) -> None:
    """Store the facts of a log, for use before a cell runs."""
    place = _place(root, data, split, length, buckets)
    if not place.exists():
        place.parent.mkdir(exist_ok=True)
        write_json(place, facts.model_dump(mode="json"))


def _place(root: Path, data: str, split: Cut, length: int, buckets: int) -> Path:
    """Return the path of the facts. Its name is a hash of the state of the files and of the split."""
    folder = root / FOLDER / data
    files = sorted((p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in folder.iterdir() if p.is_file())
    what = hashlib.sha256(repr((VERSION, files, split, length, buckets)).encode()).hexdigest()[:16]
    return folder / KEPT / f"{what}.json"
