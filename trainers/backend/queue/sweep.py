"""Sweeps: the cells that were asked for together, what people ask of all of them at once, and what they may cost.

``sweeps/<key>/`` holds ``spec.json`` (family, version, the grid as text, the names of its cells) and ``order.json``
(priority, hold, cancel, cap). The key is a hash of the cells, so the same grid from two windows is one sweep. A cell
may belong to several: it waits where none of them wants it now. What is asked of a sweep is one file, however many
cells it has; the runner reads it.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.record import ORDER, SCHEMA, SPEC, SWEEPS, Record
from isoplan.trainers.cell import CELL_DIGITS, Cell, Family, canonical, cell_name
from isoplan.trainers.grid import Grid, cells, write_grid

Waits = Literal["", "held", "cancelled"]


@dataclass(frozen=True)
class Cap:
    """What a sweep may use: device ``hours``, or ``money`` at the price of a device hour.

    A device hour is an hour of a GPU, or of one core where a cell runs on cores.
    """

    hours: float | None = None
    price: float | None = None
    currency: str = ""

    @property
    def text(self) -> str:
        """What the cap is, in money where an hour has a price; empty where there is none."""
        return "" if self.hours is None else self.say(self.hours)

    def say(self, hours: float) -> str:
        """So many device hours, in money where an hour has a price."""
        if self.price:
            return f"{hours * self.price:.4g} {self.currency}"
        return f"{hours:.4g} device hour{'s' * (f'{hours:.4g}' != '1')}"


@dataclass(frozen=True)
class SweepOrder:
    """What people asked of a sweep; ``why`` says it where the cap held it and nobody did."""

    priority: int = 0
    held: bool = False
    cancelled: bool = False
    why: str = ""
    cap: Cap = Cap()


@dataclass(frozen=True)
class Sweep:
    """A sweep as its folder tells it.

    ``flops`` are those of the cells, in their order, and ``before`` the attempts that each had when the sweep was asked
    for; empty where not known.
    """

    key: str
    family: str
    version: str
    name: str
    grid: str
    created: str
    cells: tuple[str, ...]
    flops: tuple[float, ...] = ()
    order: SweepOrder = SweepOrder()
    before: tuple[int, ...] = ()

    @property
    def waits(self) -> Waits:
        """Whether its cells wait, and which word says so."""
        return "cancelled" if self.order.cancelled else "held" if self.order.held else ""


@dataclass(frozen=True)
class CellPolicy:
    """What the sweeps of a cell say of it: they hold it, or start it before others."""

    waits: Waits = ""
    priorities: tuple[int, ...] = ()

    def priority(self, record: Record) -> int:
        """The highest priority of the cell and its sweeps, where the cell's own counts once it was given one."""
        own = (record.order.priority,) if record.order.priority else ()
        return max((*own, *self.priorities), default=0)


NO_SWEEP = CellPolicy()
NO_ORDER = SweepOrder(
    held=True, why="The orders of this sweep are damaged (order.json): resume it, with a new cap if it had one."
)
"""What is asked of a sweep whose orders cannot be read: it spends nothing until somebody has looked."""
_ORDERS, _SWEEPS = TypeAdapter(SweepOrder), TypeAdapter(Sweep)


def sweep_key(family: Family[Any], names: Sequence[str]) -> str:
    """The key of the sweep with those cells, in whatever order."""
    whole = {"family": family.name, "cells": sorted(names)}
    return hashlib.sha256(canonical(whole)).hexdigest()[:CELL_DIGITS]


def launch(
    root: Path, grid: Grid, family: Family[Any], made_by: Mapping[str, Any] | None = None, cap: Cap | None = None
) -> Sweep:
    """Put the cells of ``grid`` into the queue as a sweep and give it; the same grid again goes on with the same sweep.

    Cells that are there already stay, and name the sweep that they were made for; those that were cancelled are queued
    again, and so is a sweep that waits. Raises PlannerError for a grid that cannot be, DiskFull where there is no room;
    then nothing is added.
    """
    made = cells(grid, family)
    names = [cell_name(family, cell) for cell in made]
    folder = root / SWEEPS / sweep_key(family, names)
    new = read_sweep(folder) is None
    queue = Queue(root)
    known = queue.scan()
    before = [known[name].number if name in known else 0 for name in names]
    with files.room(root):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        if new:
            files.write_json(folder / SPEC, _spec(grid, family, made, names, before))
        sweep = read_sweep(folder)
        order = sweep.order if sweep else SweepOrder()
        cap = order.cap if cap is None else cap
        _order(folder, replace(order, held=False, cancelled=False, why="", cap=cap))
        queue.add(family, made, {"sweep": grid.name or folder.name, **(made_by or {})})
    except BaseException:
        if new:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    queue.retry(name for name in names if name in known and known[name].state == "cancelled")
    return find_sweep(root, folder.name)


