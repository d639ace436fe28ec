"""Tables of logged rows: new runs, updates, changed mappings, values of other types, entries that come twice."""

from __future__ import annotations

from typing import Any

import pytest

from isoplan.engine.schema import Roles
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import snapshots, tables
from isoplan.engine.store.tables.logged_tables import Entry, is_logged, table_of, take_in
from isoplan.engine.store.tables.updated_runs import REPLACED

KEY = table_of("my runs")
FRAME = ["run", "N", "D", "loss"]


def take(db: Database, name: str, *rows: dict[str, Any], table: str = "my runs") -> int:
    return take_in(db, [Entry(name, table, rows)])


def row(run: str, N: float = 1e6, **more: Any) -> dict[str, Any]:
    return {"run": run, "N": N, "D": 20 * N, "loss": 2 + 1e3 / N**0.5, **more}


def active(db: Database) -> dict[str, float]:
    """Return the loss of each run that a fit reads."""
    runs = snapshots.runs(db, snapshots.take(db, KEY))
    return dict(zip(runs.labels["run"].tolist(), runs["loss"].tolist(), strict=True))


def test_the_first_row_creates_the_table_and_later_runs_are_rows(db: Database) -> None:
    assert take(db, "1", row("a"), row("b", 4e6)) == 2
    assert take(db, "2", row("c/1 x", 1.6e7)) == 1
    (table,) = tables.all(db)
    assert (table.id, table.name, table.rows, is_logged(table)) == (KEY, "my runs", 3, True)
    assert tables.frame(db, KEY).columns.tolist() == ["row id", *FRAME]
    assert tables.roles(db, KEY) == Roles(N="N", D="D", loss="loss", run="run")
    assert active(db) == {"a": 3.0, "b": 2.5, "c/1 x": 2.25}


def test_a_later_row_of_a_run_updates_it_and_no_stored_value_changes(db: Database) -> None:
    take(db, "1", row("a"), row("b"))
    snapshot = snapshots.take(db, KEY)
    take(db, "2", {"run": "a", "loss": 1.5, "note": "more"}, {"run": "a", "loss": 1.25})
    assert active(db) == {"a": 1.25, "b": 3.0}
    assert tables.frame(db, KEY)["N"].tolist() == [1e6, 1e6, 1e6]
    assert [(at, why) for at, why, _ in tables.withdrawn(db, KEY)] == [(0, REPLACED)]
    assert snapshots.runs(db, snapshot)["loss"].tolist() == [3.0, 3.0]
    take(db, "3", {"run": "a", "loss": 1.25}, {"run": "a", "N": 1e6})
    assert tables.get(db, KEY).rows == 3, "a row that changes nothing is not stored"
    take(db, "4", {"run": "a", "loss": None})
    assert active(db) == {"b": 3.0}


def test_an_entry_that_comes_twice_counts_once(db: Database) -> None:
    entries = [Entry("1", "my runs", ({"loss": 1.0},)), Entry("2", "other", ({"loss": 2.0}, {"loss": 2.0}))]
    assert take_in(db, entries) == 3
    assert take_in(db, [*entries, Entry("3", "other", ({"loss": 3.0},))]) == 1
    assert {table.name: table.rows for table in tables.all(db)} == {"my runs": 1, "other": 3}
    assert take_in(db, entries[:1], forget="9") == 0, "the name of a file that still exists is not forgotten"
    assert take_in(db, entries[1:2]) == 2, "the name of another file is forgotten"


def test_a_row_that_the_user_excluded_stays_excluded(db: Database) -> None:
    take(db, "1", row("a"), row("b"))
    tables.withdraw(db, KEY, [0], "wrong data")
    take(db, "2", {"run": "a", "loss": 9.0})
    assert active(db) == {"b": 3.0}
    assert [(at, why) for at, why, _ in tables.withdrawn(db, KEY)] == [(0, "wrong data"), (2, "wrong data")]


def test_the_mapping_follows_the_names_until_the_user_changes_it(db: Database) -> None:
    take(db, "1", {"run": "a", "train_loss": 3.0})
    assert tables.roles(db, KEY).loss == "train_loss"
    take(db, "2", {"run": "b", "val_loss": 3.1, "N": 1e6})
    assert (tables.roles(db, KEY).loss, tables.roles(db, KEY).N) == ("val_loss", "N")
    tables.set_roles(db, KEY, Roles(loss="train_loss", run="run"))
    take(db, "3", {"run": "c", "D": 1e8, "accuracy": 0.5})
    changed = tables.roles(db, KEY)
    assert (changed.loss, changed.N, changed.D, changed.metrics[0].column) == ("train_loss", None, "D", "accuracy")


def test_a_value_of_another_type_gets_a_column_and_an_update_removes_it(db: Database) -> None:
    take(db, "1", {"run": "a", "lr": 0.1, "loss": 1.0})
    take(db, "2", {"run": "b", "lr": "cosine", "loss": 2.0})
    take(db, "3", {"run": "b", "lr": 0.2})
    frame = tables.frame(db, KEY)
    assert frame["lr"].fillna(-1).tolist() == [0.1, -1, 0.2]
    assert frame["lr (text)"].fillna("").tolist() == ["", "cosine", ""]


@pytest.mark.parametrize("name", ["'; DROP TABLE tables; --", "a/b c", "表", "x" * 200])
def test_names_of_tables_and_columns_are_free(db: Database, name: str) -> None:
    assert take(db, "1", {"run": name, name: 1.0, "loss": 2.0}, table=name) == 1
    (table,) = tables.all(db)
    assert table.name == name
    assert tables.frame(db, table.id)[name].tolist() == [1.0]


def test_a_deleted_table_comes_back_with_the_next_row(db: Database) -> None:
    take(db, "1", row("a"))
    tables.delete(db, KEY)
    take(db, "2", row("b"))
    assert [table.rows for table in tables.all(db)] == [2]
