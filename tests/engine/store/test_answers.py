"""Saved answers: keyed by content and link, listed by kind, removed and restored, also in older workspaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database import migration
from isoplan.engine.store.database.database import Database, open_workspace
from isoplan.engine.store.saved import answers

BODY = {"schema": 1, "sentence": "Repeat.", "numbers": [1, 2.5, None]}
LINK = {"question": ["Simulate or repeat"], "limits": ["hours", "money"]}


def test_an_answer_comes_back_with_its_link(db: Database) -> None:
    key = answers.save(db, "repeat", BODY, "Repeat.", LINK)
    (saved,) = answers.all(db)
    assert (saved.hash, saved.name, saved.kind, saved.sentence) == (key, "Repeat.", "repeat", "Repeat.")
    assert saved.query == LINK
    assert answers.body(db, key) == BODY
    assert answers.save(db, "repeat", BODY, "Repeat.", LINK, "For the talk") == key
    assert answers.save(db, "repeat", BODY, "Repeat.", LINK) == key
    assert [one.name for one in answers.all(db)] == ["For the talk"]
    assert answers.save(db, "repeat", BODY, "Repeat.", {"question": ["other"]}) != key


def test_answers_are_listed_by_kind_newest_first(db: Database) -> None:
    for name, kind in (("one", "repeat"), ("two", "recipe"), ("three", "repeat")):
        answers.save(db, kind, BODY | {"name": name}, "Said.", LINK, name)
    assert [one.name for one in answers.all(db, ["repeat"])] == ["three", "one"]
    assert [one.name for one in answers.all(db)] == ["three", "two", "one"]
    assert answers.all(db, ["smaller", "amplitude"]) == []


def test_an_answer_is_renamed_deleted_and_restored(db: Database) -> None:
    key = answers.save(db, "amplitude", BODY, "Said.", LINK, "first")
    answers.rename(db, key, " second ")
    answers.delete(db, key)
    assert answers.all(db) == []
    assert [one.name for one in answers.all(db, deleted=True)] == ["second"]
    answers.restore(db, key)
    assert [one.name for one in answers.all(db)] == ["second"]
    answers.delete(db, key)
    answers.save(db, "amplitude", BODY, "Said.", LINK)
    assert [one.name for one in answers.all(db)] == ["second"]
    with pytest.raises(PlannerError, match="The answer needs a name"):
        answers.rename(db, key, " ")
    for ask in (answers.body, answers.delete, answers.restore):
        with pytest.raises(PlannerError, match="Answer nowhere is not in this workspace"):
            ask(db, "nowhere")


def test_a_workspace_of_the_layout_before_gets_answers(tmp_path: Path) -> None:
    with open_workspace(tmp_path) as db:

        def age(cursor: object) -> None:
            for later in ("answers", "cells"):
                cursor.execute(f"DROP TABLE {later}")  # type: ignore[attr-defined]
            cursor.execute("UPDATE meta SET value = '4' WHERE key = 'schema'")  # type: ignore[attr-defined]

        db.write(age)
    with open_workspace(tmp_path) as db:
        key = answers.save(db, "smaller", BODY, "Said.", LINK)
        assert answers.body(db, key) == BODY
        with db.read() as cursor:
            assert migration.schema_of(cursor) == migration.SCHEMA
    assert (tmp_path / "isoplan.layout4.duckdb").exists()
