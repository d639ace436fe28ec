"""One cell on disk: what its folder says of it.

``cells/<name>/`` holds ``spec.json`` (family, cell, who made it), ``order.json`` (what people asked: priority, hold,
cancel, retry), ``lease.json`` (the fencing number of the attempt that may run it now), and for attempt *n*
``beat-n`` (that it lives), ``events-n.jsonl`` (how it goes), ``log-n.txt`` and ``result-n.json``. A result counts only
under the number of the lease, so that one that comes late, from a worker thought lost, is never read. ``stop.json``
asks an attempt to end. ``checkpoint`` is the same state of the same cell whoever wrote it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from trainers.backend.files import read_json

CELLS, SWEEPS, BACKBONES = "cells", "sweeps", "backbones"
"""Folders of a workspace: one for each cell, one for each sweep, and what cells leave for others to begin from."""
SPEC, ORDER, LEASE, STOP, CHECKPOINT = "spec.json", "order.json", "lease.json", "stop.json", "checkpoint"
RESULT = re.compile(r"result-(\d+)\.json")
State = Literal["queued", "running", "stopping", "held", "done", "failed", "cancelled"]
ENDED: tuple[State, ...] = ("done", "failed", "cancelled")
DIED = "died"
"""How an attempt ended whose process is gone without a word; the runner writes its result."""
DEATHS = 3
"""How often a cell may die without getting further before it counts as failed."""


def beat_of(folder: Path, number: int) -> Path:
    """Where attempt ``number`` says that it lives."""
    return folder / f"beat-{number}"


def events_of(folder: Path, number: int) -> Path:
    """Where attempt ``number`` says how it goes."""
    return folder / f"events-{number}.jsonl"


def log_of(folder: Path, number: int) -> Path:
    """What attempt ``number`` printed."""
    return folder / f"log-{number}.txt"


def result_of(folder: Path, number: int) -> Path:
    """How attempt ``number`` ended."""
    return folder / f"result-{number}.json"


@dataclass(frozen=True)
class Order:
    """What people asked of a cell: higher ``priority`` first; ``since`` is the attempt after which all is forgotten."""

    priority: int = 0
    held: bool = False
    cancelled: bool = False
    since: int = 0


@dataclass(frozen=True)
class Record:
    """A cell as its folder tells it: ``number`` is that of its lease (0: none yet), ``results`` are by attempt.

    ``version`` is that of the family when the cell was made. ``begun`` is false while the attempt under lease waits for
    a worker.
    """

    name: str
    family: str
    cell: dict[str, Any]
    created: str
    order: Order
    number: int = 0
    lease: dict[str, Any] = field(default_factory=dict)
    results: dict[int, dict[str, Any]] = field(default_factory=dict)
    version: str = ""
    begun: bool = True

    @property
    def result(self) -> dict[str, Any] | None:
        """That of the attempt under lease; None while it runs. Those of others are late or past."""
        return self.results.get(self.number)

    @cached_property
    def state(self) -> State:
        """Where the cell stands. An attempt under lease without a result counts as running until it is found dead."""
        if self.number > 0 and self.result is None:
            return "stopping" if self.order.cancelled or self.order.held else "running"
        ended = self.result["state"] if self.result is not None and self.number > self.order.since else ""
        if ended in ("done", "failed"):
            return "done" if ended == "done" else "failed"
        if self.order.cancelled:
            return "cancelled"
        return "held" if self.order.held else "queued"

    @property
    def deaths(self) -> int:
        """How many attempts died by themselves, and no further than those before, since people last asked for it."""
        ended = [result for number, result in self.results.items() if number > self.order.since]
        return sum(result["state"] == DIED and bool(result.get("counts")) for result in ended)


def read_record(folder: Path) -> Record | None:
    """The cell in ``folder``; None where there is none any more. Files of other writers are passed over."""
    spec = read_json(folder / SPEC)
    if spec is None or not isinstance(spec.get("cell"), dict):
        return None
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return None
    numbers = [int(found[1]) for name in names if (found := RESULT.fullmatch(name))]
    results = {number: said for number in numbers if (said := read_json(result_of(folder, number))) and "state" in said}
    lease, order = read_json(folder / LEASE) or {}, read_json(folder / ORDER) or {}
    number = int(lease.get("number", 0))
    return Record(
        folder.name,
        str(spec.get("family", "")),
        spec["cell"],
        str(spec.get("created", "")),
        Order(**{key: order[key] for key in ("priority", "held", "cancelled", "since") if key in order}),
        number,
        lease,
        results,
        str(spec.get("version", "")),
        not number or number in results or beat_of(folder, number).name in names,
    )
