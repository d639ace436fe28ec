"""Write files ``run-ID.wandb`` without the package wandb, for tests of damaged files and for measurements."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable

from isoplan.engine.trackers.wandb import log


def log_file(records: Iterable[bytes]) -> bytes:
    """Return the content of a ``.wandb`` file with these records."""
    content = bytearray(log.HEADER)
    for record in records:
        rest, begun = record, False
        while rest or not begun:
            left = log.BLOCK - len(content) % log.BLOCK
            if left < 7:
                content += bytes(left)
                continue
            part, rest = rest[: left - 7], rest[left - 7 :]
            kind = (log.MIDDLE if rest else log.LAST) if begun else (log.FIRST if rest else log.FULL)
            data = bytes((kind,)) + part
            content += struct.pack("<IH", zlib.crc32(data), len(part)) + data
            begun = True
    return bytes(content)


def record(number: int, message: bytes) -> bytes:
    """Return a record with a message in its field ``number``."""
    return b"\x08\x07" + field(number, message)


def item(key: str | tuple[str, ...], value: str) -> bytes:
    """Return the field of an item: a key or the parts of a nested key, and a value in JSON."""
    keys = field(1, key.encode()) if isinstance(key, str) else b"".join(field(2, part.encode()) for part in key)
    return field(1, keys + field(16, value.encode()))


def field(number: int, content: bytes) -> bytes:
    """Return a field that contains text or a message."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    """Return an integer in the form of protobuf."""
    digits = bytearray()
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])
