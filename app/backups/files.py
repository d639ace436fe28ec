"""Selection of the files of a workspace that a backup contains in addition to the database."""

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
from isoplan.trainers.backend.cluster.settings import Address, read_settings
from isoplan.trainers.backend.store.copies import cell_names, frozen, sweep_files
from isoplan.trainers.backend.store.record import BACKBONES, CELLS, SWEEPS

UPLOADS, PREPARED = "uploads", "prepared"
OWN = (UPLOADS, BACKBONES)
"""Folders that are copied even if they are links."""
LEFT_OUT = frozenset({"logs", "jobs", OWNER_FILE, BACKUP_FILE, CELLS, SWEEPS})
"""Names in a workspace that are not copied, or not copied as they are."""
SECRET = 64 * 1024
"""Maximum size in bytes of a file that is searched for a private key."""
_SECRETS = (".key", ".p12", ".pfx")
_NOT_OURS = re.compile(r"isoplan\..*|tmp[a-z0-9_]{8}")
"""Names of the database and its older copies, and of temporary upload folders."""


@dataclass(eq=False)
class Seen:
    """Result of the file selection: number of cells by their state in the copy, and names that are not copied."""

    cells: Counter[str] = field(default_factory=Counter)
    left_out: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Moment:
    """Cells and sweeps of a workspace at one time: cells that are added later are not copied."""

    cells: tuple[str, ...]
    sweeps: dict[str, bytes]


def moment(root: Path) -> Moment:
    """Return the current cells, then the sweeps, which are always written before their cells."""
    names = tuple(cell_names(root))
    return Moment(names, sweep_files(root))


def entries(root: Path, database: Path, now: Moment, seen: Seen) -> Iterator[Entry]:
    """Yield the files of a backup of the workspace ``root``, whose database was copied to ``database``.

    Raises PlannerError if a file name is not Unicode.
    """
    for entry in _all(root, database, now, seen):
        if not _is_text(entry.name):
            raise PlannerError(f"The name of the file {root / entry.name!r} is not UTF-8: rename it and try again.")
        yield entry


def _all(root: Path, database: Path, now: Moment, seen: Seen) -> Iterator[Entry]:
    yield Entry(FILE, partial(_opened, database))
    for name in now.cells:
        yield from _cell(root, name, seen)
    for name, content in now.sweeps.items():
        yield Entry(name, partial(_opened, content))
    key = _private_key(root)
    for place in _others(root, seen):
        name = place.relative_to(root).as_posix()
        if place == key or (not name.startswith(f"{UPLOADS}/") and _is_secret(place)):
            seen.left_out.append(f"{name} (a private key)")
        elif not archive.is_archive(place):
            yield Entry(name, partial(_opened, place))


def _opened(source: bytes | IO[bytes] | Path) -> IO[bytes]:
    """Return the content of a file of a cell or a sweep as an open file."""
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
    """Yield every file except the database, cells and sweeps.

    Links, hidden files, and files that can be made again are left out.
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
        # Prepared datasets are left out: a cell makes them again from the original files.
        folders[:] = sorted(n for n in folders if n[0] != "." and n not in links and (n != PREPARED or depth < 2))
        for name in sorted(set(names) - set(links)):
            if name[0] != "." and (Path(folder) / name).is_file():
                yield Path(folder) / name


def _private_key(root: Path) -> Path | None:
    """Return the key file that ``cluster.toml`` names; None if the settings cannot be read."""
    try:
        settings = read_settings(root)
    except PlannerError:
        return None
    return settings.key if isinstance(settings, Address) else None


def _is_secret(place: Path) -> bool:
    """Return whether a file is a private key, by its name or its content."""
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
