"""Rows that training scripts log into a workspace. Each call writes one file in the folder ``logged``.

Several processes may write at the same time, with the database of the workspace open or closed. The process that has
the database open adds the rows to their tables, in the order of the names of the files, and deletes the files after the
commit. The name of a file starts with its time, so the files of one process keep their order.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from isoplan.trainers.backend.store.files import read_all, read_json, sweep, write_bytes

FOLDER, DAMAGED = "logged", "damaged"
OLD = 3600.0
"""Age in seconds of temporary files that are removed. A process that was killed left them."""
_last = 0
_one_at_a_time = threading.Lock()


def write(root: Path, table: str, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write ``rows`` for the table called ``table`` of the workspace ``root``, and return the file.

    After the call, the rows survive a power cut. Raises DiskFull if the disk is full, and OSError if the folder cannot
    be written.
    """
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"{stamp(_now())}-{os.getpid()}-{secrets.token_hex(6)}.json"
    write_bytes(place, json.dumps({"table": table, "rows": list(rows)}, allow_nan=False).encode())
    return place


def waiting(root: Path, most: int) -> list[Path]:
    """Return the first ``most`` files whose rows are not in their tables yet, in their order."""
    try:
        found = [place for place in os.listdir(root / FOLDER) if place.endswith(".json") and place[0] != "."]
    except FileNotFoundError:
        return []
    return [root / FOLDER / name for name in sorted(found)[:most]]


def read(place: Path) -> tuple[str, list[dict[str, Any]]] | None:
    """Return the name of the table and the rows in a file; None if the file is damaged."""
    raw = read_json(place) or {}
    table, rows = raw.get("table"), raw.get("rows")
    if isinstance(table, str) and isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
        return table, rows
    return None


def delete(places: Iterable[Path]) -> None:
    """Delete files whose rows are in their tables."""
    for place in places:
        place.unlink(missing_ok=True)


def set_aside(place: Path) -> Path:
    """Move a damaged file to the folder ``damaged``, so that it is not read again. Return its new place."""
    folder = place.parent / DAMAGED
    folder.mkdir(exist_ok=True)
    return place.rename(folder / place.name)


def tidy(root: Path) -> None:
    """Remove temporary files of killed processes."""
    sweep(root / FOLDER, "", older=OLD)


def files(root: Path) -> dict[str, bytes]:
    """Return the content of all files whose rows are not in their tables yet, by path relative to the workspace."""
    return read_all(root, f"{FOLDER}/**/[!.]*.json")


def stamp(nanoseconds: int) -> str:
    """Return a time in nanoseconds as the start of the name of a file."""
    return f"{nanoseconds:020d}"


def _now() -> int:
    """Return the time in nanoseconds. Each call in this process returns a larger number than the call before."""
    global _last
    with _one_at_a_time:
        _last = max(time.time_ns(), _last + 1)
        return _last
