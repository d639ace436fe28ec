"""Error messages for problems of the database file that a user can solve, and the record of the last backup."""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import duckdb
from pydantic import BaseModel, ConfigDict, ValidationError

from isoplan.engine.errors import PlannerError

FILE = "isoplan.duckdb"
BACKUP_FILE = "backup.json"
SHOWN = 160
"""Maximum number of characters that an error message quotes from a message of DuckDB."""

_UNTOUCHED = "Uploads and cells are separate files and are not affected."
_FULL = ("No space left on device", "Disk quota exceeded")
_WAL = re.compile(r"replaying WAL|Corrupt WAL", re.IGNORECASE)
_BLOCK = re.compile(r"Corrupt database file|computed checksum", re.IGNORECASE)
# These messages of DuckDB contain a path. It may be the path of another file, so ``explain`` also compares the path.
_FILE = re.compile(r"not a valid DuckDB database file|Could not read enough bytes|[Ff]ailed to deserialize")
_SHUT = re.compile(r"database has been invalidated", re.IGNORECASE)
# Header of DuckDB's write-ahead log. It contains a version. In newer logs, the version is followed by 16 numbers (the
# identifier of the database) and by the number of the last checkpoint. The length of a number varies: each of its bytes
# contains 7 bits.
_WAL_HEADER = re.compile(
    rb"d\0be\0[\x01-\x7f](?:f\0\x10(?:[\0-\x7f]|[\x80-\xff]\x01){16})?(?:g\0[\x80-\xff]{0,9}[\0-\x7f])?\xff\xff",
    re.DOTALL,
)
_WAL_WITHOUT_A_COMMIT = 64
"""Minimum size in bytes of a write-ahead log with a commit. A damaged header of a smaller log loses no data."""


class LastBackup(BaseModel):
    """The record of the last backup of a workspace: the path of the archive and the time."""

    model_config = ConfigDict(frozen=True)
    path: str
    created: datetime


def last_backup(folder: Path) -> LastBackup | None:
    """Return the record of the last backup of the workspace ``folder``; None if there is no readable record."""
    try:
        return LastBackup.model_validate_json((folder / BACKUP_FILE).read_bytes())
    except (OSError, ValidationError):
        return None


def note_backup(folder: Path, record: LastBackup) -> None:
    """Replace the record of the last backup atomically. Raises OSError if the folder cannot be written."""
    fresh = folder / f".{BACKUP_FILE}.{secrets.token_hex(4)}"
    try:
        fresh.write_text(record.model_dump_json(), encoding="utf-8")
        fresh.replace(folder / BACKUP_FILE)
    finally:
        fresh.unlink(missing_ok=True)


def advice(folder: Path) -> str:
    """Return what a user must do about a damaged database.

    The user must restore the last backup or, if no backup is recorded, start with an empty database.
    """
    fresh = (
        f"No backup of this workspace is recorded: move {FILE} and {FILE}.wal out of {folder} and start Isoplan again. "
        "Finished cells are then added to their tables again, and uploads/ contains the original file of every "
        "imported table."
    )
    return f"{_UNTOUCHED} {_restoring(folder) or fresh}"


def _restoring(folder: Path) -> str:
    """Return the instruction to restore the last backup; empty if no backup is recorded."""
    record = last_backup(folder)
    if record is None:
        return ""
    gone = "" if Path(record.path).exists() else ", but this file no longer exists"
    command = f"isoplan restore {shlex.quote(record.path)} --workspace {shlex.quote(str(folder))}"
    return (
        f"Rename the folder {folder}. Restore the last backup: {command} ({record.created:%Y-%m-%d %H:%M} UTC{gone})."
    )


def explain(error: duckdb.Error, folder: Path) -> PlannerError | None:
    """Convert a DuckDB error to a PlannerError that tells the user what to do about the database in ``folder``.

    Returns None if the error is not due to a full disk, a damaged file, or a database that DuckDB closed.
    """
    text, file = str(error), folder / FILE
    if any(words in text for words in _FULL):
        return disk_full(folder)
    if _SHUT.search(text):
        return PlannerError(
            f"{file} was closed after an error ({_short(text)}). Check that its disk has room, then start Isoplan."
        )
    if _WAL.search(text):
        return _wal_damaged(folder, _short(text))
    if _BLOCK.search(text) or (_FILE.search(text) and str(file) in text):
        return PlannerError(f"{file} is damaged: it is not a readable database ({_short(text)}). {advice(folder)}")
    return None


def refuse_damaged_wal(folder: Path) -> None:
    """Raise PlannerError if the write-ahead log of the database in ``folder`` has no valid header.

    DuckDB would treat such a log as empty and delete it, and its commits would be lost.
    """
    wal = folder / f"{FILE}.wal"
    try:
        with wal.open("rb") as file:
            head = file.read(_WAL_WITHOUT_A_COMMIT)
    # Either there is no log, or it cannot be read. A log that cannot be read causes an error of DuckDB later.
    except OSError:
        return
    if len(head) == _WAL_WITHOUT_A_COMMIT and not _WAL_HEADER.match(head):
        raise _wal_damaged(folder, "its header cannot be read")


def _wal_damaged(folder: Path, why: str) -> PlannerError:
    restoring = _restoring(folder)
    return PlannerError(
        f"{folder / FILE}.wal is damaged ({why}). {_UNTOUCHED} Move that file away: the database then opens as it "
        "was at its last checkpoint, without later changes."
        f"{f' Or restore a backup instead. {restoring}' if restoring else ''}"
    )


def disk_full(folder: Path) -> PlannerError:
    """Return the error for a full disk."""
    return PlannerError(f"The disk of {folder} is full: free some space and try again.")


@contextmanager
def explained(folder: Path | None) -> Iterator[None]:
    """Convert a database error in the block to the PlannerError of ``explain``; raise any other error unchanged."""
    try:
        yield
    except duckdb.Error as error:
        sentence = explain(error, folder) if folder is not None else None
        if sentence is None:
            raise
        raise sentence from error


def _short(text: str) -> str:
    """Return DuckDB's message in one line, without the path and with at most ``SHOWN`` characters."""
    line = " ".join(text.split())
    return re.sub(r' "[^"]*"', "", line.removeprefix("IO Error: "))[:SHOWN].rstrip(" .")
