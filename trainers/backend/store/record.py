"""The record of one cell (one training run) on disk.

The folder ``cells/<name>/`` has ``spec.json`` (family, cell, creator), ``order.json`` (orders of users: priority, hold,
cancel, retry), and ``lease.json`` with the number of the attempt that may run the cell now. Attempt *n* has ``beat-n``
(heartbeat), ``events-n.jsonl`` (learning curve), ``log-n.txt`` and ``result-n.json``. Only the result with the number
of the lease counts, so a late result of an abandoned attempt is ignored. ``stop.json`` asks an attempt to end. Any
later attempt can continue from ``checkpoint``.

A cell is not lost if one of its files is damaged. The number of a damaged lease is recovered from the names of the
other files. A damaged result counts as missing: its attempt counts as dead, and the cell continues. If the
specification or the order cannot be read, the cell has failed, and its result contains a sentence that says what to do.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, Field, FiniteFloat, TypeAdapter, ValidationError

from isoplan.trainers.backend.store.files import read_json
from isoplan.trainers.cell import CELL_DIGITS, canonical

SCHEMA = 1
"""Version of the layout of the files of cells and sweeps. Files of a newer version are not read."""

CELLS, SWEEPS, BACKBONES = "cells", "sweeps", "backbones"
"""Folders of a workspace: for cells, for sweeps, and for backbones.

A backbone is a trained part of a model. One cell saves it, and other cells use it.
"""
SPEC, ORDER, LEASE, STOP, CHECKPOINT = "spec.json", "order.json", "lease.json", "stop.json", "checkpoint"
RESULT = re.compile(r"(result)-(\d+)\.json")
OF_ATTEMPT = re.compile(r"(beat|events|log|result)-(\d+)(?:\.\w+)?")
"""Pattern of the name of a file of an attempt.

Its two groups are the kind of the file and the number of the attempt.
"""
NAME = re.compile(rf"[0-9a-f]{{{CELL_DIGITS}}}")
State = Literal["queued", "running", "stopping", "held", "done", "failed", "cancelled"]
ENDED: tuple[State, ...] = ("done", "failed", "cancelled")
DIED = "died"
"""State of an attempt if its process ended without a result. The runner then writes a result with this state."""
DEATHS = 3
"""A cell counts as failed after this number of attempts that died without saving a new checkpoint."""

NO_SPEC = "The specification of this cell is damaged (spec.json): launch its grid again, and the cell continues."
NEWER = "This cell was queued by a newer Isoplan: update Isoplan to train it."
NO_ORDER = "The file order.json of this cell is damaged. Retry the cell: its training then continues."


class _Lease(BaseModel):
    """Fields of a lease. A lease file with invalid fields counts as damaged."""

    number: Annotated[int, Field(ge=0, strict=True)]
    given: AwareDatetime | None = None
    device: str = "cpu"


class _Result(BaseModel):
    """Fields of a result. A result file with invalid fields counts as damaged."""

    state: str
    seconds: Annotated[FiniteFloat, Field(ge=0)] = 0.0
    steps: int | None = None
    why: str = ""
    begun: str = ""
    device: str = ""
    metrics: dict[str, Any] = {}
    directions: dict[str, str] = {}


def beat_of(folder: Path, number: int) -> Path:
    """Return the path of the heartbeat file of attempt ``number``."""
    return folder / f"beat-{number}"


def events_of(folder: Path, number: int) -> Path:
    """Return the path of the events file (learning curve) of attempt ``number``."""
    return folder / f"events-{number}.jsonl"


def log_of(folder: Path, number: int) -> Path:
    """Return the path of the log of attempt ``number``, which contains its printed output."""
    return folder / f"log-{number}.txt"


def result_of(folder: Path, number: int) -> Path:
    """Return the path of the result file of attempt ``number``."""
    return folder / f"result-{number}.json"


def saved_at(folder: Path) -> int:
    """Return the modification time of the checkpoint in ns, or 0 without a checkpoint.

    A later time means that a new checkpoint was saved.
    """
    try:
        return (folder / CHECKPOINT).stat().st_mtime_ns
    except FileNotFoundError:
        return 0


@dataclass(frozen=True)
class Order:
    """Orders of users for a cell. Cells with a higher ``priority`` start first.

    ``since`` is the number of the last attempt before a user retried the cell. Failures and deaths of attempts up to
    this number do not count. ``why`` is the reason why the cell was cancelled, if it is known.
    """

    priority: int = 0
    held: bool = False
    cancelled: bool = False
    since: int = 0
    why: str = ""


_ORDERS = TypeAdapter(Order)


@dataclass(frozen=True)
class Record:
    """A cell as stored in its folder.

    - ``number``: attempt number of the lease (0 if the cell has never been leased).
    - ``results``: result of each ended attempt, by number.
    - ``version``: version of the family when the cell was created.
    - ``begun``: false while the leased attempt waits for a worker.
    - ``damage``: description of damaged files if they prevent the cell from running, otherwise "".
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
        """The result of the leased attempt, or None while this attempt runs. Results of other attempts are ignored."""
        return self.results.get(self.number)

    @cached_property
    def state(self) -> State:
        """The state of the cell.

        A leased attempt without a result counts as running until the runner records its death.
        """
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
        """The number of deaths since the last retry that count as failures of the cell (see ``Queue.lose``)."""
        ended = [result for number, result in self.results.items() if number > self.order.since]
        return sum(result["state"] == DIED and bool(result.get("counts")) for result in ended)


