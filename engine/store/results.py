"""Fits, plans and saved views: JSON under the hash of what made it, so the same result is stored once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from engine.errors import PlannerError
from engine.store.database import Cursor, Database

Body = dict[str, Any]


@dataclass(frozen=True)
class SavedFit:
    """A line in the list of fits."""

    hash: str
    name: str
    table_id: str
    snapshot_hash: str
    law: str
    created: datetime
    deleted: bool = False


@dataclass(frozen=True)
class SavedPlan:
    """A line in the list of plans."""

    hash: str
    name: str
    fit_hash: str
    created: datetime
    deleted: bool = False


def short_hash(body: object) -> str:
    """The first 16 digits of the SHA-256 of ``body`` as canonical JSON."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def save_fit(db: Database, fit_json: Mapping[str, Any], *, name: str, table_id: str, snapshot_hash: str) -> str:
    """Save a fit and return its hash, which follows from its ``spec`` and its snapshot.

    A fit that is there already keeps its name; a deleted one comes back.
    """
    key = short_hash([fit_json.get("spec", fit_json), snapshot_hash])
    law, body = str(fit_json.get("law", "")), _text(fit_json)
    row = [key, name.strip() or law, table_id, snapshot_hash, law, _now(), False, body]

    def change(cursor: Cursor) -> None:
        cursor.execute("INSERT OR IGNORE INTO fits VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        _undelete(cursor, "fits", key)

    db.write(change)
    return key


def fits(db: Database, deleted: bool = False) -> list[SavedFit]:
    """The saved fits, newest first; with ``deleted`` the deleted ones."""
    query = "SELECT hash, name, table_id, snapshot_hash, law, created, deleted FROM fits WHERE deleted = ?"
    return [SavedFit(*row) for row in _rows(db, query, deleted)]


def fit(db: Database, hash: str) -> Body:
    """The JSON of a fit, deleted or not; raises PlannerError when the store has none with that hash."""
    return _body(db, "fits", "Fit", hash)


def rename_fit(db: Database, hash: str, name: str) -> None:
    """Give a fit another name."""
    _rename(db, "fits", "Fit", hash, name)


def delete_fit(db: Database, hash: str) -> None:
    """Put a fit away; it can be restored."""
    _set_deleted(db, "fits", "Fit", hash, True)


def restore_fit(db: Database, hash: str) -> None:
    """Bring a deleted fit back."""
    _set_deleted(db, "fits", "Fit", hash, False)


def save_plan(db: Database, plan_json: Mapping[str, Any], *, name: str, fit_hash: str) -> str:
    """Save a plan and return its hash, which follows from its content and its fit."""
    key = short_hash([dict(plan_json), fit_hash])
    row = [key, name.strip() or "Plan", fit_hash, _now(), False, _text(plan_json)]

    def change(cursor: Cursor) -> None:
        cursor.execute("INSERT OR IGNORE INTO plans VALUES (?, ?, ?, ?, ?, ?)", row)
        _undelete(cursor, "plans", key)

    db.write(change)
    return key


def plans(db: Database, deleted: bool = False) -> list[SavedPlan]:
    """The saved plans, newest first; with ``deleted`` the deleted ones."""
    query = "SELECT hash, name, fit_hash, created, deleted FROM plans WHERE deleted = ?"
    return [SavedPlan(*row) for row in _rows(db, query, deleted)]


def plan(db: Database, hash: str) -> Body:
    """The JSON of a plan, deleted or not; raises PlannerError when the store has none with that hash."""
    return _body(db, "plans", "Plan", hash)


def rename_plan(db: Database, hash: str, name: str) -> None:
    """Give a plan another name."""
    _rename(db, "plans", "Plan", hash, name)


def delete_plan(db: Database, hash: str) -> None:
    """Put a plan away; it can be restored."""
    _set_deleted(db, "plans", "Plan", hash, True)


def restore_plan(db: Database, hash: str) -> None:
    """Bring a deleted plan back."""
    _set_deleted(db, "plans", "Plan", hash, False)


def save_view(db: Database, view: Mapping[str, Any]) -> str:
    """Save the state of a page that is too long for a link; returns its hash."""
    key = short_hash(dict(view))
    row = [key, _now(), _text(view)]
    db.write(lambda cursor: cursor.execute("INSERT OR IGNORE INTO views VALUES (?, ?, ?)", row).rowcount)
    return key


def view(db: Database, hash: str) -> Body:
    """A saved view; raises PlannerError when the store has none with that hash."""
    return _body(db, "views", "View", hash)


def _rows(db: Database, query: str, deleted: bool) -> list[tuple[Any, ...]]:
    with db.read() as cursor:
        return cursor.execute(f"{query} ORDER BY created DESC, hash", [deleted]).fetchall()


def _body(db: Database, table: str, what: str, hash: str) -> Body:
    with db.read() as cursor:
        row = cursor.execute(f"SELECT body FROM {table} WHERE hash = ?", [hash]).fetchone()
    if row is None:
        raise _missing(what, hash)
    body: Body = json.loads(row[0])
    return body


def _rename(db: Database, table: str, what: str, hash: str, name: str) -> None:
    if not name.strip():
        raise PlannerError(f"A {what.lower()} needs a name: type at least one letter.")
    _update(db, table, what, hash, "name = ?", name.strip())


def _set_deleted(db: Database, table: str, what: str, hash: str, deleted: bool) -> None:
    _update(db, table, what, hash, "deleted = ?", deleted)


def _update(db: Database, table: str, what: str, hash: str, change: str, value: object) -> None:
    query = f"UPDATE {table} SET {change} WHERE hash = ? RETURNING hash"
    if not db.write(lambda cursor: cursor.execute(query, [value, hash]).fetchall()):
        raise _missing(what, hash)


def _undelete(cursor: Cursor, table: str, hash: str) -> None:
    cursor.execute(f"UPDATE {table} SET deleted = false WHERE hash = ? AND deleted", [hash])


def _missing(what: str, hash: str) -> PlannerError:
    return PlannerError(f"{what} {hash} is not in this workspace: open the link where it was saved, or make it again.")


def _text(body: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(body), allow_nan=False)
    except ValueError:
        raise ValueError("a saved result holds NaN or infinity; write null instead") from None


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
