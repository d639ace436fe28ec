"""The database file: its lock, its owner, its layout, and many concurrent writers."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.store.database import cell_index, migration
from isoplan.engine.store.database.database import (
    FILE,
    OWNER_FILE,
    Database,
    Owner,
    memory,
    open_workspace,
    owner,
    process_start,
    this_process,
)
from isoplan.engine.store.saved import results, saved_items
from isoplan.engine.store.tables import snapshots, tables
from tests.engine.store.conftest import GRID

HOLD = """
import sys
from pathlib import Path
from isoplan.engine.store.database.database import open_workspace
db = open_workspace(Path(sys.argv[1]), url="http://localhost:8777")
print("open", flush=True)
sys.stdin.read()
"""
HOLD_FILE = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""


@contextmanager
def other_process(code: str, argument: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", code, str(argument)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_second_process_is_told_who_has_the_workspace(tmp_path: Path) -> None:
    with other_process(HOLD, tmp_path) as process:
        with pytest.raises(PlannerError) as error:
            open_workspace(tmp_path)
        message = str(error.value)
        assert "http://localhost:8777" in message
        assert f"process {process.pid} on {socket.gethostname()}" in message
        assert "\n" not in message
        process.kill()
        process.wait()
        stale = owner(tmp_path)
        assert stale is not None
        assert not stale.alive
        with open_workspace(tmp_path, url="http://localhost:1") as db:
            assert tables.all(db) == []
            now = owner(tmp_path)
            assert now == this_process("http://localhost:1")
    assert owner(tmp_path) is None


def test_a_file_that_another_program_holds_is_said_in_a_sentence(tmp_path: Path) -> None:
    open_workspace(tmp_path).close()
    with other_process(HOLD_FILE, tmp_path / FILE) as process:
        with pytest.raises(PlannerError, match=f"is locked by process {process.pid}"):
            open_workspace(tmp_path)
        # This owner record is outdated, although its pid is that of a living process. The error does not name this pid.
        record = Owner(pid=os.getpid(), host=socket.gethostname(), start="long ago", url="http://old")
        (tmp_path / OWNER_FILE).write_text(record.model_dump_json())
        with pytest.raises(PlannerError, match=f"is locked by process {process.pid}"):
            open_workspace(tmp_path)


def test_the_same_process_opens_a_workspace_once(tmp_path: Path) -> None:
    with open_workspace(tmp_path), pytest.raises(PlannerError, match=f"process {os.getpid()} on"):
        open_workspace(tmp_path)
    open_workspace(tmp_path).close()


def test_owners_tell_a_process_from_a_later_one_with_its_pid() -> None:
    mine = this_process("http://x")
    assert mine.alive
    assert not mine.model_copy(update={"start": "1"}).alive
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert process_start(ended.pid) is None
    assert not mine.model_copy(update={"pid": ended.pid}).alive


@pytest.mark.parametrize("content", ["", "{", '{"pid": "x"}'])
def test_a_damaged_owner_file_is_no_owner(tmp_path: Path, content: str) -> None:
    (tmp_path / OWNER_FILE).write_text(content)
    assert owner(tmp_path) is None
    open_workspace(tmp_path).close()


def test_what_cannot_be_opened_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(PlannerError, match="cannot be created"):
        open_workspace(tmp_path / "file" / "workspace")
    (tmp_path / FILE).write_text("no database" * 1000)
    with pytest.raises(PlannerError, match="is not a readable database"):
        open_workspace(tmp_path)
    (tmp_path / FILE).unlink()
    with duckdb.connect(str(tmp_path / FILE)) as stranger:
        stranger.execute("CREATE TABLE mine (a INTEGER)")
    with pytest.raises(PlannerError, match="was not written by Isoplan"):
        open_workspace(tmp_path)


def test_what_is_written_is_there_after_the_process_was_killed(tmp_path: Path) -> None:
    code = HOLD.replace(
        'print("open"',
        'from isoplan.engine.store.tables import tables\ntables.add(db, b"N,loss\\n1,2\\n", "a.csv")\nprint("open"',
    )
    with other_process(code, tmp_path) as process:
        process.kill()
        process.wait()
    with open_workspace(tmp_path) as db:
        assert [t.name for t in tables.all(db)] == ["a.csv"]
        assert tables.frame(db, tables.all(db)[0].id)["loss"].tolist() == [2]


def test_an_older_layout_is_migrated_and_a_copy_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_workspace(tmp_path) as db:
        table = tables.add(db, GRID.encode(), "runs.csv")
    newer = migration.SCHEMA + 1
    monkeypatch.setattr(migration, "SCHEMA", newer)
    steps = {newer - 1: ("ALTER TABLE tables ADD COLUMN starred BOOLEAN DEFAULT false",)}
    monkeypatch.setattr(migration, "MIGRATIONS", steps)
    with open_workspace(tmp_path) as db, db.read() as cursor:
        assert cursor.execute("SELECT starred FROM tables").fetchall() == [(False,)]
        assert migration.schema_of(cursor) == newer
        assert tables.get(db, table.id).rows == 16
    kept = tmp_path / f"isoplan.layout{newer - 1}.duckdb"
    with duckdb.connect(str(kept), read_only=True) as old:
        assert migration.schema_of(old) == newer - 1
    monkeypatch.undo()
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(PlannerError, match=f"written by a newer Isoplan .layout {newer}; this version reads up to"):
        open_workspace(tmp_path)
    assert (tmp_path / FILE).read_bytes() == before
    assert owner(tmp_path) is None


# SQL that converts a database of layout n + 1 to layout n, for each n.
EARLIER = {
    7: ("ALTER TABLE tables DROP COLUMN layout",),
    6: ("DROP TABLE logged", "DROP TABLE imports"),
    5: ("DROP TABLE cells",),
    4: ("DROP TABLE answers",),
    3: ("DROP TABLE actuals",),
    2: ("ALTER TABLE fits DROP COLUMN note",),
    1: ("ALTER TABLE tables DROP COLUMN kind", "ALTER TABLE tables DROP COLUMN runs_id"),
}


@pytest.mark.parametrize("layout", EARLIER)
def test_a_workspace_of_any_earlier_layout_opens_with_all_its_content(tmp_path: Path, layout: int) -> None:
    with open_workspace(tmp_path) as db:
        table = tables.add(db, GRID.encode(), "runs.csv")
        tables.withdraw(db, table.id, [3], "diverged")
        made = fit(FitSpec(objective="ols-log", bootstrap=0), snapshots.runs(db, snapshots.take(db, table.id)))
        results.save_fit(db, made, name="mine", table_id=table.id)
        view = results.save_view(db, {"page": "fit"})
        before = tables.frame(db, table.id)
    with duckdb.connect(str(tmp_path / FILE)) as connection:
        for number in range(migration.SCHEMA - 1, layout - 1, -1):
            for statement in EARLIER[number]:
                connection.execute(statement)
        connection.execute(f"UPDATE meta SET value = '{layout}' WHERE key = 'schema'")
    with open_workspace(tmp_path) as db:
        with db.read() as cursor:
            assert migration.schema_of(cursor) == migration.SCHEMA
        assert [(t.name, t.rows, t.kind, t.runs_id) for t in tables.all(db)] == [("runs.csv", 16, "runs", "")]
        assert tables.frame(db, table.id).equals(before)
        (saved,) = results.fits(db)
        assert (saved.name, saved.note, saved.table_id) == ("mine", "", table.id)
        assert results.fit(db, saved.hash).theta.tolist() == made.theta.tolist()
        assert results.view(db, view) == {"page": "fit"}
        saved_items.rename(db, "fits", saved.hash, "after the migration")
        results.note_fit(db, saved.hash, "a note")
        key = results.save_answer(db, "smaller", {"a": 1}, "Said.", {})
        assert results.answer(db, key) == {"a": 1}
        assert results.actuals(db) == []
        assert cell_index.index(db) == {}
    assert (tmp_path / f"isoplan.layout{layout}.duckdb").exists()


def test_tables_of_an_earlier_version_are_retired_and_the_others_stay() -> None:
    with memory() as db:
        old, kept = (tables.add(db, f"N,loss\n{n},2\n".encode(), f"{n}.csv", read_only=True) for n in (1, 2))
        own = tables.add(db, b"N,loss\n3,2\n", "own.csv")
        tables.retire(db, [kept.id])
        assert {t.id for t in tables.all(db)} == {kept.id, own.id}
        assert [t.id for t in tables.all(db, deleted=True)] == [old.id]
        assert tables.frame(db, old.id)["N"].tolist() == [1]


def test_a_migration_that_fails_leaves_the_old_layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_workspace(tmp_path).close()
    newer = migration.SCHEMA + 1
    monkeypatch.setattr(migration, "SCHEMA", newer)
    bad = ("ALTER TABLE tables ADD COLUMN starred BOOLEAN", "ALTER TABLE nowhere ADD COLUMN x INTEGER")
    monkeypatch.setattr(migration, "MIGRATIONS", {newer - 1: bad})
    with pytest.raises(duckdb.CatalogException):
        open_workspace(tmp_path)
    monkeypatch.undo()
    open_workspace(tmp_path).close()


def test_a_write_is_all_or_nothing_and_collisions_are_tried_again(db: Database) -> None:
    def half(cursor: duckdb.DuckDBPyConnection) -> None:
        cursor.execute("INSERT INTO views VALUES ('a', now(), '{}')")
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        db.write(half)
    attempts = []

    def collides(cursor: duckdb.DuckDBPyConnection) -> int:
        attempts.append(1)
        if len(attempts) < 3:
            raise duckdb.TransactionException("conflict")
        return 7

    assert db.write(collides) == 7
    with db.read() as cursor:
        assert cursor.execute("SELECT count(*) FROM views").fetchone() == (0,)
    with pytest.raises(RuntimeError, match="inside another write"):
        db.write(lambda _: db.write(lambda cursor: None))


def test_a_closed_store_says_so(db: Database) -> None:
    other = memory()
    other.close()
    other.close()
    with pytest.raises(PlannerError, match="The workspace is closed"):
        tables.all(other)


def test_ten_sessions_import_map_and_save_at_once(workspace: Database) -> None:
    start = threading.Barrier(10)

    def session(k: int) -> tuple[str, str]:
        start.wait()
        own = tables.add(workspace, (GRID + f"x,1e9,1e9,{k + 1}\n").encode(), f"runs {k}.csv")
        both = tables.add(workspace, GRID.encode(), "same.csv")
        tables.set_roles(workspace, own.id, tables.roles(workspace, own.id).model_copy(update={"repeats": "mean"}))
        tables.withdraw(workspace, own.id, [k], "test")
        snapshot = snapshots.take(workspace, own.id)
        assert len(snapshots.runs(workspace, snapshot)) == 16
        results.save_view(workspace, {"k": k, "snapshot": snapshot.hash})
        return own.id, both.id

    with ThreadPoolExecutor(10) as pool:
        done = list(pool.map(session, range(10)))
    assert len({own for own, _ in done}) == 10
    assert len({both for _, both in done}) == 1
    assert len(tables.all(workspace)) == 11
    with workspace.read() as cursor:
        assert cursor.execute("SELECT count(*) FROM snapshots").fetchone() == (10,)
        assert cursor.execute("SELECT count(*) FROM views").fetchone() == (10,)
        bodies = [json.loads(row[0])["k"] for row in cursor.execute("SELECT body FROM views").fetchall()]
    assert sorted(bodies) == list(range(10))
