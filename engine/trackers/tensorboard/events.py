"""Events in an event file of TensorBoard: scalars, and the data of the plugin hparams. Other data is not decoded.

An event file consists of records: a length (8 bytes), its check sum, data, and the check sum of the data. The data is a
message ``Event`` in the format of protobuf. Field numbers are those of ``event.proto``, ``summary.proto``,
``tensor.proto`` and the ``plugin_data.proto`` of hparams in TensorBoard 2.21.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.formats.protobuf import fields, integer, text

MAX_RECORD_BYTES = 1024**2
"""Maximum size in bytes of a record that is read. Larger records, such as images and graphs, are skipped."""
SMALL = 1024
"""Size in bytes. The check sum of a record without scalars is tested only below this size, to save time."""
BUFFER = 64 * 1024
"""Size of the read buffer in bytes."""
_HEADER, _LENGTH = struct.Struct("<QI"), 8
_TIME, _STEP, _SUMMARY = 1, 2, 5
_TIME_TAG, _STEP_TAG, _SIMPLE_TAG = 9, 16, 21
"""Encoded tags of the fields ``_TIME``, ``_STEP`` and ``_SIMPLE``."""
_USUAL = 20
"""Minimum size in bytes of an event with a scalar."""
_TAG, _SIMPLE, _TENSOR, _METADATA = 1, 2, 8, 9
_CONTENT, _FLOATS, _DOUBLES = 4, 5, 6
_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")


class Value(NamedTuple):
    """A value of an event: the ``number`` of a scalar, or the ``content`` from the plugin hparams."""

    tag: str
    number: float | None
    content: bytes


class Event(NamedTuple):
    """The values that were logged at a time (seconds since 1970) and a step."""

    time: float
    step: int
    values: list[Value]


def events(file: Path) -> Iterator[Event]:
    """Yield the events of a file up to the first truncated or damaged record. TensorBoard may still be writing it.

    Raises PlannerError if the file does not begin with a record, or cannot be read.
    """
    scalars: set[bytes] = set()
    for data, check in _records(file):
        try:
            event = _usual_event(data) or _event(data, scalars)
        except (ValueError, IndexError, struct.error):
            return
        if (event.values or len(data) < SMALL) and checksum(data) != check:
            return
        yield event


def _records(file: Path) -> Iterator[tuple[bytes, int]]:
    """Yield the data and the check sum of each record."""
    try:
        with file.open("rb", buffering=BUFFER) as opened:
            first = True
            while len(header := opened.read(_HEADER.size)) == _HEADER.size:
                length, check = _HEADER.unpack(header)
                if _checksum_of_length(header[:_LENGTH]) != check:
                    if first:
                        raise PlannerError(
                            f"{file} is damaged or not an event file of TensorBoard: copy it again, or remove it."
                        )
                    return
                first = False
                if length > MAX_RECORD_BYTES:
                    opened.seek(length + 4, 1)
                    continue
                data = opened.read(length + 4)
                if len(data) < length + 4:
                    return
                yield data[:length], int.from_bytes(data[length:], "little")
    except (OSError, OverflowError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "a record is too long"
        raise PlannerError(f"{file} cannot be read ({reason}): check its permissions, or copy it again.") from None


def _usual_event(data: bytes) -> Event | None:
    """Decode an event with a time, a step and one simple scalar. Return None if it has another form.

    Most events of large files have this form. This function reads them several times faster than ``_event``.
    """
    if len(data) < _USUAL or data[0] != _TIME_TAG:
        return None
    step, at = integer(data, 10) if data[9] == _STEP_TAG else (0, 9)
    if (tag := _usual_tag(data[at:-4])) is None:
        return None
    (time,), (number,) = _DOUBLE.unpack_from(data, 1), _FLOAT.unpack_from(data, len(data) - 4)
    return Event(time, _signed(step), [Value(tag, number, b"")])


@lru_cache(maxsize=4096)
def _usual_tag(beginning: bytes) -> str | None:
    """Return the tag of a summary with one simple scalar, or None. ``beginning`` ends before the number."""
    try:
        time, step, values = _event(beginning + _FLOAT.pack(1.0), set())
    except (ValueError, IndexError, struct.error):
        return None
    usual = (time, step, len(values)) == (0, 0, 1) and beginning[-1] == _SIMPLE_TAG and values[0].number == 1.0
    return values[0].tag if usual else None


def _signed(integer: int) -> int:
    """Convert an unsigned 64-bit integer to a signed one."""
    return integer - 2**64 if integer >= 2**63 else integer


def _event(data: bytes, scalars: set[bytes]) -> Event:
    """Decode an event. ``scalars`` collects tags of scalar tensors: only the first value of a tag has metadata."""
    time, step, values = 0.0, 0, list[Value]()
    for number, value in fields(data):
        if number == _STEP and isinstance(value, int):
            step = _signed(value)
        elif isinstance(value, bytes):
            if number == _TIME:
                (time,) = _DOUBLE.unpack(value)
            elif number == _SUMMARY:
                found = (_value(one, scalars) for _, one in fields(value) if isinstance(one, bytes))
                values += [one for one in found if one is not None]
    return Event(time, step, values)


def _value(data: bytes, scalars: set[bytes]) -> Value | None:
    """Decode a value of a summary. Return None if it is neither a scalar nor data of the plugin hparams."""
    tag, tensor, content = b"", None, b""
    number = None
    for field, value in fields(data):
        if not isinstance(value, bytes):
            continue
        if field == _TAG:
            tag = value
        elif field == _SIMPLE:
            (number,) = _FLOAT.unpack(value)
        elif field == _TENSOR:
            tensor = value
        elif field == _METADATA:
            plugin, data_of_plugin = _plugin(value)
            if plugin == b"scalars":
                scalars.add(tag)
            elif plugin == b"hparams":
                content = data_of_plugin
    if tensor is not None and tag in scalars:
        number = _scalar(tensor)
    return Value(_name(tag), number, content) if number is not None or content else None


@lru_cache(maxsize=4096)
def _name(tag: bytes) -> str:
    return text(tag)


@lru_cache(maxsize=256)
def _plugin(metadata: bytes) -> tuple[bytes, bytes]:
    """Return the name and the data of the plugin in the metadata of a value."""
    plugin = dict(fields(next((value for field, value in fields(metadata) if field == 1), b"")))  # type: ignore[arg-type]
    name, content = plugin.get(1, b""), plugin.get(2, b"")
    return (name, content) if isinstance(name, bytes) and isinstance(content, bytes) else (b"", b"")


def _scalar(tensor: bytes) -> float | None:
    """Return the number in a tensor with one float of 32 or 64 bits, or None for another tensor."""
    kinds = {1: _FLOAT, 2: _DOUBLE}
    kind = _FLOAT
    for field, value in fields(tensor):
        if field == 1 and isinstance(value, int):
            if value not in kinds:
                return None
            kind = kinds[value]
        elif field in (_CONTENT, _FLOATS, _DOUBLES) and isinstance(value, bytes) and len(value) == kind.size:
            return float(kind.unpack(value)[0])
    return None


def checksum(data: bytes) -> int:
    """Return the masked check sum CRC-32C of a record."""
    table, total = _table(), 0xFFFFFFFF
    for byte in data:
        total = table[(total ^ byte) & 255] ^ total >> 8
    total ^= 0xFFFFFFFF
    return ((total >> 15 | total << 17) + 0xA282EAD8) & 0xFFFFFFFF


_checksum_of_length = lru_cache(maxsize=1024)(checksum)


@lru_cache(maxsize=1)
def _table() -> tuple[int, ...]:
    """Return the lookup table for the check sum CRC-32C."""
    table = list(range(256))
    for _ in range(8):
        table = [value >> 1 ^ 0x82F63B78 * (value & 1) for value in table]
    return tuple(table)
