"""The files of events of a workspace: which there are, and another one that is brought in."""

from __future__ import annotations

import re
from pathlib import Path

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.cell import NAME
from isoplan.trainers.amplitudes.files import read_events
from isoplan.trainers.amplitudes.files.formats import FORMATS, format_of
from isoplan.trainers.amplitudes.source import FOLDER
from isoplan.trainers.backend.store.files import replace, sweep, writing
from isoplan.trainers.backend.store.heartbeat import hold_lock

MOST_BYTES = 200 * 1024**2
"""Of a file that comes in through a page; larger ones are copied into the folder."""
LOCK, PATIENCE = ".lock", 10.0
"""Held by whoever brings a file in, and the seconds for which others wait."""


def list_files(root: Path) -> list[str]:
    """The names of the files of events of the workspace ``root`` that a cell may have as its data, in order."""
    folder = root / FOLDER
    there = (path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else ()
    return sorted(path.name for path in there if re.fullmatch(NAME, path.name) and path.suffix.lower() in FORMATS)


def import_file(root: Path, name: str, sent: bytes) -> None:
    """Put the file ``name`` with the bytes ``sent`` among those of the workspace ``root``, once it has been read.

    It is there whole or not at all. Raises PlannerError, one sentence, for a name that no data can have, or that of a
    file that is there already; for more than ``MOST_BYTES``; and as ``read_events``, with the name of the file.
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
    """The bytes, where they are events. Raises PlannerError, which calls the file ``name``."""
    place.write_bytes(sent)
    try:
        read_events(place)
    except PlannerError as error:
        raise PlannerError(str(error).replace(str(place), name)) from None
