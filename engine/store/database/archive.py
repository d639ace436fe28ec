"""File format of a backup: a zip archive of uncompressed entries with a manifest. ``opened`` checks an archive.

Because entries are not compressed, unpacked data is never larger than the archive. The first entry identifies the
format, as in EPUB and OpenDocument files. The last entry is the manifest, which contains a SHA-256 of every other file.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import struct
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database import migration
from isoplan.engine.store.database.backup import Contents
from isoplan.engine.store.database.damage import FILE

FORMAT = 1
MIMETYPE, MARK = "mimetype", b"application/x-isoplan-backup"
MANIFEST = "manifest.json"
LARGEST_MANIFEST = 512 * 2**20
_HEAD = 30
"""Size in bytes of the first header in a zip file. The name of the first entry follows this header."""
_CHUNK = 2**20
_BROKEN = (zipfile.BadZipFile, EOFError, struct.error, NotImplementedError, RuntimeError, KeyError, ValueError)
"""Exceptions that zipfile raises for a damaged archive."""
Tell = Callable[[int], None]
"""Progress callback. It is called with the number of bytes of each piece that was written or read."""


class FileSum(BaseModel):
    """Size of a file in bytes and its SHA-256."""

    model_config = ConfigDict(frozen=True)
    size: int = Field(ge=0)
    sha256: str


class Manifest(BaseModel):
    """The manifest of a backup: versions, a summary of the database, and the size and checksum of each file.

    ``cells`` is the number of cells (training runs) in each state. ``left_out`` lists what the backup does not contain.
    """

    model_config = ConfigDict(frozen=True)
    format: int
    isoplan: str
    created: datetime
    contents: Contents
    cells: dict[str, NonNegativeInt]
    files: dict[str, FileSum]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """A file to add to an archive, and its name in the archive.

    The file is left out if ``open`` raises FileNotFoundError.
    """

    name: str
    open: Callable[[], IO[bytes]]


def write(file: Path, entries: Iterable[Entry], describe: Callable[[dict[str, FileSum]], Manifest], tell: Tell) -> None:
    """Write the entries to the new archive ``file`` and wait until all bytes are on the disk.

    ``describe`` returns the manifest, given the size and checksum of every file in the archive.
    """
    files: dict[str, FileSum] = {}
    with file.open("xb") as raw:
        with zipfile.ZipFile(raw, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(MIMETYPE, MARK)
            for entry in entries:
                try:
                    source = entry.open()
                except FileNotFoundError:
                    continue
                with source:
                    files[entry.name] = _add(archive, entry.name, source, tell)
            archive.writestr(MANIFEST, describe(files).model_dump_json())
        raw.flush()
        os.fsync(raw.fileno())


def _add(archive: zipfile.ZipFile, name: str, source: IO[bytes], tell: Tell) -> FileSum:
    """Add a file to the archive and return its size and checksum.

    Bytes that another process appends to the file during the copy are left out.
    """
    size, mode = _size_and_mode(source)
    info = zipfile.ZipInfo(name, time.localtime()[:6])
    info.file_size, info.external_attr = size, (stat.S_IFREG | mode) << 16
    digest, done = hashlib.sha256(), 0
    with archive.open(info, "w") as target:
        while chunk := source.read(min(_CHUNK, size - done)):
            target.write(chunk)
            digest.update(chunk)
            done += len(chunk)
            tell(len(chunk))
    return FileSum(size=done, sha256=digest.hexdigest())


def _size_and_mode(source: IO[bytes]) -> tuple[int, int]:
    try:
        found = os.fstat(source.fileno())
    except OSError:  # a file in memory has no descriptor
        size = source.seek(0, os.SEEK_END)
        source.seek(0)
        return size, 0o600
    return found.st_size, found.st_mode & 0o777


def is_archive(file: Path) -> bool:
    """Return whether the first bytes of ``file`` are those of an archive that ``write`` wrote."""
    whole = len(MIMETYPE) + len(MARK)
    try:
        with file.open("rb") as source:
            head = source.read(_HEAD + whole)
    except OSError:
        return False
    return head[:4] == b"PK\x03\x04" and head[_HEAD:] == MIMETYPE.encode() + MARK


@contextmanager
def opened(file: Path) -> Iterator[tuple[zipfile.ZipFile, Manifest]]:
    """Open an archive, check it, and yield it with its manifest.

    The checksums of the entries are compared later, by ``unpack``. Raises PlannerError if the file is not a backup, is
    damaged, was written by a newer Isoplan, or contains names, links or sizes that are not valid in a backup.
    """
    _check_kind(file)
    with ExitStack() as stack:
        with _damage_named(file):
            archive = stack.enter_context(zipfile.ZipFile(file))
            manifest = _manifest(file, archive)
        yield archive, manifest


@contextmanager
def _damage_named(file: Path) -> Iterator[None]:
    """Convert exceptions in the block that indicate a damaged archive into a PlannerError."""
    try:
        yield
    except (*_BROKEN, OSError) as error:
        # EINVAL indicates damage: a damaged list of entries can contain an invalid position in the file.
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise
        text = " ".join(str(error).split())[:160] or type(error).__name__
        raise PlannerError(f"{file} is damaged ({text}): restore another backup.") from error


def _check_kind(file: Path) -> None:
    try:
        with file.open("rb"):
            pass
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise PlannerError(f"There is no file {file}: check the path.") from None
        raise PlannerError(
            f"{file} cannot be read ({error.strerror}): choose a backup that you have permission to read."
        ) from None
    if not is_archive(file):
        raise PlannerError(f"{file} is not a backup of Isoplan: choose a file that `isoplan backup` wrote.")


def _manifest(file: Path, archive: zipfile.ZipFile) -> Manifest:
    """Read the manifest and compare it with the entries of the archive.

    Raises BadZipFile if manifest and entries differ or if an entry is not safe. Raises PlannerError if a newer Isoplan
    wrote the archive.
    """
    entries = {info.filename: info for info in archive.infolist()}
    if len(entries) != len(archive.infolist()):
        raise zipfile.BadZipFile("a name occurs twice")
    info = archive.getinfo(MANIFEST)
    if info.file_size > LARGEST_MANIFEST:
        raise zipfile.BadZipFile("its manifest is too large")
    for entry in entries.values():
        _check_entry(entry)
    if any(parent in entries for name in entries for parent in _parents(name)):
        raise zipfile.BadZipFile("one path is a file and a folder")
    if f"{FILE}.wal" in entries:
        raise zipfile.BadZipFile("it contains a write-ahead log, which no backup contains")
    if sum(entry.file_size for entry in entries.values()) > file.stat().st_size:
        raise zipfile.BadZipFile("its files overlap")
    raw = archive.read(info)
    _check_format(file, raw)
    try:
        manifest = Manifest.model_validate_json(raw)
    except ValidationError as error:
        raise zipfile.BadZipFile(f"its manifest has a wrong {error.errors()[0]['loc'] or 'form'}") from None
    migration.refuse_newer(manifest.contents.layout, file)
    sizes = {name: entry.file_size for name, entry in entries.items() if name not in (MIMETYPE, MANIFEST)}
    if sizes != {name: one.size for name, one in manifest.files.items()} or FILE not in sizes:
        raise zipfile.BadZipFile("its files differ from its manifest")
    return manifest


def _parents(name: str) -> list[str]:
    """Return the parent folders of a path: ``a`` and ``a/b`` for ``a/b/c``."""
    parts = name.split("/")
    return ["/".join(parts[:i]) for i in range(1, len(parts))]


def _check_format(file: Path, raw: bytes) -> None:
    """Raise PlannerError if the manifest has a newer format than this Isoplan can read.

    This check precedes the parsing of the manifest, because a newer format may have other fields.
    """
    found = re.match(rb'\s*\{\s*"format"\s*:\s*(\d{1,6})\b', raw)
    if found is not None and int(found[1]) > FORMAT:
        raise PlannerError(f"{file} was written by a newer Isoplan: update Isoplan to restore it.")


def _check_entry(entry: zipfile.ZipInfo) -> None:
    """Raise BadZipFile if an entry of the archive is not a plain file with a safe name.

    Compressed entries, encrypted entries, links, and names that lead out of the target folder are rejected.
    """
    kind = stat.S_IFMT(entry.external_attr >> 16)
    whole = entry.compress_type == zipfile.ZIP_STORED and entry.compress_size == entry.file_size
    if not whole or entry.flag_bits & 1 or kind not in (0, stat.S_IFREG):
        raise zipfile.BadZipFile(f"{entry.filename!r} is not a plain file")
    # The first part of an absolute path is empty, so this test also rejects absolute paths.
    unsafe = any(part in ("", ".", "..") for part in entry.filename.split("/"))
    if unsafe or "\0" in entry.orig_filename or re.match("[A-Za-z]:", entry.filename):
        raise zipfile.BadZipFile(f"the name {entry.filename!r} points outside the workspace")


def unpack(archive: zipfile.ZipFile, manifest: Manifest, names: Iterable[str], folder: Path | None, tell: Tell) -> None:
    """Read the files ``names`` and compare their checksums with the manifest.

    The files are written to ``folder``, or only checked if ``folder`` is None. Raises PlannerError if a checksum
    differs.
    """
    for name in names:
        target = Path(os.devnull) if folder is None else folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with _damage_named(Path(str(archive.filename))):
            if _take_out(archive, name, target, tell) != manifest.files[name].sha256:
                raise zipfile.BadZipFile(f"the bytes of {name!r} have changed")
        if folder is not None and archive.getinfo(name).external_attr >> 16 & stat.S_IXUSR:
            target.chmod(target.stat().st_mode | stat.S_IXUSR)


def _take_out(archive: zipfile.ZipFile, name: str, target: Path, tell: Tell) -> str:
    """Write one file of the archive to ``target`` and return its SHA-256."""
    digest = hashlib.sha256()
    with archive.open(name) as source, target.open("wb") as sink:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            sink.write(chunk)
            tell(len(chunk))
    return digest.hexdigest()
