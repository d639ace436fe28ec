"""Files of a workspace that a backup contains. A backup also contains a copy of the database."""

from __future__ import annotations

import io
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database import archive
from isoplan.engine.store.database.archive import Entry
from isoplan.engine.store.database.damage import BACKUP_FILE, FILE
from isoplan.engine.store.database.database import OWNER_FILE
from isoplan.trainers import logged_rows
from isoplan.trainers.backend.cluster.settings import Address, read_settings
from isoplan.trainers.backend.store.copies import cell_names, frozen, sweep_files
from isoplan.trainers.backend.store.record import BACKBONES, CELLS, SWEEPS

UPLOADS, PREPARED = "uploads", "prepared"
OWN = (UPLOADS, BACKBONES)
"""Folders of a workspace that are copied even if they are symbolic links."""
LEFT_OUT = frozenset({"logs", "jobs", OWNER_FILE, BACKUP_FILE, CELLS, SWEEPS, logged_rows.FOLDER})
"""Names of files and folders that ``_others`` skips. Cells, sweeps and logged rows are added to a backup separately.
"""
SECRET = 64 * 1024
"""Maximum size in bytes of a file that is searched for a private key."""
_SECRETS = (".key", ".p12", ".pfx")
_NOT_OURS = re.compile(r"isoplan\..*|tmp[a-z0-9_]{8}")
"""Pattern of the names of the database, of older copies of the database, and of temporary upload folders.

Files and folders with these names are not copied.
"""


@dataclass(eq=False)
class Seen:
    """Result of the selection of files for a backup.

    ``cells`` is the number of cells in the backup for each state, such as 'done'. ``left_out`` has the name of each
    file that is not copied, with the reason.
    """

    cells: Counter[str] = field(default_factory=Counter)
    left_out: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Moment:
    """Names of the cells, and contents of the sweep files, at the start of a backup. Later cells are not copied.

    ``logged`` are the files of logged rows, read before the database was copied. The database records which of them it
    contains, so no row is lost or doubled.
    """

    cells: tuple[str, ...]
    sweeps: dict[str, bytes]
    logged: dict[str, bytes]


def moment(root: Path, logged: dict[str, bytes]) -> Moment:
    """Return the cells and sweeps that the workspace ``root`` has now, and its files of ``logged`` rows.

    Cells are listed first. A sweep file is written before its cells, so the sweep of each listed cell is in the result.
    """
    names = tuple(cell_names(root))
    return Moment(names, sweep_files(root), logged)


def entries(root: Path, database: Path, now: Moment, seen: Seen) -> Iterator[Entry]:
    """Yield the files of a backup of the workspace ``root``; ``database`` is the finished copy of its database.

    ``now`` lists the cells and sweeps to copy. ``seen`` collects the counts of copied cells and the skipped files.
    Raises PlannerError if the name of a file is not Unicode.
    """
    for entry in _all(root, database, now, seen):
        if not _is_text(entry.name):
            raise PlannerError(f"The name of the file {root / entry.name!r} is not UTF-8: rename it and try again.")
        yield entry


def _all(root: Path, database: Path, now: Moment, seen: Seen) -> Iterator[Entry]:
    yield Entry(FILE, partial(_opened, database))
    for name in now.cells:
        yield from _cell(root, name, seen)
    for name, content in (now.sweeps | now.logged).items():
        yield Entry(name, partial(_opened, content))
    key = _private_key(root)
    for place in _others(root, seen):
        name = place.relative_to(root).as_posix()
        if place == key or (not name.startswith(f"{UPLOADS}/") and _is_secret(place)):
            seen.left_out.append(f"{name} (a private key)")
        elif not archive.is_archive(place):
            yield Entry(name, partial(_opened, place))


def _opened(source: bytes | IO[bytes] | Path) -> IO[bytes]:
    """Return a source (path, bytes or open file) as an open binary file."""
    if isinstance(source, Path):
        return source.open("rb")
    return io.BytesIO(source) if isinstance(source, bytes) else source


def _cell(root: Path, name: str, seen: Seen) -> Iterator[Entry]:
    with frozen(root / CELLS / name) as cell:
        if cell is None:
            return
        seen.cells[cell.state] += 1
        seen.left_out += [f"{CELLS}/{name}/{link} (a link)" for link in cell.links]
        for file, source in cell.files.items():
            yield Entry(f"{CELLS}/{name}/{file}", partial(_opened, source))


def _others(root: Path, seen: Seen) -> Iterator[Path]:
    """Yield every file of the workspace ``root`` except the database, cells, sweeps and logged rows.

    Symbolic links, hidden files, and files that can be created again are left out.
    """
    for top in sorted(root.iterdir()):
        if top.name.startswith(".") or top.name in LEFT_OUT or _NOT_OURS.fullmatch(top.name):
            continue
        if top.is_symlink() and top.name not in OWN:
            seen.left_out.append(f"{top.name} (a link)")
        elif top.is_dir():
            yield from _below(root, top, seen)
        elif top.is_file():
            yield top


def _below(root: Path, top: Path, seen: Seen) -> Iterator[Path]:
    for folder, folders, names in os.walk(top):
        depth = len(Path(folder).relative_to(root).parts)
        links = [name for name in (*folders, *names) if name[0] != "." and (Path(folder) / name).is_symlink()]
        seen.left_out += [f"{(Path(folder) / name).relative_to(root).as_posix()} (a link)" for name in links]
        # Prepared datasets are left out: training creates them again from the original files.
        folders[:] = sorted(n for n in folders if n[0] != "." and n not in links and (n != PREPARED or depth < 2))
        for name in sorted(set(names) - set(links)):
            if name[0] != "." and (Path(folder) / name).is_file():
                yield Path(folder) / name


def _private_key(root: Path) -> Path | None:
    """Return the path of the private key in ``cluster.toml``; None if the file names no key or cannot be read."""
    try:
        settings = read_settings(root)
    except PlannerError:
        return None
    return settings.key if isinstance(settings, Address) else None


def _is_secret(place: Path) -> bool:
    """Return whether a file is a private key, judged by its suffix or its content."""
    if place.suffix.lower() in _SECRETS:
        return True
    try:
        return place.stat().st_size <= SECRET and b"PRIVATE KEY-----" in place.read_bytes()
    except FileNotFoundError:
        return False


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
