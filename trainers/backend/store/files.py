"""Files that are there whole or not at all: written beside their place, synced, renamed."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.store.fault_injection import fault_point

TEMPORARY = ".tmp-"
"""How the names of files begin that are not yet what they will be; what is left of them is swept away."""


def write_json(path: Path, value: Mapping[str, Any], point: str = "") -> None:
    """Put ``value`` at ``path``, durably: after a power cut either the old file or the new one is there.

    ``point`` names the moments around it. Raises DiskFull where there is no room, and leaves what was there.
    """
    data = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False).encode() + b"\n"

    def write(place: Path) -> None:
        place.write_bytes(data)

    replace(path, write, point)


def replace(path: Path, write: Callable[[Path], None], point: str = "") -> None:
    """Put at ``path`` what ``write`` puts into the file that it is given; ``point`` names the moments around it."""
    place = path.with_name(f"{TEMPORARY}{secrets.token_hex(6)}-{path.name}")
    with room(path.parent):
        _replace(path, place, write, point)


def _replace(path: Path, place: Path, write: Callable[[Path], None], point: str) -> None:
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
    """Make the names in ``folder`` durable, where the system can."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_json(path: Path) -> dict[str, Any] | None:
    """The object at ``path``; None where there is none or where it is not whole (a foreign or damaged file)."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def sweep(folder: Path, *names: str, older: float = 0.0) -> None:
    """Remove what killed writers of files called ``names`` left in ``folder``, where it is ``older`` seconds old."""
    for name in names:
        for left in folder.glob(f"{TEMPORARY}*{name}"):
            with contextlib.suppress(OSError):
                if time.time() - left.stat().st_mtime >= older:
                    shutil.rmtree(left) if left.is_dir() else left.unlink()


LEAST_DISK = 50e6
"""Bytes that must be free before another cell starts."""
FULL = "disk full"
"""Why an attempt stopped that could not write any more."""


class DiskFull(PlannerError, OSError):
    """The disk, or what the user may take of it, is used up; what was there is as it was."""


def free(folder: Path) -> float:
    """Bytes that are free on the disk of ``folder``."""
    found = os.statvfs(folder)
    return float(found.f_bavail * found.f_frsize)


@contextlib.contextmanager
def room(folder: Path) -> Iterator[None]:
    """Say in one sentence where the disk of ``folder`` is full: raises DiskFull."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise DiskFull(f"The disk of {folder} is full: free some of it and try again.") from error


@contextlib.contextmanager
def writing(root: Path) -> Iterator[None]:
    """Around what changes the workspace ``root``: raises PlannerError, one sentence, where it cannot be written."""
    try:
        with room(root):
            yield
    except PlannerError:
        raise
    except OSError as error:
        raise PlannerError(f"{root} cannot be written: {error.strerror or error}.") from error
