"""One cell on disk: what its folder says of it.

``cells/<name>/`` holds ``spec.json`` (family, cell, who made it), ``order.json`` (what people asked: priority, hold,
cancel, retry), ``lease.json`` (the fencing number of the attempt that may run it now), and for attempt *n*
``beat-n`` (that it lives), ``events-n.jsonl`` (how it goes), ``log-n.txt`` and ``result-n.json``. A result counts only
under the number of the lease, so that one that comes late, from a worker thought lost, is never read. ``stop.json``
asks an attempt to end. ``checkpoint`` is the same state of the same cell whoever wrote it.

A file that is damaged costs no cell. The number of a lease is told from the other files. A result counts as missing, so
its attempt is found dead and the cell goes on. Without specification or order the cell has failed, with a sentence that
says what to do.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, Field, FiniteFloat, TypeAdapter, ValidationError

from isoplan.trainers.backend.store.files import read_json
from isoplan.trainers.cell import CELL_DIGITS, canonical

SCHEMA = 1
"""The layout of the files here and of sweeps; a newer one is left alone."""

CELLS, SWEEPS, BACKBONES = "cells", "sweeps", "backbones"
"""Folders of a workspace: one for each cell, one for each sweep, and what cells leave for others to begin from."""
SPEC, ORDER, LEASE, STOP, CHECKPOINT = "spec.json", "order.json", "lease.json", "stop.json", "checkpoint"
RESULT = re.compile(r"result-(\d+)\.json")
OF_ATTEMPT = re.compile(r"(?:beat|events|log|result)-(\d+)(?:\.\w+)?")
NAME = re.compile(rf"[0-9a-f]{{{CELL_DIGITS}}}")
State = Literal["queued", "running", "stopping", "held", "done", "failed", "cancelled"]
ENDED: tuple[State, ...] = ("done", "failed", "cancelled")
DIED = "died"
"""How an attempt ended whose process is gone without a word; the runner writes its result."""
DEATHS = 3
"""How often a cell may die without getting further before it counts as failed."""

NO_SPEC = "The specification of this cell is damaged (spec.json): launch its grid again, and the cell goes on."
NEWER = "This cell was queued by a newer Isoplan: update Isoplan to train it."
NO_ORDER = "The orders of this cell are damaged (order.json): retry it, and the cell goes on."


class _Lease(BaseModel):
    """What is read of a lease, so that a damaged one is told."""

    number: Annotated[int, Field(ge=0, strict=True)]
    given: AwareDatetime | None = None
    device: str = "cpu"


class _Result(BaseModel):
    """What is read of a result."""

    state: str
    seconds: Annotated[FiniteFloat, Field(ge=0)] = 0.0
    steps: int | None = None
    why: str = ""
    begun: str = ""
    device: str = ""
    metrics: dict[str, Any] = {}
    directions: dict[str, str] = {}


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


def saved_at(folder: Path) -> int:
    """Return the modification time of the checkpoint in ns, 0 without one. Compare two to detect a new checkpoint."""
    try:
        return (folder / CHECKPOINT).stat().st_mtime_ns
    except FileNotFoundError:
        return 0


@dataclass(frozen=True)
class Order:
    """What people asked of a cell: higher ``priority`` first; ``since`` is the attempt after which all is forgotten."""

    priority: int = 0
    held: bool = False
    cancelled: bool = False
    since: int = 0


_ORDERS = TypeAdapter(Order)


@dataclass(frozen=True)
class Record:
    """A cell as its folder tells it: ``number`` is that of its lease (0: none yet), ``results`` are by attempt.

    ``version`` is that of the family when the cell was made. ``begun`` is false while the attempt under lease waits for
    a worker. ``damage`` says what is wrong with its files where that keeps it from being run.
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
    damage: str = ""

    @property
    def result(self) -> dict[str, Any] | None:
        """That of the attempt under lease; None while it runs. Those of others are late or past."""
        return self.results.get(self.number)

    @cached_property
    def state(self) -> State:
        """Where the cell stands. An attempt under lease without a result counts as running until it is found dead."""
        if self.number > 0 and self.result is None:
            return "stopping" if self.order.cancelled or self.order.held else "running"
        if self.damage:
            return "failed"
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
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    spec, wrong = _spec(folder)
    if spec is None and NAME.fullmatch(folder.name) is None:
        return None
    results = {n: said for n in _numbers(RESULT, names) if (said := _result(result_of(folder, n))) is not None}
    lease = _lease(folder)
    number = int(lease["number"]) if lease else max(_numbers(OF_ATTEMPT, names), default=0)
    order = _order(folder) if ORDER in names else Order()
    ended = results.get(number, {})
    if order is None and ended.get("state") != "done":
        wrong = wrong or NO_ORDER
    if wrong and (not number or ended):
        results[number] = {**ended, "state": "failed", "why": wrong}
    spec = spec or {}
    return Record(
        folder.name,
        str(spec.get("family", "")),
        spec.get("cell", {}),
        str(spec.get("created", "")),
        order or Order(),
        number,
        lease,
        results,
        str(spec.get("version", "")),
        not number or number in results or beat_of(folder, number).name in names,
        wrong,
    )


def _numbers(pattern: re.Pattern[str], names: list[str]) -> list[int]:
    """The numbers of attempts in the names of files."""
    return [int(found[1]) for name in names if (found := pattern.fullmatch(name))]


def _spec(folder: Path) -> tuple[dict[str, Any] | None, str]:
    """The specification in ``folder``, and what is wrong with it: the name of a cell is the hash of what it is."""
    spec = read_json(folder / SPEC)
    if spec is None or not isinstance(spec.get("cell"), dict):
        return None, NO_SPEC
    schema = spec.get("schema", SCHEMA)
    if isinstance(schema, int) and schema > SCHEMA:
        return None, NEWER
    whole = {key: spec.get(key, "") for key in ("family", "version", "cell")}
    try:
        name = hashlib.sha256(canonical(whole)).hexdigest()[:CELL_DIGITS]
    except ValueError:  # a number or a text that JSON has and a specification never
        name = ""
    if NAME.fullmatch(folder.name) and name != folder.name:
        return None, NO_SPEC
    return spec, ""


def _lease(folder: Path) -> dict[str, Any]:
    """The lease in ``folder``; empty where there is none or it is damaged."""
    return _checked(_Lease, read_json(folder / LEASE)) or {}


def _result(place: Path) -> dict[str, Any] | None:
    """The result at ``place``; None where it is damaged."""
    return _checked(_Result, read_json(place))


def _order(folder: Path) -> Order | None:
    """The order in ``folder``; None where it is damaged."""
    raw = read_json(folder / ORDER)
    try:
        return None if raw is None else _ORDERS.validate_python(raw)
    except ValidationError:
        return None


def _checked(model: type[BaseModel], raw: dict[str, Any] | None) -> dict[str, Any] | None:
    """``raw``, where it is what ``model`` describes."""
    try:
        model.model_validate(raw)
    except ValidationError:
        return None
    return raw
