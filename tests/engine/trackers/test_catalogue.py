"""The source of a place, and databases of trackers."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.catalogue import as_path
from isoplan.engine.trackers.formats.sqlite import has_tables, opened
from isoplan.engine.trackers.reading import import_runs


def test_storage_addresses_of_files() -> None:
    """Addresses of SQLite files and local files become paths."""
    assert as_path("sqlite:///a b/runs.db") == "a b/runs.db"
    assert as_path("sqlite+pysqlite:////data/runs.db") == "/data/runs.db"
    assert as_path("file:///data/mlruns") == "/data/mlruns"


def test_database_server() -> None:
    """The error does not repeat the address, which can contain a password."""
    with pytest.raises(PlannerError, match=r"^postgresql://: Isoplan does not read database servers") as caught:
        import_runs("postgresql://user:secret@server/studies")
    assert "secret" not in str(caught.value)


def test_tables_are_not_stores(tmp_path: Path) -> None:
    """An export of a page of a tracker is a table of runs: the message names the command that reads it."""
    (tmp_path / "Export.CSV").write_text("Name,params,tokens,val_loss\na,1e6,1e9,3\n")
    with pytest.raises(PlannerError, match=r"Export\.CSV is a table, .*: fit it with isoplan fit, or upload it"):
        import_runs(str(tmp_path / "Export.CSV"))


def test_databases_are_opened_for_reading_only(tmp_path: Path) -> None:
    """A statement that writes is refused, and views are not tables."""
    file = tmp_path / "a #1?.db"
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE trials (number)")
        database.execute("CREATE VIEW studies AS SELECT * FROM trials")
    assert has_tables(file, "trials")
    assert not has_tables(file, "trials", "studies")
    with opened(file) as reading, pytest.raises(sqlite3.OperationalError, match="readonly"):
        reading.execute("INSERT INTO trials VALUES (1)")
    file.write_bytes(file.read_bytes()[:4096] + b"x" * 4096)
    with pytest.raises(PlannerError, match="cannot be read"), opened(file) as reading:
        reading.execute("SELECT * FROM trials")


def test_databases_whose_log_cannot_be_made(tmp_path: Path) -> None:
    """A database in WAL mode is read without its log if the log is empty, as in a folder that is read-only."""
    file = tmp_path / "runs.db"
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE trials (number)")
    (tmp_path / "runs.db-shm").mkdir()
    assert has_tables(file, "trials")
    (tmp_path / "runs.db-wal").write_bytes(b"x" * 100)
    with pytest.raises(PlannerError, match=r"runs\.db cannot be read \("), opened(file):
        pass
