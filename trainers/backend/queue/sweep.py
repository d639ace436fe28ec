"""Sweeps: cells (training runs) that were launched together, the orders of users for a sweep, and its cap.

The folder ``sweeps/<key>/`` has ``spec.json`` (family, version, the grid as text, the names of its cells) and
``order.json`` (priority, hold, cancel, cap). The key is a hash of the cells. A grid that is launched twice is therefore
one sweep. A cell may belong to several sweeps. The cell waits if all these sweeps wait.

All orders for a sweep are in one file, ``order.json``, which the runner reads. The time to write an order is therefore
independent of the number of cells.
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


TimeUnit = Literal["", "second", "minute", "hour", "day"]
AN_HOUR: Mapping[TimeUnit, float] = {"second": 3600.0, "minute": 60.0, "hour": 1.0, "day": 1 / 24}
"""Length of an hour in each unit that a cap of device time can have."""


@dataclass(frozen=True)
class Cap:
    """The limit of a sweep in device ``hours``; None means no limit.

    A device hour is one hour of a GPU, or of one core if cells run on cores. If the user typed a time, the limit
    is shown in the ``unit`` of this time. If the user typed an amount of money, ``price`` is the price per device hour,
    and the limit is shown in ``currency``.
    """

    hours: float | None = None
    price: float | None = None
    currency: str = ""
    unit: TimeUnit = ""

    @property
    def text(self) -> str:
        """The cap as text, in the unit that the user typed; "" if there is no cap."""
        return "" if self.hours is None else self.say(self.hours)

    def say(self, hours: float) -> str:
        """Return device ``hours`` as text: in ``unit``, or as an amount of money if there is a price but no unit."""
        if self.price and not self.unit:
            return f"{hours * self.price:.4g} {self.currency}"
        unit = self.unit or "hour"
        number = f"{hours * AN_HOUR[unit]:.4g}"
        return f"{number} device {unit}{'s' * (number != '1')}"


@dataclass(frozen=True)
class SweepOrder:
    """The orders of users for a sweep.

    If the sweep is paused because it has reached its cap, ``why`` is a sentence about this reason. If a user has paused
    the sweep, ``why`` is empty.
    """

    priority: int = 0
    held: bool = False
    cancelled: bool = False
    why: str = ""
    cap: Cap = Cap()


@dataclass(frozen=True)
class Sweep:
    """A sweep as stored in its folder.

    ``flops`` contains the FLOPs of each cell, in the order of ``cells``. ``before`` contains the number of attempts of
    each cell before the launch of the sweep. ``flops`` and ``before`` are empty if unknown.
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
        """Why the cells of the sweep wait: "cancelled" or "held", or "" if they do not wait."""
        return "cancelled" if self.order.cancelled else "held" if self.order.held else ""


@dataclass(frozen=True)
class CellPolicy:
    """The combined orders of all sweeps of a cell: whether the cell waits, and the priorities of the sweeps."""

    waits: Waits = ""
    priorities: tuple[int, ...] = ()

    def priority(self, record: Record) -> int:
        """Return the maximum of the priorities of the cell's sweeps and of the cell's own priority.

        The cell's own priority is ignored if it is 0, the default.
        """
        own = (record.order.priority,) if record.order.priority else ()
        return max((*own, *self.priorities), default=0)


NO_SWEEP = CellPolicy()
NO_ORDER = SweepOrder(
    held=True,
    why="The file order.json of this sweep is damaged: resume the sweep, and set its cap again if it had one.",
)
"""Orders of a sweep whose file ``order.json`` is unreadable: the sweep waits until a user resumes it."""
_ORDERS, _SWEEPS = TypeAdapter(SweepOrder), TypeAdapter(Sweep)


def sweep_key(family: Family[Any], names: Sequence[str]) -> str:
    """Return the key of the sweep with these cells. It does not depend on the order of ``names``."""
    whole = {"family": family.name, "cells": sorted(names)}
    return hashlib.sha256(canonical(whole)).hexdigest()[:CELL_DIGITS]


