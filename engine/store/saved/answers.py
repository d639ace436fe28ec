"""Saved answers of the planner other than plans: each is stored as JSON with the link to compute it again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from isoplan.engine.planning.questions.declaration import find_questions
from isoplan.engine.store.database.database import Cursor, Database
from isoplan.engine.store.saved import saved_items
from isoplan.engine.store.saved.saved_items import as_text, now, short_hash

Query = dict[str, list[str]]


def list_kinds() -> tuple[str, ...]:
    """Return the kinds of answers: the questions of the planner, and the kinds with their own page or section."""
    return (*find_questions(), "recipe", "amplitude")


@dataclass(frozen=True)
class SavedAnswer:
    """An entry in the list of answers; ``query`` is the query string of its page as fields."""

    hash: str
    name: str
    kind: str
    sentence: str
    query: Query
    created: datetime


def save(db: Database, kind: str, body: Mapping[str, Any], sentence: str, query: Query, name: str = "") -> str:
    """Save an answer and return its hash, computed from content and link. ``name`` defaults to the sentence.

    An existing answer gets the new ``name``; a deleted one is restored.
    """
    text, link = as_text(body), as_text(query)
    key = short_hash(f"{kind}|{link}|{text}")
    row = [key, name.strip() or sentence, kind, sentence, link, now(), False, text]

    def change(cursor: Cursor) -> None:
        cursor.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        saved_items.take_back(cursor, "answers", key, name)

    db.write(change)
    return key


def all(db: Database, of: Sequence[str] = (), deleted: bool = False) -> list[SavedAnswer]:
    """Return the saved answers of the kinds ``of`` (default: all), newest first; with ``deleted`` the deleted ones."""
    query = (
        "SELECT hash, name, kind, sentence, query, created FROM answers WHERE deleted = ? AND list_contains(?, kind)"
    )
    return [
        SavedAnswer(hash, name, kind, sentence, json.loads(link), created)
        for hash, name, kind, sentence, link, created in saved_items.rows(
            db, query, [deleted, list(of or list_kinds())]
        )
    ]


def body(db: Database, hash: str) -> dict[str, Any]:
    """Return the JSON of a saved answer, deleted or not; raises PlannerError if the store has none with that hash."""
    return saved_items.body(db, "answers", "Answer", hash)


def rename(db: Database, hash: str, name: str) -> None:
    """Rename an answer."""
    saved_items.rename(db, "answers", "Answer", hash, name)


def delete(db: Database, hash: str) -> None:
    """Mark an answer as deleted; it can be restored."""
    saved_items.set_deleted(db, "answers", "Answer", hash, True)


def restore(db: Database, hash: str) -> None:
    """Restore a deleted answer."""
    saved_items.set_deleted(db, "answers", "Answer", hash, False)
