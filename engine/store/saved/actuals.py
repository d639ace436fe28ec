"""What came of saved plans: actual results, each kept beside its plan under the hash of both."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.actual.outcome import Actual, read_actual
from isoplan.engine.store.database.database import Cursor, Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.saved.bodies import as_text, now, short_hash


@dataclass(frozen=True)
class SavedActual:
    """An actual result and the plan that it belongs to."""

    id: str
    plan_hash: str
    created: datetime
    actual: Actual


def save(db: Database, plan_hash: str, actual: Actual) -> str:
    """Keep ``actual`` beside a saved plan and return its id; one that was deleted comes back.

    A plan may have several: runs with other seeds. Raises PlannerError where the store has no such plan.
    """
    results.plan(db, plan_hash)
    body = as_text(actual.to_json())
    key = short_hash(f"{plan_hash}|{body}")
    row = [key, plan_hash, now(), False, body]

    def change(cursor: Cursor) -> None:
        cursor.execute("INSERT OR IGNORE INTO actuals VALUES (?, ?, ?, ?, ?)", row)
        cursor.execute("UPDATE actuals SET deleted = false WHERE id = ? AND deleted", [key])

    db.write(change)
    return key


def all(db: Database, deleted: bool = False) -> list[SavedActual]:
    """The results of every plan that is not deleted, oldest first; with ``deleted`` the deleted ones."""
    query = (
        "SELECT a.id, a.plan_hash, a.created, a.body FROM actuals a JOIN plans p ON p.hash = a.plan_hash "
        "WHERE a.deleted = ? AND NOT p.deleted ORDER BY a.created, a.id"
    )
    with db.read() as cursor:
        rows = cursor.execute(query, [deleted]).fetchall()
    return [SavedActual(id, of, created, read_actual(json.loads(body))) for id, of, created, body in rows]


def delete(db: Database, id: str) -> None:
    """Put a result away; it can be restored."""
    _set_deleted(db, id, True)


def restore(db: Database, id: str) -> None:
    """Bring a deleted result back."""
    _set_deleted(db, id, False)


def _set_deleted(db: Database, id: str, deleted: bool) -> None:
    query = "UPDATE actuals SET deleted = ? WHERE id = ? RETURNING id"
    if not db.write(lambda cursor: cursor.execute(query, [deleted, id]).fetchall()):
        raise PlannerError(f"The result {id} is not in this workspace: record it again beside its plan.")