def launch(root: Path, grid: Grid, family: Family[Any], cap: Cap | None = None) -> Sweep:
    """Add the cells of ``grid`` to the queue as a sweep and return the sweep. An existing sweep of this grid continues.

    Existing cells do not change, and their specification still names the sweep that created them. Cancelled cells are
    queued again. A paused or cancelled sweep is resumed. Raises PlannerError if the grid is invalid and DiskFull if the
    disk is full; in both cases nothing is added.
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
        queue.add(family, made, {"sweep": grid.name or folder.name})
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
    """Return all sweeps of a workspace, oldest first."""
    try:
        folders = [folder for folder in (root / SWEEPS).iterdir() if not folder.name.startswith(".")]
    except OSError:
        return ()
    found = [sweep for folder in folders if (sweep := read_sweep(folder))]
    return tuple(sorted(found, key=lambda sweep: (sweep.created, sweep.key)))


def read_sweep(folder: Path) -> Sweep | None:
    """Return the sweep in ``folder``, or None if the folder contains no readable sweep."""
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
    """Return the sweep without its orders, or None if its specification is damaged.

    A specification never changes, so it is read once and cached. ``changed`` is the modification time of the file. This
    time is part of the cache key.
    """
    raw = files.read_json(path)
    try:
        sweep = _SWEEPS.validate_python({**(raw or {}), "key": path.parent.name, "order": {}})
        datetime.fromisoformat(sweep.created)
    except (ValidationError, ValueError):
        return None
    return sweep


def find_sweep(root: Path, key: str) -> Sweep:
    """Return the sweep whose key begins with ``key`` or whose name is ``key``.

    Raises PlannerError unless there is exactly one such sweep.
    """
    found = [s for s in read_sweeps(root) if key and (s.key.startswith(key) or s.name == key)]
    exact = [s for s in found if s.key == key]
    if len(exact or found) != 1:
        few = "There is no sweep" if not found else f"There are {len(found)} sweeps"
        raise PlannerError(f"{few} {key!r} in this workspace: choose one by the key that `isoplan cells` shows.")
    return (exact or found)[0]


def hold(root: Path, key: str, held: bool = True, why: str = "") -> None:
    """Pause the cells of a sweep with the reason ``why``, or resume them if ``held`` is false.

    Running cells first save a checkpoint. A cancelled sweep can be resumed too.
    """
    if held:
        _change(root, key, held=True, why=why)
    else:
        _change(root, key, held=False, cancelled=False, why="")


def cancel(root: Path, key: str) -> None:
    """Cancel a sweep. A cell is cancelled if all of its sweeps are cancelled. Running cells first save a checkpoint."""
    _change(root, key, cancelled=True, held=False, why="")


def put_first(root: Path, key: str, priority: int) -> None:
    """Set the priority of all cells of a sweep. Cells with a higher priority start first."""
    _change(root, key, priority=priority)


def set_cap(root: Path, key: str, cap: Cap) -> None:
    """Set the cap of a sweep. If the old cap has paused the sweep, the sweep resumes."""
    order = find_sweep(root, key).order
    _change(root, key, cap=cap, why="", held=order.held and not order.why)


def forget(root: Path, key: str) -> None:
    """Remove a sweep but not its cells. The cells may belong to other sweeps."""
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
    """Return, for each cell, the combined orders of its sweeps. A cell waits if all of its sweeps wait."""
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
    """Return the state of a cell as shown to users.

    A queued cell whose sweeps all wait is ``held`` or ``cancelled``. A submitted cell is ``waiting`` while all workers
    are busy.
    """
    if record.state == "queued":
        return told.get(record.name, NO_SWEEP).waits or "queued"
    return "waiting" if record.state == "running" and not record.begun else record.state
