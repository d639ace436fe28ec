"""Fields of messages in the format of protobuf, without the package protobuf."""

from __future__ import annotations

from collections.abc import Iterator

_FIXED_SIZES = {1: 8, 5: 4}


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the value of each field of a message.

    A value is an integer, or the bytes of a text, a message or a number of fixed size. Raises ValueError or IndexError
    if the message is damaged.
    """
    at = 0
    while at < len(message):
        tag, at = (message[at], at + 1) if message[at] < 128 else integer(message, at)
        kind = tag & 7
        if kind == 0:
            value, at = integer(message, at)
            yield tag >> 3, value
            continue
        if kind == 2:
            size, at = integer(message, at)
        else:
            size = _FIXED_SIZES.get(kind, len(message))
        if size > len(message) - at:
            raise ValueError("a field ends outside its message")
        yield tag >> 3, message[at : at + size]
        at += size


def text(value: int | bytes) -> str:
    """Return a field of text. Bytes that are not text in UTF-8 are replaced."""
    return value.decode(errors="replace") if isinstance(value, bytes) else ""


def integer(message: bytes, at: int) -> tuple[int, int]:
    """Return the integer at position ``at``, and the position after it. Raises ValueError or IndexError."""
    value = 0
    for shift in range(0, 70, 7):
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError("an integer has more than ten bytes")
