"""Storage functions for all saved items (fits, plans, results, answers): save, list, rename, delete and restore."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database.database import Cursor, Database, first

Items = Literal["fits", "plans", "actuals", "answers"]
"""Tables of saved items. The first column of each table is a hash of the content, which identifies the item."""
_KEYS = {"actuals": "id"}
_NAMES = {"fits": "Fit", "plans": "Plan", "answers": "Answer", "views": "View"}


def save(db: Database, table: Items, row: Sequence[object], name: str = "") -> str:
    """Save ``row`` and return its hash, which is the first value of ``row``.

    If the table already contains an item with this hash, the stored content is unchanged. The item gets the new
    ``name`` (unless ``name`` is empty), and it is restored if it was deleted.
    """
    hash, key = str(row[0]), _KEYS.get(table, "hash")

    def change(cursor: Cursor) -> None:
        cursor.execute(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(row))})", list(row))
        if name.strip():
            cursor.execute(f"UPDATE {table} SET name = ? WHERE {key} = ?", [name.strip(), hash])
        cursor.execute(f"UPDATE {table} SET deleted = false WHERE {key} = ? AND deleted", [hash])

    db.write(change)
    return hash


def rows(db: Database, query: str, given: Sequence[object]) -> list[tuple[Any, ...]]:
    """Run the SQL ``query`` with the parameter values ``given`` and return its rows, newest first."""
    with db.read() as cursor:
        return cursor.execute(f"{query} ORDER BY created DESC, hash", list(given)).fetchall()


def body(db: Database, table: Items | Literal["views"], hash: str) -> dict[str, Any]:
    """Return the JSON object of the item with this hash; raises PlannerError if the table does not contain it."""
    with db.read() as cursor:
        row = first(cursor, f"SELECT body FROM {table} WHERE hash = ?", [hash])
    if row is None:
        raise _missing(table, hash)
    found: dict[str, Any] = json.loads(row[0])
    return found


def rename(db: Database, table: Items, hash: str, name: str) -> None:
    """Rename a saved item. Raises PlannerError for an empty name."""
    if not name.strip():
        raise PlannerError(f"The {_NAMES[table].lower()} needs a name: type at least one letter.")
    update(db, table, hash, "name", name.strip())


def delete(db: Database, table: Items, hash: str) -> None:
    """Mark a saved item as deleted; ``restore`` undoes this."""
    update(db, table, hash, "deleted", True)


def restore(db: Database, table: Items, hash: str) -> None:
    """Restore a deleted item."""
    update(db, table, hash, "deleted", False)


def update(db: Database, table: Items, hash: str, field: str, value: object) -> None:
    """Set the column ``field`` of one saved item to ``value``; raises PlannerError if no item has this hash."""
    key = _KEYS.get(table, "hash")
    query = f"UPDATE {table} SET {field} = ? WHERE {key} = ? RETURNING {key}"
    if not db.write(lambda cursor: cursor.execute(query, [value, hash]).fetchall()):
        raise _missing(table, hash)


def _missing(table: str, hash: str) -> PlannerError:
    """Return the error for an item that is not in the store. The error tells the user how to get the item."""
    if table == "actuals":
        return PlannerError(f"The result {hash} is not in this workspace: record it again with its plan.")
    what = f"{_NAMES[table]} {hash}"
    return PlannerError(
        f"{what} is not in this workspace: open the link in the workspace where it was saved, or compute it again."
    )


def as_text(body: Mapping[str, Any]) -> str:
    """Return a JSON object as text with sorted keys, so that equal objects have equal texts and equal hashes."""
    return json.dumps(body, allow_nan=False, sort_keys=True, separators=(",", ":"))


def short_hash(text: str) -> str:
    """Return the first twelve hexadecimal digits of the SHA-256 of ``text``."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def now() -> datetime:
    """Return the current time in UTC, as a datetime without a time zone. The store contains times in this form."""
    return datetime.now(UTC).replace(tzinfo=None)
