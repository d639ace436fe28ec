"""One cell on disk: what its folder says of it.

``cells/<name>/`` holds ``spec.json`` (family, cell, who made it), ``order.json`` (what people asked: priority, hold,
cancel, retry), ``lease.json`` (the fencing number of the attempt that may run it now), and for attempt *n*
``beat-n`` (that it lives), ``events-n.jsonl`` (how it goes), ``log-n.txt`` and ``result-n.json``. A result counts only
under the number of the lease, so that one that comes late, from a worker thought lost, is never read. ``stop.json``
asks an attempt to end. ``checkpoint`` is the same state of the same cell whoever wrote it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from trainers.backend.files import read_json

CELLS, SWEEPS = "cells", "sweeps"
SPEC, ORDER, LEASE, STOP, CHECKPOINT = "spec.json", "order.json", "lease.json", "stop.json", "checkpoint"
State = Literal["queued", "running", "stopping", "held", "done", "failed", "cancelled"]
ENDED: tuple[State, ...] = ("done", "failed", "cancelled")
DEATHS = 3
"""How often an attempt may die before its cell counts as failed."""


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
    """A cell as its folder tells it. ``number`` is that of its lease, 0 before the first; ``ends`` the attempts ended.

    ``result`` is that of the lease's attempt, None while it runs and where it died.
    """

    name: str
    family: str
    cell: dict[str, Any]
    created: str
    order: Order
    number: int = 0
    lease: dict[str, Any] = field(default_factory=dict)
    ends: frozenset[int] = frozenset()
    result: dict[str, Any] | None = None

    @property
    def state(self) -> State:
        """Where the cell stands. An attempt under lease without a result counts as running until it is found dead."""
        leased = self.number > 0 and self.result is None
        if leased and not self.lease.get("lost"):
            return "stopping" if self.order.cancelled or self.order.held else "running"
        ended = self.result["state"] if self.result is not None and self.number > self.order.since else ""
        if ended in ("done", "failed"):
            return "done" if ended == "done" else "failed"
        if self.order.cancelled:
            return "cancelled"
        return "held" if self.order.held else "queued"

    @property
    def deaths(self) -> int:
        """How many attempts died since people last asked for it: leases that never ended, the present one aside."""
        last = self.number if self.lease.get("lost") else self.number - 1
        return sum(n not in self.ends for n in range(self.order.since + 1, last + 1))


def read_record(folder: Path) -> Record | None:
    """The cell in ``folder``; None where there is none. Files of other writers are passed over."""
    spec = read_json(folder / SPEC)
    if spec is None or not isinstance(spec.get("cell"), dict):
        return None
    ends = frozenset(
        int(name[7:-5])
        for name in os.listdir(folder)
        if name.startswith("result-") and name.endswith(".json") and name[7:-5].isdigit()
    )
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
        ends,
        read_json(result_of(folder, number)) if number in ends else None,
    )
