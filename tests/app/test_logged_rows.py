"""Logged rows on their way into the tables: many processes, killed processes, damaged files, backups."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

import isoplan as ip
from isoplan.app import logged_rows as service
from isoplan.app.backups.archives import back_up
from isoplan.app.cell_service import looking_after
from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database.database import Database, open_workspace
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.logged_tables import Entry, table_of, take_in
from isoplan.trainers import logged_rows
from isoplan.trainers.backend.store.files import VARIABLE
from tests.progress import wait

PROCESSES, ROWS = 10, 50
WRITER = """
import sys
from pathlib import Path
import isoplan as ip
root, process, rows, done = sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
for i in range(rows):
    ip.log(f"run {process}/{i}", table="many", workspace=root, N=1e6 * (i + 1), loss=3.0 - i / 100)
    with done.open("a") as file:
        print(i, file=file, flush=True)
"""


def rows_of(db: Database, table: str = "many") -> Counter[str]:
    """Return how often each run is in a table."""
    return Counter(tables.frame(db, table_of(table))["run"].tolist())


def test_ten_processes_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    root, done = tmp_path / "ws", [tmp_path / f"done{k}" for k in range(PROCESSES)]
    many = [ROWS if k != 3 else 10**6 for k in range(PROCESSES)]
    arguments = [
        [sys.executable, "-c", WRITER, str(root), str(k), str(many[k]), str(done[k])] for k in range(PROCESSES)
    ]
    with open_workspace(root) as db, looking_after(db, root, runs_cells=False):
        started = [subprocess.Popen(one) for one in arguments]
        wait(lambda: done[3].exists() and done[3].read_text().count("\n") >= 10)
        os.kill(started[3].pid, signal.SIGKILL)
        assert [one.wait() for k, one in enumerate(started) if k != 3] == [0] * (PROCESSES - 1)
        started[3].wait()
        wait(lambda: not logged_rows.waiting(root, 1))
        found = rows_of(db)
    assert set(found.values()) == {1}
    assert {run for run in found if not run.startswith("run 3/")} == {
        f"run {k}/{i}" for k in range(PROCESSES) if k != 3 for i in range(ROWS)
    }
    finished = done[3].read_text().count("\n")
    assert finished <= sum(run.startswith("run 3/") for run in found) <= finished + 1


def test_the_database_may_be_closed_and_the_order_of_a_process_is_kept(tmp_path: Path) -> None:
    for i in range(30):
        ip.log("a", table="one", workspace=tmp_path, loss=3.0 - i / 100)
    assert service.ingest_if_free(tmp_path)
    with open_workspace(tmp_path) as db:
        assert tables.frame(db, table_of("one"))["loss"].tolist() == [pytest.approx(2.71)]
        assert not service.ingest_if_free(tmp_path), "the workspace is open"


def test_a_process_that_dies_after_the_commit_doubles_nothing(tmp_path: Path) -> None:
    for _ in range(3):
        logged_rows.write(tmp_path, "many", [{"loss": 1.0}, {"loss": 1.0}])
    code = f"from pathlib import Path; from isoplan.app.logged_rows import *; ingest_if_free(Path({str(tmp_path)!r}))"
    environment = os.environ | {VARIABLE: f"after-logged-commit:{tmp_path / 'died'}"}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == -signal.SIGKILL
    assert len(logged_rows.waiting(tmp_path, 9)) == 3
    assert service.ingest_if_free(tmp_path)
    assert logged_rows.waiting(tmp_path, 9) == []
    with open_workspace(tmp_path) as db:
        assert tables.get(db, table_of("many")).rows == 6


@pytest.mark.parametrize("text", [b"", b"[1]", b'{"table": 3, "rows": []}', b'{"table": "t", "rows": [3]}', b"\xff"])
def test_a_damaged_file_is_kept_and_the_others_are_read(tmp_path: Path, text: bytes) -> None:
    logged_rows.write(tmp_path, "many", [{"loss": 1.0}])
    (tmp_path / "logged" / "0.json").write_bytes(text)
    (tmp_path / "logged" / "1.json").write_text('{"table": "many", "rows": [{"\\ud800": 1}]}')
    assert service.ingest_if_free(tmp_path)
    assert (tmp_path / "logged" / "damaged" / "0.json").read_bytes() == text
    assert [file.name for file in sorted((tmp_path / "logged" / "damaged").iterdir())] == ["0.json", "1.json"]
    with open_workspace(tmp_path) as db:
        assert tables.get(db, table_of("many")).rows == 1


def test_threads_of_one_process_write_different_files(tmp_path: Path) -> None:
    threads = [
        threading.Thread(target=ip.log, args=(str(k),), kwargs={"workspace": tmp_path, "x": k}) for k in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(logged_rows.waiting(tmp_path, 99)) == 8


def test_a_backup_contains_the_rows_that_wait_and_restores_each_row_once(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    ip.log("a", workspace=root, loss=1.0)
    assert service.ingest_if_free(root)
    ip.log("b", workspace=root, loss=2.0)
    waiting = logged_rows.waiting(root, 9)
    with open_workspace(root) as db:  # the state of a process that died between commit and deletion
        take_in(db, [Entry(waiting[0].name, "runs", ({"run": "b", "loss": 2.0},))])
    made = back_up(root, tmp_path / "b.zip", lambda _: None, os.replace)
    assert f"logged/{waiting[0].name}" in made.manifest.files
    assert service.ingest_if_free(root)
    with open_workspace(root) as db:
        assert rows_of(db, "runs") == {"a": 1, "b": 1}


def test_numbers_of_other_packages_and_wrong_values(tmp_path: Path) -> None:
    import numpy as np

    ip.log("a", workspace=tmp_path, N=np.float32(4), D=np.int64(5), opt={"lr": np.array(0.5)}, gone=float("nan"))
    (file,) = logged_rows.waiting(tmp_path, 9)
    row = {"run": "a", "gone": None, "N": 4.0, "D": 5.0, "opt.lr": 0.5}
    assert logged_rows.read(file) == ("runs", [row])
    with pytest.raises(PlannerError, match=r"Run 'a': the row has no value\."):
        ip.log("a", workspace=tmp_path)
    with pytest.raises(PlannerError, match="Run: the name is empty"):
        ip.log(" ", workspace=tmp_path, loss=1)
    (tmp_path / "file").write_text("")
    with pytest.raises(PlannerError, match="cannot be written"):
        ip.log("a", workspace=tmp_path / "file", loss=1)


def test_logging_is_fast_and_loads_no_database(tmp_path: Path) -> None:
    code = f"import sys, isoplan as ip; ip.log('a', workspace={str(tmp_path)!r}, x=1); print('duckdb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
    begin = time.perf_counter()
    for i in range(50):
        ip.log(str(i), workspace=tmp_path, x=1)
    assert time.perf_counter() - begin < 10
