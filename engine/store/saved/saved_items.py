"""Storage that fits, plans and answers share: name, time, JSON body, hash, deletion and restore."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database.database import Cursor, Database, first

Body = dict[str, Any]


def rows(db: Database, query: str, given: Sequence[object]) -> list[tuple[Any, ...]]:
    """Return the rows of ``query`` with its values ``given``, newest first."""
    with db.read() as cursor:
        return cursor.execute(f"{query} ORDER BY created DESC, hash", list(given)).fetchall()


def body(db: Database, table: str, what: str, hash: str) -> Body:
    """Return the JSON object in ``table`` under ``hash``; raises PlannerError if there is none."""
    with db.read() as cursor:
        row = first(cursor, f"SELECT body FROM {table} WHERE hash = ?", [hash])
    if row is None:
        raise missing(what, hash)
    found: Body = json.loads(row[0])
    return found


def rename(db: Database, table: str, what: str, hash: str, name: str) -> None:
    """Rename a saved item. Raises PlannerError for an empty name."""
    if not name.strip():
        raise PlannerError(f"The {what.lower()} needs a name: type at least one letter.")
    update(db, table, what, hash, "name = ?", name.strip())


def set_deleted(db: Database, table: str, what: str, hash: str, deleted: bool) -> None:
    """Mark a saved item as deleted, or restore it."""
    update(db, table, what, hash, "deleted = ?", deleted)


def update(db: Database, table: str, what: str, hash: str, change: str, value: object) -> None:
    """Change one field; raises PlannerError if the store has no item with that hash."""
    query = f"UPDATE {table} SET {change} WHERE hash = ? RETURNING hash"
    if not db.write(lambda cursor: cursor.execute(query, [value, hash]).fetchall()):
        raise missing(what, hash)


def take_back(cursor: Cursor, table: str, hash: str, name: str) -> None:
    """Restore a deleted item that is saved again, and set its new ``name`` if one is given."""
    if name.strip():
        cursor.execute(f"UPDATE {table} SET name = ? WHERE hash = ?", [name.strip(), hash])
    cursor.execute(f"UPDATE {table} SET deleted = false WHERE hash = ? AND deleted", [hash])


def missing(what: str, hash: str) -> PlannerError:
    """Return the error for a missing ``hash``, with an instruction."""
    return PlannerError(f"{what} {hash} is not in this workspace: open the link where it was saved, or make it again.")


def as_text(body: Mapping[str, Any]) -> str:
    """Return the canonical text of a JSON object; equal objects have equal hashes."""
    return json.dumps(body, allow_nan=False, sort_keys=True, separators=(",", ":"))


def short_hash(text: str) -> str:
    """Return the first twelve digits of the SHA-256 of ``text``."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def now() -> datetime:
    """Return the current time in UTC without a time zone, as in the store."""
    return datetime.now(UTC).replace(tzinfo=None)
