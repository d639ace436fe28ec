"""Unpacking of zip and tar archives that users upload, with limits of size, number and depth.

A damaged archive can use much time and memory before a limit is reached. Call these functions in a process with limited
time and memory.
"""

from __future__ import annotations

import lzma
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.source import MAX_DEPTH, MAX_FILES

MAX_UNPACKED_BYTES = 4 * 1024**3
"""Largest total size of the unpacked files."""
MAX_RATIO = 200
"""Largest ratio of unpacked to packed size."""
_CHUNK = 1024**2
_ERRORS = (
    zipfile.BadZipFile,
    tarfile.TarError,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
    zlib.error,
    lzma.LZMAError,
)
"""Errors of the standard library for archives that are damaged, encrypted or of an unknown kind."""


def is_archive(place: str) -> bool:
    """Return whether ``place`` is a file that is a zip or tar archive."""
    path = Path(place)
    try:
        return path.is_file() and (zipfile.is_zipfile(path) or tarfile.is_tarfile(path))
    except _ERRORS:
        return False


@contextmanager
def unpacked(path: Path, within: Path | None = None) -> Iterator[Path]:
    """Unpack the archive ``path`` into a temporary folder in ``within``, and yield this folder.

    Raises PlannerError if a member is a link, has an absolute path or a path outside the folder, or if the archive is
    damaged or exceeds a limit.
    """
    with tempfile.TemporaryDirectory(dir=within) as scratch:
        folder = Path(scratch)
        try:
            (_unzip if zipfile.is_zipfile(path) else _untar)(path, folder)
        except _ERRORS as error:
            raise PlannerError(f"{path.name} cannot be unpacked ({error}): pack the folder again.") from None
        yield _only_folder(folder)


def _unzip(path: Path, folder: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        _check(path, len(entries), sum(one.file_size for one in entries))
        for one in (entry for entry in entries if not entry.is_dir()):
            target = _target(path, folder, one.filename, link=(one.external_attr >> 28) == 0o12)
            with archive.open(one) as source, target.open("wb") as file:
                left = one.file_size
                while chunk := source.read(_CHUNK):
                    left -= len(chunk)
                    if left < 0:
                        raise PlannerError(
                            f"{path.name}: {one.filename[:80]!r} is larger than it states. Pack it again."
                        )
                    file.write(chunk)


def _untar(path: Path, folder: Path) -> None:
    with tarfile.open(path) as archive:
        count, size = 0, 0
        for one in archive:
            count, size = count + 1, size + one.size
            _check(path, count, size)
            if one.isdir():
                continue
            target = _target(path, folder, one.name, link=not one.isreg())
            source = archive.extractfile(one)
            assert source is not None
            with source, target.open("wb") as file:
                while chunk := source.read(_CHUNK):
                    file.write(chunk)


def _check(path: Path, count: int, size: int) -> None:
    """Raise PlannerError if an archive contains too many files, or if their total size is too large."""
    if count > MAX_FILES:
        raise PlannerError(f"{path.name} contains more than {MAX_FILES:,} files and folders: pack fewer runs.")
    if size > min(MAX_UNPACKED_BYTES, MAX_RATIO * path.stat().st_size + _CHUNK):
        raise PlannerError(
            f"{path.name} unpacks to more than {size / 1024**2:,.0f} MB: pack only the files of the runs, without "
            "checkpoints."
        )


def _target(path: Path, folder: Path, name: str, *, link: bool) -> Path:
    """Return the path in ``folder`` to which the member ``name`` is unpacked. Create the parent folder of this path.

    Raises PlannerError if the member is a link, or if its path is unsafe or too deep.
    """
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if link or not parts or parts[0].startswith("/") or ":" in parts[0] or ".." in parts or "\0" in name:
        what = "a link" if link else "a path outside the archive"
        raise PlannerError(f"{path.name} contains {what} ({name[:80]!r}): pack the folder again without it.")
    if len(parts) > MAX_DEPTH:
        raise PlannerError(f"{path.name} contains more than {MAX_DEPTH} folders inside one another: pack fewer levels.")
    target = folder.joinpath(*parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _only_folder(folder: Path) -> Path:
    """Return the only folder in ``folder`` if there is nothing else in it, and otherwise ``folder``.

    Many archives contain a single folder with all files.
    """
    inside = list(folder.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder
