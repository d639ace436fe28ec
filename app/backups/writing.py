"""Write a backup of a workspace, check it, and then move it to its final path."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
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
from isoplan.trainers.backend.store.files import sync_folder
from isoplan.trainers.backend.store.record import CELLS, SWEEPS

Put = Callable[[Path, Path], None]
"""Function that moves a finished file to its final path."""


@dataclass(frozen=True)
class Backup:
    """A backup that was written or restored: its file, size in bytes, and manifest. ``notes`` are sentences."""

    file: Path
    size: int
    manifest: Manifest
    notes: tuple[str, ...] = ()


def back_up(root: Path, file: Path, tell: Tell, put: Put) -> Backup:
    """Write a backup of the workspace ``root``, check it, and ``put`` it to ``file``.

    Raises PlannerError if that fails. No partial file remains, also after KeyboardInterrupt.
    """
    root, file = root.expanduser().resolve(), file.expanduser().absolute()
    check_workspace(root)
    _check_place(root, file)
    part = file.with_name(f".{file.name}.{secrets.token_hex(6)}.part")
    with file_errors(file.parent), tempfile.TemporaryDirectory(prefix=".isoplan-", dir=file.parent) as name:
        scratch = Path(name)
        try:
            with database_copy(root, scratch) as (database, contents):
                _write(root, part, database, contents, tell)
            manifest = _check(part, scratch, tell)
            size = part.stat().st_size
            put(part, file)
        finally:
            part.unlink(missing_ok=True)
        sync_folder(file.parent)
    return Backup(file, size, manifest, tuple(_note(root, file, manifest)))


def refuse_existing(file: Path) -> None:
    """Check that ``file`` does not exist. Raises PlannerError otherwise."""
    if file.exists() and not file.is_dir():
        raise PlannerError(f"{file} exists: name another file, or replace it with --force.")


def _check_place(root: Path, file: Path) -> None:
    """Check that a backup can be written to ``file``. Raises PlannerError otherwise."""
    if file.is_dir():
        raise PlannerError(f"{file} is a folder: name the file that the backup goes to.")
    if not file.parent.is_dir():
        raise PlannerError(f"There is no folder {file.parent}: create it, or name another file.")
    if file.parent.resolve().is_relative_to(root / CELLS):
        raise PlannerError(f"{file} is among the cells of the workspace: name a file in another folder.")


def check_workspace(root: Path) -> None:
    """Check that ``root`` is the folder of a workspace. Raises PlannerError otherwise."""
    if not root.is_dir():
        raise PlannerError(f"There is no folder {root}: name the folder of a workspace with --workspace.")
    parts = (FILE, CELLS, SWEEPS, "uploads", "programs.toml", "cluster.toml")
    if not any((root / name).exists() for name in parts):
        raise PlannerError(f"{root} is not a workspace: name the folder of one with --workspace.")


def _write(root: Path, part: Path, database: Path, contents: Contents, tell: Tell) -> None:
    seen, now = Seen(), moment(root)

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
    """Read the whole archive again, open its database and compare the number of rows of every table.

    Raises PlannerError if anything differs.
    """
    with archive.opened(part) as (source, manifest):
        archive.unpack(source, manifest, [name for name in manifest.files if name != FILE], None, tell)
        opened = scratch / "check"
        archive.unpack(source, manifest, [FILE], opened, tell)
    check_rows(opened, manifest)
    return manifest


def check_rows(folder: Path, manifest: Manifest) -> None:
    """Check that the database in ``folder`` has the rows stated in the manifest. Raises PlannerError otherwise."""
    different = differences(manifest.contents, contents_of(folder))
    if different:
        raise PlannerError(f"The rows of the table {different[0]} of the backup have changed: check the disk.")


def put_new(part: Path, file: Path) -> None:
    """Move the finished archive to its final path. Raises PlannerError if that file exists."""
    try:
        file.hardlink_to(part)
    except FileExistsError:
        refuse_existing(file)
    except OSError:  # a disk without hard links
        refuse_existing(file)
        part.rename(file)


def put_over(part: Path, file: Path) -> None:
    """Move the finished archive to its final path and replace an existing file."""
    part.replace(file)


def _note(root: Path, file: Path, manifest: Manifest) -> Iterator[str]:
    """Record the backup in its workspace, and yield sentences about what it does not contain."""
    try:
        note_backup(root, LastBackup(path=str(file), created=manifest.created))
    except OSError as error:
        yield f"The workspace cannot be written ({error.strerror}), so it does not record where this backup is."
    if manifest.left_out:
        more = f" and {len(manifest.left_out) - 3} more" if len(manifest.left_out) > 3 else ""
        yield f"Not in the backup: {', '.join(manifest.left_out[:3])}{more}."


@contextlib.contextmanager
def file_errors(folder: Path) -> Iterator[None]:
    """Convert file system errors into one sentence; ``folder`` is the folder that is written to."""
    try:
        yield
    except PlannerError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise PlannerError(f"The disk of {folder} is full: free some of it and try again.") from None
        place = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else folder
        raise PlannerError(f"{place} cannot be used: {error.strerror or error}.") from None
