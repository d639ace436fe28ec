"""Atomic writes: a file is written under a temporary name, synced to disk, and renamed.

A fault point is a named line of code at which a test can kill the process. Outside of such tests it has no effect.
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
"""Prefix of temporary file names. Old files with this prefix come from killed processes and are removed later."""


def write_json(path: Path, value: Mapping[str, Any], point: str = "") -> None:
    """Write ``value`` to ``path`` as JSON. After a power cut, the complete old or the complete new file exists.

    If ``point`` is not empty, tests can kill the process at the fault points ``before-point`` and ``after-point``.
    Raises DiskFull if the disk is full; the old file is then unchanged.
    """
    write_bytes(path, json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False).encode() + b"\n", point)


def write_bytes(path: Path, data: bytes, point: str = "") -> None:
    """Write ``data`` to ``path`` atomically, with the guarantees of ``write_json``."""

    def write(place: Path) -> None:
        place.write_bytes(data)

    replace(path, write, point)


def replace(path: Path, write: Callable[[Path], None], point: str = "") -> None:
    """Replace ``path`` by a new file atomically, with the guarantees of ``write_json``.

    The function ``write`` must write the content to the temporary path that it receives. ``point`` has the same meaning
    as in ``write_json``.
    """
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
    """Sync the entries of ``folder`` to disk, so that renamed files survive a power cut. On Windows nothing is done."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in ``path``, or None if the file is missing, damaged, or contains no object."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def read_all(root: Path, pattern: str) -> dict[str, bytes]:
    """Return the content of all files in ``root`` that match ``pattern``, by path relative to ``root``."""
    found = {}
    for place in root.glob(pattern):
        try:
            found[place.relative_to(root).as_posix()] = place.read_bytes()
        except FileNotFoundError:  # deleted since the folder was listed
            continue
    return found


def sweep(folder: Path, *names: str, older: float = 0.0) -> None:
    """Remove temporary files of killed processes in ``folder``.

    ``names`` are glob patterns for the endings of the file names; the pattern "" matches all files. Only files that are
    at least ``older`` seconds old are removed.
    """
    for name in names:
        for left in folder.glob(f"{TEMPORARY}*{name}"):
            with contextlib.suppress(OSError):
                if time.time() - left.stat().st_mtime >= older:
                    shutil.rmtree(left) if left.is_dir() else left.unlink()


LEAST_DISK = 50e6
"""Minimum number of free bytes on the disk. Below this number, no further cell is started."""
FULL = "disk full"
"""Reason in the result of an attempt that ended because the disk was full."""


class DiskFull(PlannerError, OSError):
    """The disk is full, or the user's quota is reached. Existing files are unchanged."""


def free(folder: Path) -> float:
    """Return the number of free bytes on the disk that contains ``folder``."""
    found = os.statvfs(folder)
    return float(found.f_bavail * found.f_frsize)


@contextlib.contextmanager
def room(folder: Path) -> Iterator[None]:
    """Convert a disk-full OSError in the ``with`` block to DiskFull, with ``folder`` in the message."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise DiskFull(f"The disk of {folder} is full: free some space and try again.") from error


@contextlib.contextmanager
def writing(root: Path) -> Iterator[None]:
    """Convert write errors in the ``with`` block to a PlannerError with one sentence about the workspace ``root``."""
    try:
        with room(root):
            yield
    except PlannerError:
        raise
    except OSError as error:
        raise PlannerError(f"{root} cannot be written: {error.strerror or error}.") from error


VARIABLE = "ISOPLAN_DIE_AT"
"""Environment variable for tests. ``ISOPLAN_DIE_AT=name:FILE`` kills a process at the fault point ``name``.

The process is killed by SIGKILL. The first process that arrives at the fault point creates FILE and is killed. Later
processes find FILE and continue.
"""


def fault_point(name: str) -> None:
    """Kill this process if the environment variable ``ISOPLAN_DIE_AT`` contains the fault point ``name``."""
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
