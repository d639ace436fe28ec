"""Saved answers: identity by content and link, lists by kind, deletion, restoration, workspaces of older versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database import migration
from isoplan.engine.store.database.database import Database, open_workspace
from isoplan.engine.store.saved import results, saved_items

BODY = {"schema": 1, "sentence": "Repeat.", "numbers": [1, 2.5, None]}
LINK = {"question": ["Simulate or repeat"], "limits": ["hours", "money"]}


def test_an_answer_comes_back_with_its_link(db: Database) -> None:
    key = results.save_answer(db, "repeat", BODY, "Repeat.", LINK)
    (saved,) = results.answers(db)
    assert (saved.hash, saved.name, saved.kind, saved.sentence) == (key, "Repeat.", "repeat", "Repeat.")
    assert saved.query == LINK
    assert results.answer(db, key) == BODY
    assert results.save_answer(db, "repeat", BODY, "Repeat.", LINK, "For the talk") == key
    assert results.save_answer(db, "repeat", BODY, "Repeat.", LINK) == key
    assert [one.name for one in results.answers(db)] == ["For the talk"]
    assert results.save_answer(db, "repeat", BODY, "Repeat.", {"question": ["other"]}) != key


def test_answers_are_listed_by_kind_newest_first(db: Database) -> None:
    for name, kind in (("one", "repeat"), ("two", "recipe"), ("three", "repeat")):
        results.save_answer(db, kind, BODY | {"name": name}, "Said.", LINK, name)
    assert [one.name for one in results.answers(db, ["repeat"])] == ["three", "one"]
    assert [one.name for one in results.answers(db)] == ["three", "two", "one"]
    assert results.answers(db, ["smaller", "amplitude"]) == []


def test_an_answer_is_renamed_deleted_and_restored(db: Database) -> None:
    key = results.save_answer(db, "amplitude", BODY, "Said.", LINK, "first")
    saved_items.rename(db, "answers", key, " second ")
    saved_items.delete(db, "answers", key)
    assert results.answers(db) == []
    assert [one.name for one in results.answers(db, deleted=True)] == ["second"]
    saved_items.restore(db, "answers", key)
    assert [one.name for one in results.answers(db)] == ["second"]
    saved_items.delete(db, "answers", key)
    results.save_answer(db, "amplitude", BODY, "Said.", LINK)
    assert [one.name for one in results.answers(db)] == ["second"]
    with pytest.raises(PlannerError, match="The answer needs a name"):
        saved_items.rename(db, "answers", key, " ")
    for ask in (saved_items.body, saved_items.delete, saved_items.restore):
        with pytest.raises(PlannerError, match="Answer nowhere is not in this workspace"):
            ask(db, "answers", "nowhere")


def test_a_workspace_of_the_layout_before_gets_answers(tmp_path: Path) -> None:
    with open_workspace(tmp_path) as db:

        def age(cursor: object) -> None:
            for later in ("answers", "cells", "logged", "imports"):
                cursor.execute(f"DROP TABLE {later}")  # type: ignore[attr-defined]
            cursor.execute("UPDATE meta SET value = '4' WHERE key = 'schema'")  # type: ignore[attr-defined]

        db.write(age)
    with open_workspace(tmp_path) as db:
        key = results.save_answer(db, "smaller", BODY, "Said.", LINK)
        assert results.answer(db, key) == BODY
        with db.read() as cursor:
            assert migration.schema_of(cursor) == migration.SCHEMA
    assert (tmp_path / "isoplan.layout4.duckdb").exists()
