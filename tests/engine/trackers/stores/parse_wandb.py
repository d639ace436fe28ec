"""Parse the ``.wandb`` files of the store that a word names with W&B's own messages, and write the result as JSON.

The result contains, by the name of a file, the kind of each record and the names and values of its items.
"""

import json
import struct
import sys
from pathlib import Path

from wandb.proto.wandb_internal_pb2 import Record

folder, _, store = sys.argv[1:]


def records(data: bytes) -> list[bytes]:
    """Return the records of a file, without checks."""
    found, record, at = [], b"", 7
    while at + 7 <= len(data):
        if 2**15 - at % 2**15 < 7:
            at += 2**15 - at % 2**15
            continue
        _, size, kind = struct.unpack_from("<IHB", data, at)
        record += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):
            found.append(record)
            record = b""
    return found


def parsed(data: bytes) -> list:
    """Return the kind and the items of a record."""
    record = Record.FromString(data)
    kind = record.WhichOneof("record_type")
    message = getattr(record, kind)
    items = {"history": "item", "summary": "update", "config": "update"}.get(kind)
    found = getattr(message, items) if items else []
    return [kind, [[".".join(filter(None, [item.key, *item.nested_key])), item.value_json] for item in found]]


files = Path(store).rglob("*.wandb")
result = {file.name: list(map(parsed, records(file.read_bytes()))) for file in files}
Path(folder, "parsed.json").write_text(json.dumps(result))
