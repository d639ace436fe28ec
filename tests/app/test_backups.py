"""Tests of backups while an app has the workspace open: training continues, and no temporary files remain."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from isoplan.app.backups import requests
from isoplan.app.backups.requests import BEAT, FOLDER, answering, database_copy
from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database import backup, cell_index
from isoplan.engine.store.database.backup import contents_of, differences
from isoplan.engine.store.database.damage import FILE, last_backup
from isoplan.engine.store.database.database import Database, open_workspace, process_start, this_process
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import tables
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import launch, read_sweeps
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import make_grid
from tests import progress
from tests.app.terminal.asking import ISOPLAN, object_in, process
from tests.engine.store.test_results import fitted
from tests.server import forked, log_of, rows_taken
from tests.trainers.conftest import ROOT, run_all, wait_for, workspace

HERE = {"PYTHONPATH": str(ROOT)}
KEY = cell_index.table_of("counter")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Create a workspace with a table and a fit, and return its path, which has a space and a quote."""
    space = workspace(tmp_path / "it's a space")
    with open_workspace(space) as db:
        table, made = fitted(db)
        results.save_fit(db, made, table_id=table.id)
    return space


def backed_up(root: Path, file: Path) -> dict[str, object]:
    done = process("backup", file, "--workspace", root, "--json")
    assert done.returncode == 0, done.stderr
    return object_in(done.stdout)


def restored(file: Path, root: Path) -> Path:
    done = process("restore", file, "--workspace", root)
    assert done.returncode == 0, done.stderr
    return root


def test_cells_train_on_and_the_copy_has_one_moment_of_them(root: Path, tmp_path: Path) -> None:
    """Cells train and rows are added during three backups. Every copy is consistent and can continue to train."""
    family = find_family("counter", root)
    grid = make_grid(family, {"size": list(range(1, 9)), "steps": 20, "wait": 0.2})
    sweep = launch(root, grid, family)
    with forked(root, env=HERE) as server:
        files = []
        for k in (1, 3, 5):
            wait_for(lambda found, k=k: sum(r.state == "done" for r in found.values()) >= k, root)  # type: ignore[misc]
            progress.wait(lambda k=k: rows_taken(root) >= k, root)  # type: ignore[misc]
            made = backed_up(root, tmp_path / f"{k}.zip")
            files.append((k, tmp_path / f"{k}.zip", made))
        assert "the database was copied for a backup by process" in log_of(root)
        ends = wait_for(lambda found: all(r.state == "done" for r in found.values()), root)
        progress.wait(lambda: rows_taken(root) == 8, root)
        assert server.process.poll() is None
    assert [record.number for record in ends.values()] == [1] * 8
    assert not (root / FOLDER).exists()
    for k, file, made in files:
        copy = restored(file, tmp_path / f"copy {k}")
        found = Queue(copy).scan()
        states = [record.state for record in found.values()]
        assert made["cells"] == {state: states.count(state) for state in sorted(set(states))}
        assert set(states) <= {"done", "queued"}
        assert states.count("done") >= k
        assert [s.cells for s in read_sweeps(copy)] == [sweep.cells]
        with open_workspace(copy) as db:
            rows = tables.frame(db, KEY)
            assert len(rows) >= k
            assert {found[str(name)].state for name in rows["run"]} == {"done"}
            assert results.rebuild(db, results.fits(db)[0].hash).startswith("Fitted again from its specification")
    running = [r for r in Queue(tmp_path / "copy 1").scan().values() if r.state == "queued" and r.number]
    assert running
    again = run_all(tmp_path / "copy 1")
    assert {record.state for record in again.values()} == {"done"}
    for record in running:
        after = again[record.name]
        assert after.number == 2
        assert after.result is not None
        assert after.result["metrics"]["loss"] == ends[record.name].result["metrics"]["loss"]  # type: ignore[index]
    assert {r.name for r in Queue(root).scan().values()} == set(sweep.cells)


def test_a_shared_app_gives_copies_to_several_at_once(root: Path, tmp_path: Path) -> None:
    with forked(root, "--shared", env=HERE):
        assert (root / FOLDER).stat().st_mode & 0o777 == 0o700
        with ThreadPoolExecutor(3) as pool:
            made = list(pool.map(lambda k: backed_up(root, tmp_path / f"{k}.zip"), range(3)))
        assert [place.name for place in (root / FOLDER).iterdir()] == [BEAT]
    assert all(one["tables"] == made[0]["tables"] and one["fits"] == 1 for one in made)
    record = last_backup(root)
    assert record is not None
    assert Path(record.path) in {tmp_path / f"{k}.zip" for k in range(3)}
    whole = contents_of(root)
    for k in range(3):
        copy = restored(tmp_path / f"{k}.zip", tmp_path / f"copy{k}")
        assert differences(whole, contents_of(copy)) == []


