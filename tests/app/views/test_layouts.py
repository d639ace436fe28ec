"""The page Data names the layout in which a table was read, and one click reads the rows unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from isoplan.app import workspace
from isoplan.engine.store.database.database import Database, open_workspace
from isoplan.engine.store.tables import tables
from tests.app.views.conftest import Open, told
from tests.engine.store.odd_tables import THIRTY, sheet_of


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with open_workspace(tmp_path) as database, workspace.registered(database):
        yield database


def test_one_click_reads_the_rows_unchanged_and_one_click_recognises_the_layout(db: Database, open_page: Open) -> None:
    pivot = tables.add(db, THIRTY[10].content(), "pivot.csv")
    tables.rename(db, pivot.id, "my sweep")
    assert (pivot.rows, pivot.layout) == (36, "a pivot table")
    at = open_page("data", table=pivot.id)
    assert any(note.startswith("Read as a pivot table") for note in pivot.notes)
    assert "Read rows unchanged" in [button.label for button in at.button]
    at.button(key=f"layout_button_{pivot.id}").click().run()
    assert told(at) == ""
    (plain,) = tables.all(db)
    assert (plain.name, plain.rows, plain.layout) == ("my sweep", 6, "plain")
    assert plain.id != pivot.id
    again = open_page("data", table=plain.id)
    assert "Recognise the layout" in [button.label for button in again.button]
    again.button(key=f"layout_button_{plain.id}").click().run()
    assert told(again) == ""
    assert [(t.id, t.rows, t.layout) for t in tables.all(db)] == [(pivot.id, 36, "a pivot table")]


def test_a_table_with_one_row_per_run_has_no_choice(db: Database, open_page: Open) -> None:
    table = tables.add(db, THIRTY[3].content(), "runs.csv")
    at = open_page("data", table=table.id)
    assert not any("layout" in str(button.key) for button in at.button)


def test_the_sheet_is_found_again_and_a_file_without_a_plain_reading_stays(db: Database, open_page: Open) -> None:
    titled = sheet_of([["Sweep"], ["N", "D", "loss"], [1e6, 2e7, 3.4], [4e6, 2e7, 3.1], [16e6, 8e7, 2.8]])
    table = tables.add(db, titled, "book.xlsx", sheet="Sheet")
    tables.rename(db, table.id, "renamed")
    at = open_page("data", table=table.id)
    at.button(key=f"layout_button_{table.id}").click().run()
    assert "book.xlsx has a row 2 in sheet Sheet that is wider than its header" in told(at)
    assert [(t.id, t.name) for t in tables.all(db)] == [(table.id, "renamed")]
