"""Copies of the database are complete and consistent, even during writes. Errors name the damage."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database import backup, migration
from isoplan.engine.store.database.backup import contents_of, copy_closed, copy_open, differences
from isoplan.engine.store.database.damage import BACKUP_FILE, LastBackup, explain, last_backup, note_backup
from isoplan.engine.store.database.database import FILE, Database, WorkspaceInUse, open_workspace
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import tables
from tests.engine.store.conftest import GRID
from tests.engine.store.test_results import fitted

KILLED = """
import os, sys
from pathlib import Path
from isoplan.engine.store.database.database import open_workspace
from isoplan.engine.store.tables import tables
db = open_workspace(Path(sys.argv[1]))
db.write(lambda cursor: cursor.execute("SET GLOBAL checkpoint_threshold = '1GB'"))
tables.add(db, b"N,loss\\n1,2\\n3,4\\n", "late.csv")
os.kill(os.getpid(), 9)
"""
LAYOUT = (
    "SELECT table_name, column_name, data_type, column_default, is_nullable FROM duckdb_columns() "
    "WHERE database_name = current_database() ORDER BY ALL",
    "SELECT table_name, constraint_type, constraint_text FROM duckdb_constraints() "
    "WHERE database_name = current_database() ORDER BY ALL",
    "SELECT table_name, sql FROM duckdb_tables() WHERE database_name = current_database() ORDER BY ALL",
)


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """Return a folder with a space, quotes and non-ASCII letters in its name."""
    folder = tmp_path / 'it\'s "ours" ñ 日本'
    folder.mkdir()
    return folder


@contextmanager
def reading(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the database in a folder with DuckDB itself, read-only."""
    with duckdb.connect(str(folder / FILE), read_only=True) as connection:
        yield connection


def test_a_copy_has_every_table_with_its_rows_keys_and_defaults(odd: Path) -> None:
    copied = odd / "copy"
    copied.mkdir()
    with open_workspace(odd / "space") as db:
        table, made = fitted(db)
        key = results.save_fit(db, made, table_id=table.id)
        tables.withdraw(db, table.id, [3], "diverged")
        results.save_view(db, {"a": "it's"})
        contents = copy_open(db, copied / FILE)
        with db.read() as cursor:
            layout = [cursor.execute(query).fetchall() for query in LAYOUT]
            rows = cursor.execute(f"SELECT * FROM t_{table.id}").fetchall()
    assert (contents.run_tables, contents.rows, contents.fits, contents.layout) == (1, 16, 1, migration.SCHEMA)
    assert contents.tables["withdrawn"].rows == 1
    assert contents.tables[f"t_{table.id}"].rows == 16
    assert sorted(place.name for place in copied.iterdir()) == [FILE]
    assert differences(contents, contents_of(copied)) == []
    with reading(copied) as copy:
        assert [copy.execute(query).fetchall() for query in LAYOUT] == layout
        assert copy.execute(f"SELECT * FROM t_{table.id}").fetchall() == rows
    with open_workspace(copied) as db:
        assert [p.ci95 for p in results.fit(db, key).parameters] == [p.ci95 for p in made.parameters]
        with pytest.raises(duckdb.ConstraintException):
            db.write(lambda cursor: cursor.execute("INSERT INTO meta VALUES ('schema', '6')"))


def test_a_changed_row_is_a_difference(tmp_path: Path) -> None:
    with open_workspace(tmp_path) as db:
        tables.add(db, GRID.encode(), "runs.csv")
    before = contents_of(tmp_path)
    with open_workspace(tmp_path) as db:
        db.write(lambda cursor: cursor.execute("UPDATE tables SET name = 'other.csv'"))
    after = contents_of(tmp_path)
    assert differences(before, after) == ["tables"]
    assert differences(after, after) == []
    # If the hashes are from another version of DuckDB, only the numbers of rows are compared.
    assert differences(before.model_copy(update={"duckdb": "0.1"}), after) == []
    fewer = before.model_copy(update={"duckdb": "0.1", "tables": {**before.tables, "views": before.tables["meta"]}})
    assert differences(fewer, after) == ["views"]


def test_copies_are_of_one_moment_while_others_write(workspace: Database, tmp_path: Path) -> None:
    over = threading.Event()
    written: list[int] = []

    def write() -> None:
        while not over.is_set():
            k = len(written)

            def both(cursor: duckdb.DuckDBPyConnection, k: int = k) -> None:
                cursor.execute("INSERT INTO views VALUES (?, now()::TIMESTAMP, '{}')", [f"v{k}"])
                cursor.execute("INSERT INTO answers VALUES (?, '', '', '', '', now()::TIMESTAMP, false, '')", [f"a{k}"])

            workspace.write(both)
            written.append(k)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        copies = []
        for k in range(8):
            folder = tmp_path / f"copy{k}"
            folder.mkdir()
            least = len(written)
            copies.append((folder, copy_open(workspace, folder / FILE), least))
    finally:
        over.set()
        thread.join()
    for folder, contents, least in copies:
        assert contents.tables["views"].rows == contents.tables["answers"].rows >= least
        assert differences(contents, contents_of(folder)) == []
    rows = [contents.tables["views"].rows for _, contents, _ in copies]
    assert rows == sorted(rows)
    assert rows[-1] > rows[0]


