"""Write a backup of a workspace, and restore a workspace from a backup.

A new backup, or a restored workspace, is written under a temporary name and checked. Then it is renamed.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from isoplan.app.backups.files import Seen, entries, moment
from isoplan.app.backups.requests import database_copy
from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database import archive
from isoplan.engine.store.database.archive import FORMAT, FileSum, Manifest, Tell
from isoplan.engine.store.database.backup import Contents, contents_of, differences
from isoplan.engine.store.database.damage import FILE, LastBackup, note_backup
from isoplan.trainers import logged_rows
from isoplan.trainers.backend.store.files import sync_folder
from isoplan.trainers.backend.store.record import CELLS, SWEEPS

Put = Callable[[Path, Path], None]
"""Function ``put(part, file)`` that moves the finished archive ``part`` to its final path ``file``."""


@dataclass(frozen=True)
class Backup:
    """A backup that was written or restored: its file, the size of the file in bytes, and its manifest.

    ``notes`` are sentences for the user, for example about files that the backup does not contain.
    """

    file: Path
    size: int
    manifest: Manifest
    notes: tuple[str, ...] = ()


def back_up(root: Path, file: Path, tell: Tell, put: Put) -> Backup:
    """Write a backup of the workspace ``root``, check the backup, and move it to ``file`` with ``put``.

    Returns the backup. ``tell`` is called after each piece of data that is written or read, with the size of the piece
    in bytes. Raises PlannerError if the backup cannot be written or does not pass the check. A failure or an interrupt
    (KeyboardInterrupt) leaves no partial file.
    """
    root, file = root.expanduser().resolve(), file.expanduser().absolute()
    _check_workspace(root)
    _check_place(root, file)
    part = file.with_name(f".{file.name}.{secrets.token_hex(6)}.part")
    with _file_errors(file.parent), tempfile.TemporaryDirectory(prefix=".isoplan-", dir=file.parent) as name:
        scratch, logged = Path(name), logged_rows.files(root)
        try:
            with database_copy(root, scratch) as (database, contents):
                _write(root, part, database, contents, logged, tell)
            manifest = _check(part, scratch, tell)
            size = part.stat().st_size
            put(part, file)
        finally:
            part.unlink(missing_ok=True)
        sync_folder(file.parent)
    return Backup(file, size, manifest, tuple(_note(root, file, manifest)))


def refuse_existing(file: Path) -> None:
    """Raise PlannerError if ``file`` exists already."""
    if file.exists() and not file.is_dir():
        raise PlannerError(f"{file} exists: name another file, or replace it with --force.")


def _check_place(root: Path, file: Path) -> None:
    """Raise PlannerError if no backup of the workspace ``root`` can be written to the path ``file``."""
    if file.is_dir():
        raise PlannerError(f"{file} is a folder: name a file for the backup.")
    if not file.parent.is_dir():
        raise PlannerError(f"There is no folder {file.parent}: create it, or name another file.")
    if file.parent.resolve().is_relative_to(root / CELLS):
        raise PlannerError(f"{file} is inside the cells folder of the workspace: name a file in another folder.")


def _check_workspace(root: Path) -> None:
    """Raise PlannerError if ``root`` is not the folder of a workspace."""
    if not root.is_dir():
        raise PlannerError(f"There is no folder {root}: name the folder of a workspace with --workspace.")
    parts = (FILE, CELLS, SWEEPS, logged_rows.FOLDER, "uploads", "programs.toml", "cluster.toml")
    if not any((root / name).exists() for name in parts):
        raise PlannerError(f"{root} is not a workspace: name the folder of a workspace with --workspace.")


def _write(root: Path, part: Path, database: Path, contents: Contents, logged: dict[str, bytes], tell: Tell) -> None:
    seen, now = Seen(), moment(root, logged)

    def describe(files: dict[str, FileSum]) -> Manifest:
        return Manifest(
            format=FORMAT,
            isoplan=version("isoplan"),
            created=datetime.now(UTC),
            contents=contents,
            cells=dict(sorted(seen.cells.items())),
            files=files,
            left_out=tuple(text.encode("utf-8", "backslashreplace").decode() for text in seen.left_out),
        )

    archive.write(part, entries(root, database, now, seen), describe, tell)


def _check(part: Path, scratch: Path, tell: Tell) -> Manifest:
    """Check the written archive ``part`` and return its manifest.

    The check reads every file of the archive, opens the database in the folder ``scratch``, and compares each table
    with the manifest. Raises PlannerError if there is a difference.
    """
    with archive.opened(part) as (source, manifest):
        archive.unpack(source, manifest, [name for name in manifest.files if name != FILE], None, tell)
        opened = scratch / "check"
        archive.unpack(source, manifest, [FILE], opened, tell)
    check_rows(opened, manifest)
    return manifest


def check_rows(folder: Path, manifest: Manifest) -> None:
    """Raise PlannerError if the checksum of a table differs from the checksum in ``manifest``.

    The tables are in the database in ``folder``.
    """
    different = differences(manifest.contents, contents_of(folder))
    if different:
        raise PlannerError(f"The table {different[0]} in the backup differs from its checksum: check the disk.")


def put_new(part: Path, file: Path) -> None:
    """Move the finished archive ``part`` to its final path ``file``. Raises PlannerError if ``file`` exists."""
    try:
        file.hardlink_to(part)
    except FileExistsError:
        refuse_existing(file)
    except OSError:  # the disk does not support hard links
        refuse_existing(file)
        part.rename(file)


def put_over(part: Path, file: Path) -> None:
    """Move the finished archive ``part`` to its final path ``file``. An existing ``file`` is replaced."""
    part.replace(file)


def _note(root: Path, file: Path, manifest: Manifest) -> Iterator[str]:
    """Record the path of the backup in the workspace ``root``, and yield sentences for the user.

    One sentence is yielded if the path cannot be recorded, and one if some files are not in the backup.
    """
    try:
        note_backup(root, LastBackup(path=str(file), created=manifest.created))
    except OSError as error:
        yield f"The path of this backup is not recorded: the workspace cannot be written ({error.strerror})."
    if manifest.left_out:
        more = f" and {len(manifest.left_out) - 3} more" if len(manifest.left_out) > 3 else ""
        yield f"Not in the backup: {', '.join(manifest.left_out[:3])}{more}."


def restore_from(file: Path, root: Path, tell: Tell, origin: Path | None) -> Backup:
    """Restore the workspace ``root`` from the backup ``file``, and return the backup.

    ``root`` must be a new or an empty folder. ``origin`` is the path that the workspace records as its last backup.
    ``origin`` is None if the backup file is temporary. Raises PlannerError if ``file`` is damaged or is not a backup,
    or if the folder ``root`` is in use. After an error, no files of the backup remain in ``root``.
    """
    file, root = file.expanduser().absolute(), root.expanduser().resolve()
    with _file_errors(root), archive.opened(file) as (source, manifest):
        _check_target(root)
        with _new_folder(root) as fresh:
            _check_room(fresh, manifest)
            archive.unpack(source, manifest, manifest.files, fresh, tell)
            _check_database(file, fresh, manifest)
            if origin is not None:
                note_backup(fresh, LastBackup(path=str(origin), created=manifest.created))
            _make_durable(fresh)
            _settle(fresh, root)
    return Backup(file, file.stat().st_size, manifest)


def _check_database(file: Path, fresh: Path, manifest: Manifest) -> None:
    """Raise PlannerError if the database in ``fresh`` cannot be opened or differs from the manifest."""
    try:
        check_rows(fresh, manifest)
    except PlannerError as error:
        if str(fresh) not in str(error):
            raise
        raise PlannerError(f"{file} is damaged (its database cannot be opened): restore another backup.") from error


def _check_target(root: Path) -> None:
    if root.exists() and not root.is_dir():
        raise PlannerError(f"{root} is a file: name a folder with --workspace.")
    if (root / FILE).exists():
        raise PlannerError(f"{root} already contains a workspace: rename it, or name another folder with --workspace.")
    if root.exists() and any(root.iterdir()):
        raise PlannerError(f"The folder {root} is not empty: name another folder with --workspace.")


@contextmanager
def _new_folder(root: Path) -> Iterator[Path]:
    """Yield a new temporary folder on the same disk as ``root``.

    The folder is inside ``root`` if ``root`` exists, because an existing ``root`` can be a mount point. Otherwise it is
    in the parent of ``root``. At the end of the block the temporary folder is removed if it still exists. Parents of
    ``root`` that were created here are removed if they are empty.
    """
    home = root if root.exists() else root.parent
    missing = [place for place in (home, *home.parents) if not place.exists()]
    home.mkdir(parents=True, exist_ok=True)
    fresh = home / f".isoplan-restore-{secrets.token_hex(6)}"
    try:
        fresh.mkdir()
        yield fresh
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        for place in missing:
            with suppress(OSError):
                place.rmdir()


def _check_room(fresh: Path, manifest: Manifest) -> None:
    needed, free = sum(one.size for one in manifest.files.values()), shutil.disk_usage(fresh).free
    if needed > free:
        raise PlannerError(
            f"The backup needs {needed / 1e6:,.0f} MB and the disk of {fresh.parent} has {free / 1e6:,.0f} MB free: "
            "free some space, or name a folder on another disk with --workspace."
        )


def _make_durable(fresh: Path) -> None:
    """Write all restored files to disk with one ``os.sync``, which is faster than one call per file."""
    if hasattr(os, "sync"):
        os.sync()
    sync_folder(fresh)


def _settle(fresh: Path, root: Path) -> None:
    """Move the finished workspace ``fresh`` to ``root``.

    If ``root`` did not exist, ``fresh`` is renamed to ``root``. Otherwise each item of ``fresh`` is moved into
    ``root``. The database is moved last. Raises PlannerError if another process has created ``root`` in the meantime.
    """
    if fresh.parent != root:
        if root.exists():
            raise PlannerError(f"The folder {root} was created in the meantime: name another folder with --workspace.")
        fresh.rename(root)
        sync_folder(root.parent)
        return
    moved: list[Path] = []
    try:
        for place in sorted(fresh.iterdir(), key=lambda place: place.name == FILE):
            place.rename(root / place.name)
            moved.append(root / place.name)
    except BaseException:
        for place in moved:
            shutil.rmtree(place) if place.is_dir() else place.unlink()
        raise
    sync_folder(root)


@contextmanager
def _file_errors(folder: Path) -> Iterator[None]:
    """Convert an OSError of the ``with`` block, which writes to ``folder``, into a PlannerError of one sentence."""
    try:
        yield
    except PlannerError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise PlannerError(f"The disk of {folder} is full: free some space and try again.") from None
        place = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else folder
        raise PlannerError(f"{place} cannot be used: {error.strerror or error}.") from None