def _spec(
    grid: Grid, family: Family[Any], made: Sequence[Cell], names: Sequence[str], before: Sequence[int]
) -> dict[str, Any]:
    counts = [family.sizes(cell).C for cell in made]
    return {
        "schema": SCHEMA,
        "family": family.name,
        "version": family.version,
        "name": grid.name,
        "grid": write_grid(grid),
        "created": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "cells": list(names),
        "flops": [] if None in counts else counts,
        "before": list(before),
    }


def read_sweeps(root: Path) -> tuple[Sweep, ...]:
    """All sweeps of a workspace, oldest first."""
    try:
        folders = [folder for folder in (root / SWEEPS).iterdir() if not folder.name.startswith(".")]
    except OSError:
        return ()
    found = [sweep for folder in folders if (sweep := read_sweep(folder))]
    return tuple(sorted(found, key=lambda sweep: (sweep.created, sweep.key)))


def read_sweep(folder: Path) -> Sweep | None:
    """The sweep in ``folder``; None where there is none."""
    try:
        spec = _read_spec(folder / SPEC, (folder / SPEC).stat().st_mtime_ns)
    except OSError:
        return None
    return replace(spec, order=_read_order(folder / ORDER)) if spec else None


def _read_order(place: Path) -> SweepOrder:
    if not place.exists():
        return SweepOrder()
    try:
        return _ORDERS.validate_python(files.read_json(place))
    except ValidationError:
        return NO_ORDER


@lru_cache(maxsize=256)
def _read_spec(path: Path, changed: int) -> Sweep | None:
    """What a sweep is, which never changes: its file is read once."""
    raw = files.read_json(path)
    try:
        sweep = _SWEEPS.validate_python({**(raw or {}), "key": path.parent.name, "order": {}})
        datetime.fromisoformat(sweep.created)
    except (ValidationError, ValueError):
        return None
    return sweep


def find_sweep(root: Path, key: str) -> Sweep:
    """The sweep with that key, or with that beginning of it, or that name. Raises PlannerError without just one."""
    found = [s for s in read_sweeps(root) if key and (s.key.startswith(key) or s.name == key)]
    exact = [s for s in found if s.key == key]
    if len(exact or found) != 1:
        few = "There is no sweep" if not found else f"There are {len(found)} sweeps"
        raise PlannerError(f"{few} {key!r} in this workspace: name one by the key that `isoplan cells` shows.")
    return (exact or found)[0]


def hold(root: Path, key: str, held: bool = True, why: str = "") -> None:
    """Let the cells of a sweep wait, running ones after a checkpoint; or let them go on, a cancelled sweep's too."""
    if held:
        _change(root, key, held=True, why=why)
    else:
        _change(root, key, held=False, cancelled=False, why="")


def cancel(root: Path, key: str) -> None:
    """Let the cells of a sweep end that no other sweep wants, running ones after a checkpoint."""
    _change(root, key, cancelled=True, held=False, why="")


def put_first(root: Path, key: str, priority: int) -> None:
    """Give all cells of a sweep a priority: higher ones start first."""
    _change(root, key, priority=priority)


def set_cap(root: Path, key: str, cap: Cap) -> None:
    """Let a sweep use as much as ``cap``; one that the last cap holds goes on, until the new one does."""
    order = find_sweep(root, key).order
    _change(root, key, cap=cap, why="", held=order.held and not order.why)


def forget(root: Path, key: str) -> None:
    """Remove a sweep; its cells stay, and belong to others or to none."""
    folder = root / SWEEPS / find_sweep(root, key).key
    gone = folder.with_name(f"{files.TEMPORARY}{secrets.token_hex(6)}")
    folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def _change(root: Path, key: str, **asked: Any) -> None:
    sweep = find_sweep(root, key)
    _order(root / SWEEPS / sweep.key, replace(sweep.order, **asked))


def _order(folder: Path, order: SweepOrder) -> None:
    files.write_json(folder / ORDER, asdict(order))


@lru_cache(maxsize=4)
def standings(sweeps: tuple[Sweep, ...]) -> Mapping[str, CellPolicy]:
    """What sweeps say of each of their cells. A cell waits where all of its sweeps do."""
    of: dict[str, tuple[int, ...]] = {}
    for i, sweep in enumerate(sweeps):
        for name in sweep.cells:
            of[name] = (*of.get(name, ()), i)
    told = {which: _standing([sweeps[i] for i in which]) for which in set(of.values())}
    return {name: told[which] for name, which in of.items()}


def _standing(sweeps: Sequence[Sweep]) -> CellPolicy:
    wanting = [sweep for sweep in sweeps if not sweep.waits]
    words: set[Waits] = {sweep.waits for sweep in sweeps}
    waits: Waits = "" if wanting else "held" if "held" in words else "cancelled"
    return CellPolicy(waits, tuple(sorted(sweep.order.priority for sweep in wanting or sweeps)))


def state_of(record: Record, told: Mapping[str, CellPolicy]) -> str:
    """The state of a cell as people see it: one that is queued and whose sweeps wait has their word.

    One that is given out while all workers are busy is ``waiting``, for a worker.
    """
    if record.state == "queued":
        return told.get(record.name, NO_SWEEP).waits or "queued"
    return "waiting" if record.state == "running" and not record.begun else record.state
