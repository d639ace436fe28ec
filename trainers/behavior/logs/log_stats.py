"""What the size of a cell follows from of its data: a few numbers, kept beside a log once it has been read."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from isoplan.trainers.backend.store.files import write_json
from isoplan.trainers.behavior.model.shape import VERSION, Fields

FOLDER = "behavior"
"""Of the workspace: event logs, each a folder with ``events`` and perhaps ``items``."""
KEPT = "facts"

Cut = Literal["last", "last-one", "time"]


class Facts(BaseModel):
    """A catalogue of ``items`` with so much known of each, and what one pass over the training windows is.

    ``targets`` are the events that a pass predicts in ``windows`` sequences; ``t`` is the mean number of tokens of an
    item, 1 at least. ``event_categories`` and ``event_numbers`` are what is known of an event beside its item.
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
        """What the embedder reads of an item and of an event."""
        of_events = (self.event_categories, self.event_numbers)
        return Fields(self.vocabulary, self.categories, self.numbers, self.buckets, *of_events)

    @property
    def events(self) -> float:
        """Events that a sequence reads on average."""
        return self.targets / max(self.windows, 1)


def read_facts(root: Path, data: str, split: Cut, length: int, buckets: int) -> Facts | None:
    """The facts of a log that has been read before as it is now; None where it has not."""
    with contextlib.suppress(OSError, ValidationError):
        return Facts.model_validate_json(_place(root, data, split, length, buckets).read_bytes())
    return None


def keep_facts(root: Path, data: str, split: Cut, length: int, buckets: int, facts: Facts) -> None:
    """Keep the facts of a log for whoever asks before a cell runs."""
    place = _place(root, data, split, length, buckets)
    if not place.exists():
        place.parent.mkdir(exist_ok=True)
        write_json(place, facts.model_dump(mode="json"))


def _place(root: Path, data: str, split: Cut, length: int, buckets: int) -> Path:
    """Named by what they follow from: the files as they are, and how they are cut."""
    folder = root / FOLDER / data
    files = sorted((p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in folder.iterdir() if p.is_file())
    what = hashlib.sha256(repr((VERSION, files, split, length, buckets)).encode()).hexdigest()[:16]
    return folder / KEPT / f"{what}.json"
