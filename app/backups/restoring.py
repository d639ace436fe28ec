"""Restore a workspace from a backup. It is checked in a temporary folder and moved into place if it is valid."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from isoplan.app.backups.writing import Backup, check_rows, file_errors
from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database import archive
from isoplan.engine.store.database.archive import Manifest, Tell
from isoplan.engine.store.database.damage import FILE, LastBackup, note_backup
from isoplan.trainers.backend.store.files import sync_folder


def restore(file: Path, root: Path, tell: Tell, origin: Path | None = None) -> Backup:
    """Restore the workspace ``root`` from the backup ``file``; ``root`` must be a new or empty folder.

    The workspace records ``origin``, the path of the backup, for later restores; None if the backup is not kept. Raises
    PlannerError if the archive is damaged or not a backup, or if the folder is in use; no files remain then.
    """
    file, root = file.expanduser().absolute(), root.expanduser().resolve()
    with file_errors(root), archive.opened(file) as (source, manifest):
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
    """Raise PlannerError if the database does not open or its rows differ from the manifest."""
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
        raise PlannerError(f"{root} has a workspace: rename that folder, or name another one with --workspace.")
    if root.exists() and any(root.iterdir()):
        raise PlannerError(f"The folder {root} is not empty: name another one with --workspace.")


@contextmanager
def _new_folder(root: Path) -> Iterator[Path]:
    """Yield a temporary folder on the disk of ``root``, in the same parent or inside an existing ``root``.

    An existing ``root`` can be a mount point. At the end of the block the folder is removed if it still exists, and so
    are the created parents of ``root``.
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
            "free some of it, or name a folder on another disk with --workspace."
        )


def _make_durable(fresh: Path) -> None:
    """Sync the folder to disk with one call, which is faster than one per file."""
    if hasattr(os, "sync"):
        os.sync()
    sync_folder(fresh)


def _settle(fresh: Path, root: Path) -> None:
    """Rename the finished workspace to ``root``, or move its parts into an existing ``root``, the database last."""
    if fresh.parent != root:
        if root.exists():
            raise PlannerError(f"The folder {root} was made meanwhile: name another one with --workspace.")
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