def test_a_workspace_is_still_locked_after_a_copy(workspace: Database, tmp_path: Path) -> None:
    copy_open(workspace, tmp_path / FILE)
    assert workspace.folder is not None
    code = "import sys, duckdb\nduckdb.connect(sys.argv[1])"
    other = [sys.executable, "-c", code, str(workspace.folder / FILE)]
    assert "Could not set lock" in subprocess.run(other, capture_output=True, text=True, check=False).stderr
    with workspace.read() as cursor:
        names = [row[0] for row in cursor.execute("SELECT database_name FROM duckdb_databases()").fetchall()]
    assert sorted(names) == ["isoplan", "system", "temp"]


def test_what_a_killed_process_wrote_is_in_the_copy_and_the_original_is_not_changed(tmp_path: Path) -> None:
    space, copied = tmp_path / "space", tmp_path / "copy"
    copied.mkdir()
    subprocess.run([sys.executable, "-c", KILLED, str(space)], check=False)
    before = {place.name: place.read_bytes() for place in space.iterdir() if place.is_file()}
    assert before[f"{FILE}.wal"]
    contents = copy_closed(space, copied / FILE)
    assert (contents.run_tables, contents.rows) == (1, 2)
    assert {place.name: place.read_bytes() for place in space.iterdir() if place.is_file()} == before
    assert differences(contents, contents_of(copied)) == []


def test_an_older_layout_is_copied_as_it_is_and_a_newer_one_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_workspace(tmp_path / "space").close()
    copied = tmp_path / "copy"
    copied.mkdir()
    with monkeypatch.context() as newer:
        newer.setattr(migration, "SCHEMA", migration.SCHEMA + 1)
        assert copy_closed(tmp_path / "space", copied / FILE).layout == migration.SCHEMA - 1
    with duckdb.connect(str(tmp_path / "space" / FILE)) as connection:
        connection.execute(f"UPDATE meta SET value = '{migration.SCHEMA + 1}'")
    with pytest.raises(PlannerError, match="was written by a newer Isoplan"):
        copy_closed(tmp_path / "space", tmp_path / "other.duckdb")
    assert not (tmp_path / "other.duckdb").exists()


def test_a_workspace_without_a_database_is_copied_as_an_empty_one(tmp_path: Path) -> None:
    contents = copy_closed(tmp_path / "nowhere", tmp_path / FILE)
    assert (contents.run_tables, contents.rows, contents.fits) == (0, 0, 0)
    assert not (tmp_path / "nowhere").exists()
    with open_workspace(tmp_path) as db:
        assert tables.all(db) == []


def test_a_workspace_that_is_open_here_is_not_opened_a_second_time(workspace: Database, tmp_path: Path) -> None:
    assert workspace.folder is not None
    with pytest.raises(WorkspaceInUse):
        copy_closed(workspace.folder, tmp_path / FILE)


def test_an_open_workspace_keeps_room_for_its_own_writes(
    workspace: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "SPARE", 1e18)
    with pytest.raises(PlannerError, match="MB free and the copy of the database needs"):
        copy_open(workspace, tmp_path / FILE)
    assert not (tmp_path / FILE).exists()


def damage(place: Path, at: int) -> None:
    with place.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 0x55]))


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """Return a closed workspace with a recorded backup. Its database file has several storage blocks."""
    folder = tmp_path / "work space"
    with open_workspace(folder) as db:
        rows = "".join(f"r{i},{i},{i * i},{1 + 1 / (i + 1)}\n" for i in range(20_000))
        tables.add(db, f"run,N,D,loss\n{rows}".encode(), "runs.csv")
    note_backup(folder, LastBackup(path="/back ups/b.zip", created=datetime(2026, 11, 20, 14, 3, tzinfo=UTC)))
    return folder


ADVICE = (
    "Uploads and cells are separate files and are not affected. Rename the folder {0}. Restore the last backup: "
    "isoplan restore '/back ups/b.zip' --workspace '{0}' (2026-11-20 14:03 UTC, but this file no longer exists)."
)


@pytest.mark.parametrize("at", [5000, 300_000])
def test_a_damaged_block_is_named_with_the_last_backup(closed: Path, at: int) -> None:
    damage(closed / FILE, at)
    with pytest.raises(PlannerError) as error, open_workspace(closed) as db:
        tables.frame(db, tables.all(db)[0].id)
    text = str(error.value)
    assert text.startswith(f"{closed / FILE} is damaged: it is not a readable database (Corrupt database file")
    assert text.endswith(ADVICE.format(closed))
    assert "\n" not in text
    with pytest.raises(PlannerError, match="is damaged: it is not a readable database"):
        copy_closed(closed, closed.parent / "copy.duckdb")
    assert not (closed.parent / "copy.duckdb").exists()


