"""Copies of cells (training runs) for a backup. No attempt is running in a copy.

A finished cell is copied unchanged. The copy of a running cell contains its latest complete checkpoint, and a result
with the state stopped for the running attempt. The copied cell is queued again, unless a user has paused or cancelled
it. The lease number does not change, so the next attempt gets a new number. Heartbeats of running attempts and stop
requests are not copied.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.store.files import TEMPORARY, read_all
from isoplan.trainers.backend.store.heartbeat import lived
from isoplan.trainers.backend.store.record import (
    CELLS,
    CHECKPOINT,
    LEASE,
    OF_ATTEMPT,
    ORDER,
    RESULT,
    SPEC,
    STOP,
    SWEEPS,
    Record,
    State,
    read_record,
    result_of,
)

WHY = "The workspace was copied while this attempt ran."
"""Reason for the end of a running attempt, as stored in the copy. The original attempt continues."""
LOOKS = 20
"""Maximum number of reads of a cell. A read is repeated if the cell changes during the read.

A cell changes its state at most a few times per second, so 20 reads are enough.
"""


@dataclass(frozen=True)
class CellCopy:
    """The content of a copied cell: its ``state`` in the copy, and the content of each file by its name in the folder.

    The content is bytes, an open file or the path of the original file. ``links`` lists the symbolic links in the
    folder, which are not copied.
    """

    state: State
    files: Mapping[str, bytes | IO[bytes] | Path]
    links: tuple[str, ...] = ()


def cell_names(root: Path) -> list[str]:
    """Return the names of the cells of the workspace ``root``."""
    try:
        return sorted(place.name for place in (root / CELLS).iterdir() if place.is_dir() and place.name[0] != ".")
    except OSError:
        return []


def sweep_files(root: Path) -> dict[str, bytes]:
    """Return the content of all sweep files, by path relative to the workspace."""
    return read_all(root, f"{SWEEPS}/[!.]*/[!.]*.json")


@contextmanager
def frozen(folder: Path) -> Iterator[CellCopy | None]:
    """Yield a consistent copy of the cell in ``folder``, or None if the cell no longer exists.

    The open files of the copy are closed after the ``with`` block. Raises PlannerError if the cell changes during each
    of ``LOOKS`` reads.
    """
    with ExitStack() as stack:
        found = _look(folder, stack)
        yield None if found is None else _copy(folder, *found)


def _look(folder: Path, stack: ExitStack) -> tuple[Record, dict[str, bytes], IO[bytes] | None] | None:
    """Read a cell repeatedly until it does not change during the read.

    Returns the record, the small files by name, and the open checkpoint (None if the cell has no checkpoint). Returns
    None if the cell no longer exists.
    """
    for _ in range(LOOKS):
        checkpoint = _open(folder / CHECKPOINT)
        if checkpoint is not None:
            stack.enter_context(checkpoint)
        record = read_record(folder)
        small = _small(folder)
        if record is None:
            return None
        if record == read_record(folder):
            return record, small, checkpoint
    raise PlannerError(f"Cell {folder.name} changed during each of {LOOKS} reads. Run the backup again.")


def _open(place: Path) -> IO[bytes] | None:
    try:
        return place.open("rb") if place.is_file() else None
    except FileNotFoundError:
        return None


def _small(folder: Path) -> dict[str, bytes]:
    """Return the content of the small files that determine the state of a cell, by file name."""
    found = {}
    for name in sorted(os.listdir(folder)) if folder.is_dir() else ():
        if name in (SPEC, ORDER, LEASE) or RESULT.fullmatch(name):
            try:
                found[name] = (folder / name).read_bytes()
            except FileNotFoundError:
                continue
    return found


def _copy(folder: Path, record: Record, small: dict[str, bytes], checkpoint: IO[bytes] | None) -> CellCopy:
    files: dict[str, bytes | IO[bytes] | Path] = {}
    links = []
    for place in _below(folder):
        name = place.relative_to(folder).as_posix()
        if place.is_symlink():
            links.append(name)
        elif place.is_file() and _belongs(name, record):
            files[name] = place
    files = {name: source for name, source in files.items() if not RESULT.fullmatch(name)} | small
    if checkpoint is not None and record.state != "done":
        files[CHECKPOINT] = checkpoint
    if record.number and record.result is None:
        ended = _ended(folder, record)
        files[result_of(folder, record.number).name] = json.dumps(ended, indent=1).encode() + b"\n"
        record = replace(record, results={**record.results, record.number: ended})
    return CellCopy(record.state, files, tuple(links))


def _below(folder: Path) -> Iterator[Path]:
    """Yield every file and every symbolic link below ``folder``. Links to folders are not followed."""
    for place, folders, names in os.walk(folder):
        for name in sorted([*names, *(name for name in folders if (Path(place) / name).is_symlink())]):
            yield Path(place) / name


def _belongs(name: str, record: Record) -> bool:
    """Return whether the file ``name`` of a cell is copied.

    Temporary files, stop requests, heartbeats of running attempts, and files of attempts newer than the lease are not
    copied.
    """
    if name == STOP or name.rpartition("/")[2].startswith(TEMPORARY) or name.startswith(TEMPORARY):
        return False
    attempt = OF_ATTEMPT.fullmatch(name)
    if attempt is None:
        return True
    number = int(attempt[2])
    return number <= record.number and (attempt[1] != "beat" or number in record.results)


def _ended(folder: Path, record: Record) -> dict[str, object]:
    """Return the result that the copy stores for the running attempt, with the running time of the attempt so far."""
    return {
        "number": record.number,
        "state": "stopped",
        "metrics": {},
        "why": WHY,
        "seconds": lived(folder, record.number),
        "device": str(record.lease.get("device", "cpu")),
    }
