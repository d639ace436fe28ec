"""Event files of a workspace: list them and import new ones."""

from __future__ import annotations

import re
from pathlib import Path

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.files import read_events
from isoplan.trainers.amplitudes.files.formats import FORMATS, format_of
from isoplan.trainers.amplitudes.source import FOLDER
from isoplan.trainers.backend.store.files import replace, sweep, writing
from isoplan.trainers.backend.store.heartbeat import hold_lock
from isoplan.trainers.cell import NAME

MOST_BYTES = 200 * 1024**2
"""Maximum size in bytes of a file that is uploaded through a page. Larger files are copied into the folder."""
LOCK, PATIENCE = ".lock", 10.0
"""Lock that is held while a file is imported, and the time in seconds that other processes wait for it."""


def list_files(root: Path) -> list[str]:
    """Return the sorted names of the event files in the workspace ``root`` that a cell can use as data."""
    folder = root / FOLDER
    there = (path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else ()
    return sorted(path.name for path in there if re.fullmatch(NAME, path.name) and path.suffix.lower() in FORMATS)


def import_file(root: Path, name: str, sent: bytes) -> None:
    """Validate the uploaded bytes ``sent`` and store them as the file ``name`` in the workspace ``root``.

    The file is stored completely or not at all. Raises PlannerError (one sentence) if the name is invalid or already
    used, if the file is larger than ``MOST_BYTES``, or if ``read_events`` raises it; the message gives the name of the
    file.
    """
    if not re.fullmatch(NAME, name):
        raise PlannerError(
            f"The file {name!r} cannot be called so: use letters, digits, dots, hyphens and underscores, at most 64 "
            "signs, the first a letter or digit."
        )
    format_of(Path(name))
    if len(sent) > MOST_BYTES:
        raise PlannerError(
            f"{name} has {len(sent) / 1024**2:,.0f} MB and {MOST_BYTES // 1024**2} MB may come in here: copy it into "
            f"{FOLDER} of the workspace."
        )
    folder = root / FOLDER
    with writing(root):
        folder.mkdir(exist_ok=True)
        with hold_lock(folder / LOCK, PATIENCE) as mine:
            if not mine:
                raise PlannerError(f"Another file is just being brought into {FOLDER}: try again when it is there.")
            if (folder / name).exists():
                raise PlannerError(f"{FOLDER}/{name} is there already: give the file another name, or delete that one.")
            sweep(folder, name)
            replace(folder / name, lambda place: _write(place, name, sent))


def _write(place: Path, name: str, sent: bytes) -> None:
    """Write the bytes to ``place`` and check that they are events. PlannerError names the file as ``name``."""
    place.write_bytes(sent)
    try:
        read_events(place)
    except PlannerError as error:
        raise PlannerError(str(error).replace(str(place), name)) from None