def read_record(folder: Path) -> Record | None:
    """Return the record of the cell in ``folder``, or None if the cell no longer exists. Unknown files are ignored."""
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    spec, wrong = _spec(folder)
    if spec is None and NAME.fullmatch(folder.name) is None:
        return None
    results = {n: said for n in _numbers(RESULT, names) if (said := _read(_Result, result_of(folder, n))) is not None}
    lease = _read(_Lease, folder / LEASE) or {}
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
    """Return the attempt numbers in those file names that match ``pattern``."""
    return [int(found[2]) for name in names if (found := pattern.fullmatch(name))]


def _spec(folder: Path) -> tuple[dict[str, Any] | None, str]:
    """Return (specification, "") of the cell in ``folder``, or (None, sentence about the damage).

    The name of a cell must be the hash of its specification.
    """
    spec = read_json(folder / SPEC)
    if spec is None or not isinstance(spec.get("cell"), dict):
        return None, NO_SPEC
    schema = spec.get("schema", SCHEMA)
    if isinstance(schema, int) and schema > SCHEMA:
        return None, NEWER
    whole = {key: spec.get(key, "") for key in ("family", "version", "cell")}
    try:
        name = hashlib.sha256(canonical(whole)).hexdigest()[:CELL_DIGITS]
    except ValueError:  # values such as NaN, which no valid specification contains
        name = ""
    if NAME.fullmatch(folder.name) and name != folder.name:
        return None, NO_SPEC
    return spec, ""


def _order(folder: Path) -> Order | None:
    """Return the orders of users in ``folder``, or None if the file is damaged."""
    raw = read_json(folder / ORDER)
    try:
        return None if raw is None else _ORDERS.validate_python(raw)
    except ValidationError:
        return None


def _read(model: type[BaseModel], place: Path) -> dict[str, Any] | None:
    """Return the JSON object in the file ``place``.

    Returns None if the file is missing or if its fields are not valid for ``model``.
    """
    raw = read_json(place)
    try:
        model.model_validate(raw)
    except ValidationError:
        return None
    return raw


def differing_fields(records: Sequence[Record]) -> list[str]:
    """Return the names of the fields in which the cells of ``records`` differ."""
    fields = dict.fromkeys(name for record in records for name in record.cell)
    return [name for name in fields if len({record.cell[name] for record in records if name in record.cell}) > 1]
