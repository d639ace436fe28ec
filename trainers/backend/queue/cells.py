"""The queue of training runs ("cells"): the folder ``cells`` of a workspace, and the operations on its cells.

The server, the terminal, the runner and any other process with write access can use the queue. The next state of a cell
depends only on the files in the folder of the cell.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.heartbeat import lived
from isoplan.trainers.backend.store.record import (
    CELLS,
    CHECKPOINT,
    DIED,
    LEASE,
    NO_SPEC,
    ORDER,
    SCHEMA,
    SPEC,
    STOP,
    Order,
    Record,
    read_record,
    result_of,
    saved_at,
)
from isoplan.trainers.cell import Cell, Family, canonical, cell_name

MOST_CELLS = 20_000
"""Maximum number of cells in a workspace. A folder with more subfolders is slow to list."""
SETTLED_NS = 100_000_000
"""The record of a cell is cached only if the folder of the cell has not changed for this number of nanoseconds.

Two changes within one tick of the file system's clock have the same modification time, so the second change would be
missed.
"""


class Deleted(PlannerError, FileNotFoundError):
    """The cell does not exist, for example because it was deleted."""


class Queue:
    """The cells (training runs) of the workspace ``root``.

    Records are cached: a new scan reads only changed folders.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cells = root / CELLS
        self._known: dict[str, tuple[int, Record]] = {}

    def folder(self, name: str) -> Path:
        """Return the folder of the cell ``name``."""
        return self.cells / name

    def scan(self) -> dict[str, Record]:
        """Return the records of all cells by name.

        Folders that have not changed since the last scan are not read again.
        """
        found: dict[str, tuple[int, Record]] = {}
        try:
            entries = list(os.scandir(self.cells))
        except FileNotFoundError:
            entries = []
        now = time.time_ns()
        for entry in entries:
            try:
                if entry.name.startswith(".") or not entry.is_dir():
                    continue
                changed = entry.stat().st_mtime_ns
            except FileNotFoundError:  # deleted since the folder was listed
                continue
            known = self._known.get(entry.name)
            if known is not None and known[0] == changed:
                found[entry.name] = known
                continue
            record = read_record(Path(entry.path))
            if record is not None:
                # Read a damaged cell again at each scan: the repair of a file does not always change the modification
                # time of its folder.
                kept = now - changed > SETTLED_NS and not record.damage
                found[entry.name] = (changed if kept else -1, record)
        self._known = found
        return {name: record for name, (_, record) in sorted(found.items())}

    def find(self, name: str) -> Record:
        """Return the current record of the cell ``name``. Raises Deleted (a PlannerError) if there is no such cell."""
        record = read_record(self.folder(name)) if name and "/" not in name and not name.startswith(".") else None
        if record is None:
            raise Deleted(f"There is no cell {name!r} in this workspace: it may have been deleted.")
        return record

    def add(self, family: Family[Any], cells: Sequence[Cell], made_by: Mapping[str, Any] | None = None) -> list[str]:
        """Add ``cells`` to the queue and return their names in the same order. Existing cells do not change.

        The only exception is a cell with a damaged specification: its specification is replaced. ``made_by`` is added
        to the specifications. Raises PlannerError if the workspace would have too many cells. If the disk is full,
        raises DiskFull and adds no cell.
        """
        with files.room(self.root):
            self.cells.mkdir(parents=True, exist_ok=True)
        names = [cell_name(family, cell) for cell in cells]
        there = self.scan()
        new = {name: cell for name, cell in zip(names, cells, strict=True) if name not in there}
        lacking = {name for name, record in there.items() if record.damage == NO_SPEC}
        damaged = {name: cell for name, cell in zip(names, cells, strict=True) if name in lacking}
        if len(new) + len(there) > MOST_CELLS:
            raise PlannerError(
                f"{len(new):,} more cells are too many for one workspace, which can contain {MOST_CELLS:,} at "
                f"most: delete "
                "finished ones, or open another workspace."
            )
        created = datetime.now(UTC).isoformat(timespec="milliseconds")
        waiting = self.cells / f"{files.TEMPORARY}{secrets.token_hex(6)}"
        try:
            with files.room(self.root):
                self._place(waiting, family, new, created, made_by or {})
                for name, cell in damaged.items():
                    files.write_json(self.folder(name) / SPEC, _spec(family, cell, created, made_by or {}))
        finally:
            shutil.rmtree(waiting, ignore_errors=True)
        return names

    def _place(
        self, waiting: Path, family: Family[Any], new: Mapping[str, Cell], created: str, made_by: Mapping[str, Any]
    ) -> None:
        """Write the specifications of the ``new`` cells.

        The specifications are written into the temporary folder ``waiting`` and then moved into the queue.
        """
        waiting.mkdir()
        for name, cell in new.items():
            (waiting / name).mkdir()
            (waiting / name / SPEC).write_bytes(canonical(_spec(family, cell, created, made_by)))
        if new:
            if hasattr(os, "sync"):
                os.sync()  # makes thousands of small files durable with one call
            files.sync_folder(waiting)
        for name in new:
            if not self.folder(name).exists():
                (waiting / name).rename(self.folder(name))
        files.sync_folder(self.cells)

    def hold(self, names: Iterable[str], held: bool = True) -> None:
        """Pause cells, or resume them if ``held`` is false. A running cell first saves a checkpoint."""
        for name in names:
            self._change(name, held=held)

    def cancel(self, names: Iterable[str], why: str = "") -> None:
        """Cancel cells for the reason ``why``. A running cell first saves a checkpoint.

        Finished and failed cells do not change.
        """
        for name in names:
            if self.find(name).state not in ("done", "failed"):
                self._change(name, cancelled=True, why=why)

    def retry(self, names: Iterable[str]) -> None:
        """Put failed, cancelled and held cells into the queue again. Their earlier failures no longer count."""
        for name in names:
            record = self.find(name)
            if record.state in ("failed", "cancelled", "held", "stopping"):
                since = record.number if record.result else None
                self._change(name, held=False, cancelled=False, since=since, why="")

    def put_first(self, names: Iterable[str], priority: int) -> None:
        """Set the priority of cells. Cells with a higher priority start first.

        Cells with equal priority start in the order of their creation.
        """
        for name in names:
            self._change(name, priority=priority)

    def delete(self, names: Iterable[str]) -> int:
        """Delete cells and return the number of freed bytes. Raises PlannerError if a cell is running."""
        freed = 0
        for name in names:
            if self.find(name).state in ("running", "stopping"):
                raise PlannerError(f"The cell {name} is running: cancel it first.")
            freed += size_of(self.folder(name))
            gone = self.cells / f"{files.TEMPORARY}{secrets.token_hex(6)}-{name}"
            self.folder(name).rename(gone)
            shutil.rmtree(gone, ignore_errors=True)
        return freed

    def lease(self, name: str, runner: str, **more: Any) -> int:
        """Give a cell to a new attempt and return the number of the attempt. All older attempts are then invalid.

        ``runner`` is the name of the runner. ``more`` is stored in the lease.
        """
        folder, record = self.folder(name), self.find(name)
        number = record.number + 1
        (folder / STOP).unlink(missing_ok=True)
        given = datetime.now(UTC).isoformat(timespec="milliseconds")
        lease = {"number": number, "runner": runner, "given": given, CHECKPOINT: saved_at(folder)}
        files.write_json(folder / LEASE, {**lease, **more})
        return number

    def end(self, name: str, number: int, state: str, why: str, **more: Any) -> None:
        """Write the result of attempt ``number``, if the process of the attempt could not write it."""
        ended = {"number": number, "state": state, "metrics": {}, "why": why, **more}
        files.write_json(result_of(self.folder(name), number), ended)

    def lose(self, name: str, number: int, why: str, own: bool) -> None:
        """Record attempt ``number`` as dead, so that the cell is queued again.

        ``own`` is true if the process of the attempt died, and false if its runner died. The death counts as a failure
        of the cell if ``own`` is true and the attempt has saved no new checkpoint.
        """
        before, now = self.find(name).lease.get(CHECKPOINT, 0), saved_at(self.folder(name))
        further = now not in (0, before)
        seconds = lived(self.folder(name), number)
        self.end(name, number, DIED, why, counts=own and not further, seconds=seconds)

    def stop(self, name: str, number: int, why: str) -> None:
        """Ask attempt ``number`` to stop, with the reason ``why``."""
        files.write_json(self.folder(name) / STOP, {"number": number, "why": why})

    def _change(self, name: str, **asked: Any) -> None:
        record = self.find(name)
        order: Order = replace(record.order, **{key: value for key, value in asked.items() if value is not None})
        files.write_json(self.folder(name) / ORDER, asdict(order))
        if (order.cancelled or order.held) and record.state == "running":
            self.stop(name, record.number, "cancel" if order.cancelled else "hold")


def size_of(folder: Path) -> int:
    """Return the total size in bytes of all files below a folder."""
    return sum(place.stat().st_size for place in folder.rglob("*") if place.is_file())


def _spec(family: Family[Any], cell: Cell, created: str, made_by: Mapping[str, Any]) -> dict[str, Any]:
    about = {"schema": SCHEMA, "family": family.name, "version": family.version, "created": created}
    return {**about, "cell": cell.model_dump(mode="json"), **made_by}
