"""Records of a ``.wandb`` file: a log in the format of LevelDB.

The file begins with ``HEADER`` and consists of blocks of 32 KB. A block contains chunks. A chunk is a
check sum, a length, a kind, and data. The check sum is CRC-32 (LevelDB uses CRC-32C). A record is one full chunk, or a
first chunk, any number of middle chunks, and a last chunk.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from isoplan.engine.errors import PlannerError

HEADER = b":W&B\xe1\xbe\x00"
"""First bytes of the file: the name ``:W&B``, a fixed number and a version."""
BLOCK = 32 * 1024
"""Size of a block in bytes."""
MAX_RECORD_BYTES = 64 * 1024**2
"""Maximum size of a record in bytes. A larger record is left out."""
DAMAGED, FULL, FIRST, MIDDLE, LAST = range(5)
"""Kinds of chunks. ``DAMAGED`` stands for a chunk that cannot be read."""
_CHUNK = struct.Struct("<IHB")


def records(file: Path) -> Iterator[bytes]:
    """Yield the records of a file up to the last complete record. W&B may still be writing the file.

    If a chunk is damaged, the rest of its block and the record of this chunk are left out. Raises PlannerError if the
    file is not a file of W&B, or cannot be read.
    """
    record: bytearray | None = None
    for kind, data in _chunks(file):
        if kind == FULL:
            record = None
            yield data
        elif kind == FIRST:
            record = bytearray(data)
        elif record is None or kind == DAMAGED or len(record) + len(data) > MAX_RECORD_BYTES:
            record = None
        else:
            record += data
            if kind == LAST:
                yield bytes(record)
                record = None


def _chunks(file: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the kind and the data of each chunk."""
    try:
        with file.open("rb") as opened:
            block = opened.read(BLOCK)
            if block[: len(HEADER)] != HEADER[: len(block)]:
                raise PlannerError(f"{file} is damaged or not a file of W&B: copy it again, or remove it.")
            at = len(HEADER)
            while block:
                yield from _chunks_of(block, at)
                block, at = opened.read(BLOCK), 0
    except OSError as error:
        raise PlannerError(f"{file} cannot be read ({error.strerror}): check its permissions.") from None


def _chunks_of(block: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    """Yield the chunks of a block that begin at position ``at`` or later."""
    while at + _CHUNK.size <= len(block):
        checksum, size, kind = _CHUNK.unpack_from(block, at)
        start, end = at + _CHUNK.size, at + _CHUNK.size + size
        if end > len(block) or not FULL <= kind <= LAST or zlib.crc32(block[start - 1 : end]) != checksum:
            yield DAMAGED, b""
            return
        yield kind, block[start:end]
        at = end
