"""Atomic files: written under a temporary name, synced, renamed.

Fault points are named points in the code at which a test can kill the process. Otherwise they do nothing.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from isoplan.engine.errors import PlannerError

TEMPORARY = ".tmp-"
"""Prefix of temporary names. Files with this prefix that a killed process left are removed later."""


def write_json(path: Path, value: Mapping[str, Any], point: str = "") -> None:
    """Write ``value`` to ``path`` durably: after a power cut either the old or the new file exists.

    ``point`` names the fault points of the write. Raises DiskFull if the disk is full; the old file is then unchanged.
    """
    write_bytes(path, json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False).encode() + b"\n", point)


def write_bytes(path: Path, data: bytes, point: str = "") -> None:
    """Write ``data`` to ``path`` durably, as ``write_json`` does."""

    def write(place: Path) -> None:
        place.write_bytes(data)

    replace(path, write, point)


def replace(path: Path, write: Callable[[Path], None], point: str = "") -> None:
    """Replace ``path`` by a file that ``write`` fills. ``point`` names the fault points of the write."""
    place = path.with_name(f"{TEMPORARY}{secrets.token_hex(6)}-{path.name}")
    with room(path.parent):
        try:
            write(place)
            with place.open("rb+") as file:
                os.fsync(file.fileno())
            if point:
                fault_point(f"before-{point}")
            os.replace(place, path)
        except BaseException:
            with contextlib.suppress(OSError):
                place.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)
        if point:
            fault_point(f"after-{point}")


def sync_folder(folder: Path) -> None:
    """Make the entries of ``folder`` durable, if the operating system supports it."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the object in ``path``, or None if the file is missing or damaged or is no object."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def sweep(folder: Path, *names: str, older: float = 0.0) -> None:
    """Remove temporary files ``names`` of killed processes in ``folder`` that are at least ``older`` seconds old."""
    for name in names:
        for left in folder.glob(f"{TEMPORARY}*{name}"):
            with contextlib.suppress(OSError):
                if time.time() - left.stat().st_mtime >= older:
                    shutil.rmtree(left) if left.is_dir() else left.unlink()


LEAST_DISK = 50e6
"""Bytes of disk that must be free before another cell starts."""
FULL = "disk full"
"""Reason for the end of an attempt that could not write."""


class DiskFull(PlannerError, OSError):
    """The disk or the user's quota is full. Existing files are unchanged."""


def free(folder: Path) -> float:
    """Return the free bytes on the disk of ``folder``."""
    found = os.statvfs(folder)
    return float(found.f_bavail * found.f_frsize)


@contextlib.contextmanager
def room(folder: Path) -> Iterator[None]:
    """Convert the error of a full disk of ``folder`` to DiskFull."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise DiskFull(f"The disk of {folder} is full: free some of it and try again.") from error


@contextlib.contextmanager
def writing(root: Path) -> Iterator[None]:
    """Convert errors of writes to the workspace ``root`` to PlannerError with one sentence."""
    try:
        with room(root):
            yield
    except PlannerError:
        raise
    except OSError as error:
        raise PlannerError(f"{root} cannot be written: {error.strerror or error}.") from error


VARIABLE = "ISOPLAN_DIE_AT"
"""``ISOPLAN_DIE_AT=name:FILE`` kills the first process that reaches the fault point ``name``, as kill -9 does. FILE is
written so that this happens only once.
"""


def fault_point(name: str) -> None:
    """Kill the process if the environment asks for it at the fault point ``name``."""
    asked = os.environ.get(VARIABLE)
    if not asked:
        return
    where, _, marker = asked.partition(":")
    if where != name:
        return
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