def test_the_command_copies_by_itself_when_the_app_dies_meanwhile(root: Path, tmp_path: Path) -> None:
    command = [*ISOPLAN, "backup", str(tmp_path / "b.zip"), "--workspace", str(root)]
    with forked(root, env=HERE) as server:
        server.process.send_signal(signal.SIGSTOP)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as asked:
            progress.wait(lambda: list((root / FOLDER).glob("*.ask")), root)
            server.process.kill()
            out, err = progress.heard(asked)
    assert (asked.returncode, err) == (0, "")
    assert ", 1 fit and 0 cells, " in out
    assert not list((root / FOLDER).glob("*.ask"))
    restored(tmp_path / "b.zip", tmp_path / "new")


@pytest.fixture
def db(root: Path) -> Iterator[Database]:
    """Open the database of ``root`` in this process."""
    with open_workspace(root, url="http://localhost:8501") as database:
        yield database


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "LOOK", 0.02)
    monkeypatch.setattr(requests, "POLL", 0.02)


@pytest.mark.usefixtures("quick")
def test_an_app_that_does_not_answer_is_named(
    root: Path, db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert db.folder == root
    monkeypatch.setattr(requests, "STILL", 0.3)
    with pytest.raises(PlannerError) as error, database_copy(root, tmp_path):
        pass
    assert f"is open in another Isoplan at http://localhost:8501 (process {os.getpid()}" in str(error.value)
    assert str(error.value).endswith("The app did not answer the request for a copy for 0.3 s.")
    (root / FOLDER).write_text("")
    with (
        pytest.raises(
            PlannerError, match=r"cannot be asked for a copy \(Not a directory\): run the backup as the user"
        ),
        database_copy(root, tmp_path),
    ):
        pass


@pytest.mark.usefixtures("quick")
def test_why_the_app_has_no_copy_is_said(
    root: Path, db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "SPARE", 1e18)
    with answering(db, root):
        with pytest.raises(PlannerError, match="the copy of the database needs"), database_copy(root, tmp_path):
            pass
        monkeypatch.setattr(backup, "SPARE", 0)
        with database_copy(root, tmp_path) as (file, contents):
            assert file.parent == root / FOLDER
            assert contents.fits == 1
        assert not file.exists()

        def breaks(*_: object) -> None:
            raise ValueError("unforeseen")

        monkeypatch.setattr(requests, "copy_open", breaks)
        why = r"could not copy the database \(ValueError\): see the log of the app"
        with pytest.raises(PlannerError, match=why), database_copy(root, tmp_path):
            pass
        monkeypatch.setattr(requests, "write_json", breaks)
        why = "did not answer a request for a copy: see its log"
        with pytest.raises(PlannerError, match=why), database_copy(root, tmp_path):
            pass
    assert not (root / FOLDER).exists()


def test_a_folder_for_requests_that_leads_elsewhere_is_left_alone(
    root: Path, db: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "mine").mkdir()
    kept = [tmp_path / "mine" / name for name in ("00112233aabbccdd.json", "notes.txt")]
    for place in kept:
        place.write_text("mine")
    (root / FOLDER).symlink_to(tmp_path / "mine")
    with answering(db, root):
        assert all(place.exists() for place in kept)
    (root / FOLDER).unlink()
    (root / FOLDER).mkdir()
    (root / FOLDER).chmod(0o777)
    with answering(db, root):
        pass
    assert [record.getMessage().count("gets no copies, because") for record in caplog.records] == [1, 1]


@pytest.mark.usefixtures("quick")
def test_requests_of_ended_processes_and_other_files_are_not_answered(root: Path, db: Database, tmp_path: Path) -> None:
    folder = root / FOLDER
    folder.mkdir()
    ended = subprocess.Popen(["sleep", "0"])
    start = process_start(ended.pid)
    ended.wait()
    gone = this_process().model_copy(update={"pid": ended.pid, "start": start or "1"})
    (folder / "00112233aabbccdd.ask").write_text(gone.model_dump_json())
    (folder / "00112233aabbccdd.duckdb").write_text("left behind")
    (folder / "ffffffffffffffff.ask").write_text(this_process().model_dump_json())
    with answering(db, root):
        assert not (folder / "00112233aabbccdd.duckdb").exists()
        (folder / "eeeeeeeeeeeeeeee.ask").write_text("{no json")
        (folder / "..%2fup.ask").write_text(this_process().model_dump_json())
        progress.wait(lambda: (folder / "ffffffffffffffff.json").exists())
        progress.wait(lambda: not (folder / "eeeeeeeeeeeeeeee.ask").exists())
        with database_copy(root, tmp_path):
            pass
        assert sorted(place.name for place in folder.iterdir()) == [
            "..%2fup.ask", BEAT, "ffffffffffffffff.duckdb", "ffffffffffffffff.json",
        ]  # fmt: skip
    with answering(db, root):
        assert [place.name for place in folder.iterdir()] == ["..%2fup.ask"]


def test_a_holder_for_an_instant_is_waited_for(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another command has the workspace open and answers no requests, so the backup waits until this command ends."""
    db = open_workspace(root)
    naps = []

    def nap(_: float) -> None:
        naps.append(1)
        if len(naps) == 3:
            db.close()

    monkeypatch.setattr(time, "sleep", nap)
    with database_copy(root, tmp_path) as (file, contents):
        assert file == tmp_path / FILE
        assert contents.fits == 1
    assert len(naps) == 3
    assert not (root / FOLDER).exists()
