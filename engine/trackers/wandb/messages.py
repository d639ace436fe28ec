"""Messages in the records of a ``.wandb`` file. Their format is protobuf.

Field numbers are those of ``wandb_internal.proto`` in W&B 0.31. A test compares the result with W&B's own parser.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from functools import lru_cache

from isoplan.engine.trackers.formats.protobuf import fields, text

Item = tuple[str, bytes]
"""The name of a setting or a metric, and its value in JSON. Parts of a nested name are joined with dots."""
_ITEM, _KEYS = 1, (1, 2)
_INTEGER, _NUMBER, _JSON, _VALUE = 5, 6, 8, 16
_KEY_TAGS = (b"\n", b"\x12")
"""Encoded tags of the fields ``_KEYS``. An item begins with one of them."""
_VALUE_TAG = b"\x82\x01"
"""Encoded tag of the field ``_VALUE``. The length of the value follows it."""


@lru_cache(maxsize=4)
def items(message: bytes) -> tuple[list[Item], list[Item]]:
    """Return the items that a message sets, and the items that it removes.

    The message is a ``HistoryRecord``, a ``SummaryRecord`` or a ``ConfigRecord``. The cache saves time because W&B
    often repeats a summary after each step.
    """
    found, rest = _usual_items(message)
    removed = list[Item]()
    for number, value in fields(rest):
        # The field with the step of a history begins with another byte.
        if isinstance(value, bytes) and value[:1] in _KEY_TAGS:
            (found if number == _ITEM else removed).append(_item(value))
    return found, removed


def _usual_items(message: bytes) -> tuple[list[Item], bytes]:
    """Return the items at the beginning of a message that have the usual form, and the rest of the message.

    In the usual form, an item contains one or more keys and ``_VALUE``, and is shorter than 128 bytes. Most items
    of large files have this form. This function reads them several times faster than :func:`fields`.
    """
    head, *pieces = message.split(_VALUE_TAG)
    found, at = list[Item](), 0
    # An empty part raises IndexError. Items of the usual form have no empty parts.
    with suppress(IndexError):
        for piece in pieces:
            size = piece[0]
            whole = len(head) + 3 + size
            if whole > 129 or size >= len(piece) or head[1] != whole - 2 or head[0] != 10:
                break
            found.append((_name(head[2:]), piece[1 : 1 + size]))
            at += whole
            head = piece[1 + size :]
    return found, message[at:]


@lru_cache(maxsize=4096)
def _name(keys: bytes) -> str:
    """Return the name of an item: its keys, joined with dots."""
    return ".".join(text(key) for number, key in fields(keys) if number in _KEYS)


def _item(message: bytes) -> Item:
    """Return the name and the value of an item of any form. The value is empty if it is neither a number nor JSON."""
    keys, value = list[str](), b""
    for number, content in fields(message):
        if number in _KEYS and isinstance(content, bytes):
            keys.append(text(content))
        elif number in (_JSON, _VALUE) and isinstance(content, bytes):
            value = content
        elif number == _NUMBER and isinstance(content, bytes) and len(content) == 8:
            value = repr(*struct.unpack("<d", content)).encode()
        elif number == _INTEGER and isinstance(content, int):
            value = str(content >> 1 ^ -(content & 1)).encode()
    return ".".join(keys), value