def test_a_damaged_block_met_by_a_write_is_named_too(closed: Path) -> None:
    damage(closed / FILE, (closed / FILE).stat().st_size * 3 // 4)
    with open_workspace(closed) as db:
        key = tables.all(db)[0].id
        with pytest.raises(PlannerError, match="is damaged: it is not a readable database"):
            db.write(lambda cursor: cursor.execute(f"CREATE TABLE other AS SELECT hash(t) FROM t_{key} t"))


def test_a_truncated_database_is_named_with_the_last_backup(closed: Path) -> None:
    (closed / FILE).write_bytes((closed / FILE).read_bytes()[:10_000])
    with pytest.raises(PlannerError, match="is not a readable database") as error:
        open_workspace(closed)
    assert str(error.value).endswith(ADVICE.format(closed))


def test_a_damaged_wal_is_named_with_what_can_be_done(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    damage(tmp_path / f"{FILE}.wal", 200)
    for attempt in (lambda: open_workspace(tmp_path), lambda: copy_closed(tmp_path, tmp_path / "copy")):
        with pytest.raises(PlannerError) as error:
            attempt()
        text = str(error.value)
        assert text.startswith(f"{tmp_path / FILE}.wal is damaged (Failure while replaying WAL file: Corrupt WAL")
        assert text.endswith(
            "Move that file away: the database then opens as it was at its last checkpoint, without later changes."
        )
    note_backup(tmp_path, LastBackup(path="/back ups/b.zip", created=datetime(2026, 11, 20, 14, 3, tzinfo=UTC)))
    with pytest.raises(
        PlannerError, match=r"later changes\. Or restore a backup instead\. Rename the folder .*Restore the last backup"
    ):
        open_workspace(tmp_path)
    (tmp_path / f"{FILE}.wal").unlink()
    with open_workspace(tmp_path) as db:
        assert tables.all(db) == []


def test_without_a_backup_one_is_told_how_to_begin_again(closed: Path) -> None:
    (closed / BACKUP_FILE).unlink()
    (closed / FILE).write_bytes(b"x" * 50_000)
    with pytest.raises(PlannerError) as error:
        open_workspace(closed)
    assert f"No backup of this workspace is recorded: move {FILE} and {FILE}.wal out of {closed}" in str(error.value)
    (closed / FILE).unlink()
    open_workspace(closed).close()


@pytest.mark.parametrize("number", ["abc", "", "-1", "0", "6.0", "9" * 30])
def test_a_layout_that_is_no_number_is_one_sentence(tmp_path: Path, number: str) -> None:
    open_workspace(tmp_path).close()
    with duckdb.connect(str(tmp_path / FILE)) as connection:
        connection.execute("UPDATE meta SET value = ?", [number])
    for attempt in (lambda: open_workspace(tmp_path), lambda: copy_closed(tmp_path, tmp_path / "copy")):
        with pytest.raises(PlannerError, match=r"is not a number, so the database is damaged\. Uploads and cells"):
            attempt()


def test_other_errors_are_not_called_damage(workspace: Database, tmp_path: Path) -> None:
    damaged = tmp_path / "upload.duckdb"
    damaged.write_bytes(b"x" * 20_000)
    with workspace.read() as cursor, pytest.raises(duckdb.IOException, match="not a valid DuckDB database file"):
        cursor.execute(f"ATTACH '{damaged}' AS other (READ_ONLY)")
    assert explain(duckdb.IOException(f'The file "{damaged}" is not a valid DuckDB database file'), tmp_path) is None
    full = explain(duckdb.IOException('Could not write file "x": No space left on device'), tmp_path)
    assert str(full) == f"The disk of {tmp_path} is full: free some space and try again."
    shut = explain(duckdb.FatalException("FATAL Error: the database has been invalidated because of x"), tmp_path)
    assert "Check that its disk has room, then start Isoplan." in str(shut)


def test_a_damaged_record_of_a_backup_is_none(tmp_path: Path) -> None:
    assert last_backup(tmp_path) is None
    (tmp_path / BACKUP_FILE).write_text('{"path": 1')
    assert last_backup(tmp_path) is None


def test_an_upgrade_without_room_for_its_copy_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_workspace(tmp_path).close()
    before = (tmp_path / FILE).read_bytes()
    newer = migration.SCHEMA + 1
    monkeypatch.setattr(migration, "SCHEMA", newer)
    monkeypatch.setattr(migration, "MIGRATIONS", {newer - 1: ()})

    def full(_source: Path, target: Path) -> None:
        target.write_bytes(b"part")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copy2", full)
    with pytest.raises(PlannerError, match=r"the copy cannot be written \(No space left on device\)"):
        open_workspace(tmp_path)
    assert sorted(place.name for place in tmp_path.iterdir()) == [FILE]
    assert (tmp_path / FILE).read_bytes() == before
