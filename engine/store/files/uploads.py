"""The original bytes of a table: size limit, hash, storage, and detection of the format from the first bytes."""

from __future__ import annotations

import codecs
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from isoplan.engine.errors import PlannerError

MAX_UPLOAD_BYTES = 200 * 1024**2
_CHUNK = 4 * 1024**2
Format = Literal["csv", "json", "parquet", "excel", "duckdb"]


@dataclass(frozen=True)
class Upload:
    """A file to import: its path, its name, the SHA-256 of its bytes, and its format."""

    path: Path
    name: str
    sha256: str
    format: Format


@contextmanager
def received(source: Path | bytes, name: str, folder: Path | None) -> Iterator[Upload]:
    """Yield the table ``source`` as a file on disk.

    If ``folder`` is given, the bytes are stored in ``folder/uploads``, and stay there only if the block ends without an
    error. Without ``folder``, a file is used where it is, and bytes are written to a temporary file for the block.
    Raises PlannerError for a file that is empty, too large, unreadable or of an unknown format.
    """
    if isinstance(source, bytes):
        _check_size(len(source), name)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            path = Path(scratch) / "bytes"
            path.write_bytes(source)
            with received(path, name, folder) as upload:
                yield upload
        return
    path = Path(source)
    try:
        _check_size(path.stat().st_size, name)
        kind = _format(path, name)
        sha256, path, fresh = (_hash(path), path, False) if folder is None else _keep(path, folder / "uploads")
    except OSError as error:
        raise PlannerError(f"{name} cannot be read ({error.strerror}): check the path and its permissions.") from None
    try:
        yield Upload(path, name, sha256, kind)
    except BaseException:
        if fresh:
            path.unlink(missing_ok=True)
        raise


def _check_size(size: int, name: str) -> None:
    if size == 0:
        raise PlannerError(f"{name} is empty: choose a file with a header and at least one row.")
    if size > MAX_UPLOAD_BYTES:
        raise PlannerError(
            f"{name} has {size / 1024**2:,.0f} MB and the limit is {MAX_UPLOAD_BYTES / 1024**2:,.0f} MB: "
            "keep only the columns and rows that a law needs, or save it as Parquet."
        )


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _keep(path: Path, uploads: Path) -> tuple[str, Path, bool]:
    """Copy a file atomically into the folder ``uploads``, with its hash as its name.

    Returns the hash, the path of the copy, and whether the copy is new.
    """
    uploads.mkdir(exist_ok=True)
    digest = hashlib.sha256()
    handle, part = tempfile.mkstemp(dir=uploads, prefix=".part-")
    try:
        with path.open("rb") as source, os.fdopen(handle, "wb") as target:
            while chunk := source.read(_CHUNK):
                digest.update(chunk)
                target.write(chunk)
        kept = uploads / digest.hexdigest()
        fresh = not kept.exists()
        os.replace(part, kept)
    finally:
        Path(part).unlink(missing_ok=True)
    return digest.hexdigest(), kept, fresh


def _format(path: Path, name: str) -> Format:
    """Determine the format of a file from its first bytes. The suffix only distinguishes JSON from other text."""
    with path.open("rb") as file:
        head = file.read(4096)
    suffix = Path(name).suffix.lower()
    if head[:4] == b"PAR1":
        return "parquet"
    if head[8:12] == b"DUCK":
        return "duckdb"
    if head[:4] == b"PK\x03\x04":
        return "excel"
    for magic, what in _REFUSED.items():
        if head.startswith(magic):
            raise PlannerError(f"{name} is {what}: import CSV, TSV, JSON lines, Parquet, Excel (.xlsx) or DuckDB.")
    for ending, what in _BINARY.items():
        if suffix == ending:
            raise PlannerError(f"{name} is not {what} file, or it is damaged: export it again.")
    braced = head.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"[")
    if suffix in (".json", ".jsonl", ".ndjson") or (braced and suffix not in (".csv", ".tsv")):
        return "json"
    return "csv"


_REFUSED = {
    b"\x1f\x8b": "compressed with gzip; unpack it first",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it first",
    b"BZh": "compressed with bzip2; unpack it first",
    b"SQLite format 3": "a SQLite database (isoplan import reads those of MLflow and Optuna)",
    b"\xd0\xcf\x11\xe0": "an old Excel file (.xls); save it as .xlsx",
    b"\x89HDF": "an HDF5 file",
    b"%PDF": "a PDF document",
    b"ARROW1": "an Arrow file",
}
_BINARY = {
    ".parquet": "a Parquet",
    ".pq": "a Parquet",
    ".xlsx": "an Excel",
    ".xlsm": "an Excel",
    ".duckdb": "a DuckDB",
    ".ddb": "a DuckDB",
}
