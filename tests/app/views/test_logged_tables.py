"""The Data page of a table of logged rows: new rows appear without a reload."""

from __future__ import annotations

from isoplan.app.views.tables import growing
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.logged_tables import Entry, table_of, take_in
from tests.app.views.conftest import Open, grid, told, written


def test_the_page_follows_a_table_of_logged_rows(db: Database, open_page: Open) -> None:
    rows = tuple({"run": f"r{i}", "N": 1e6 * 2**i, "D": 2e8, "loss": 3 - i / 10} for i in range(6))
    take_in(db, [Entry("1", "my runs", rows)])
    (table,) = tables.all(db)
    at = open_page("data", table=table.id)
    assert told(at) == ""
    assert "New rows appear when they are logged." in written(at)
    take_in(db, [Entry("2", "my runs", ({"run": "r6", "N": 6.4e7, "D": 2e8, "loss": 2.4}, {"run": "r0", "loss": 2.9}))])
    at.run()
    assert told(at) == ""
    assert tables.get(db, table_of("my runs")).rows == 8
    assert growing.grows(table)
    assert not growing.grows(tables.add(db, grid(), "own.csv"))
