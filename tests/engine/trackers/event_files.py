"""Event files of TensorBoard, made byte by byte."""

from __future__ import annotations

import struct
from pathlib import Path

from isoplan.engine.trackers.tensorboard.events import checksum


def message(number: int, content: bytes) -> bytes:
    """Return a field of bytes in the format of protobuf."""
    size = len(content)
    length = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
    return bytes([number << 3 | 2]) + length + content


def event(step: int, *values: bytes) -> bytes:
    """Return an event at a time and a step below 128."""
    summary = b"".join(message(1, value) for value in values)
    return b"\x09" + struct.pack("<d", 1e9) + bytes([2 << 3, step]) + message(5, summary)


def scalar(tag: str, number: float) -> bytes:
    """Return a value of a summary."""
    return message(1, tag.encode()) + b"\x15" + struct.pack("<f", number)


def settings(name: str, number: float, end: bytes = b"") -> bytes:
    """Return a value of the plugin hparams that contains one setting, or the state ``end``."""
    entry = message(1, name.encode()) + message(2, b"\x11" + struct.pack("<d", number))
    content = message(4, end) if end else message(3, message(1, entry))
    return message(1, b"_hparams_/x") + message(9, message(1, message(1, b"hparams") + message(2, content)))


def record(data: bytes) -> bytes:
    """Return a record of an event file."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", checksum(length)) + data + struct.pack("<I", checksum(data))


def write(folder: Path, *data: bytes, name: str = "events.out.tfevents.1.host.1.0") -> Path:
    """Write an event file in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_bytes(b"".join(map(record, data)))
    return file
