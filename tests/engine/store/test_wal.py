"""The write-ahead log after a process was killed: a valid log opens, and a log with a damaged header is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database.backup import copy_closed
from isoplan.engine.store.database.damage import refuse_damaged_wal
from isoplan.engine.store.database.database import FILE, open_workspace
from isoplan.engine.store.tables import tables

WAL = f"{FILE}.wal"
KILLED = """
import os, sys
from pathlib import Path
from isoplan.engine.store.tables import tables
from isoplan.engine.store.database.database import open_workspace
db = open_workspace(Path(sys.argv[1]))
db.write(lambda cursor: cursor.execute("SET GLOBAL checkpoint_threshold = '1GB'"))
for i in range(3):
    tables.add(db, f"N,loss\\n{i},2\\n3,4\\n".encode(), f"{i}.csv")
os.kill(os.getpid(), 9)
"""
WRITING = """
import itertools, sys
import duckdb
connection = duckdb.connect(sys.argv[1])
for k in itertools.count():
    connection.execute(f"CREATE TABLE t{k} AS SELECT {k} AS k, range AS r FROM range({50 * k % 3000})")
    if k % 7 == 5:
        connection.execute("CHECKPOINT")
    print(k, flush=True)
"""
DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "first byte": lambda wal: bytes([wal[0] ^ 0x40]) + wal[1:],
    "a number of the identifier": lambda wal: wal[:6] + bytes([wal[6] ^ 0x40]) + wal[7:],
    "zeros": lambda wal: bytes(80) + wal[80:],
    "all zeros": lambda wal: bytes(len(wal)),
    "random bytes": lambda wal: np.random.default_rng(7).bytes(len(wal)),
    "a zero in the header": lambda wal: wal[:1] + b"x" + wal[2:],
    "bytes before": lambda wal: b"\n" + wal,
}


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a workspace with three tables. Its process was killed before a checkpoint, so a log exists."""
    folder = tmp_path_factory.mktemp("killed")
    subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=False)
    assert (folder / WAL).stat().st_size > 1000
    return folder


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_header_is_refused_and_the_file_stays(killed: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(killed, folder)
    damaged = DAMAGE[name]((killed / WAL).read_bytes())
    (folder / WAL).write_bytes(damaged)
    for attempt in (lambda: open_workspace(folder), lambda: copy_closed(folder, tmp_path / "backup")):
        with pytest.raises(PlannerError) as error:
            attempt()
        text = str(error.value)
        assert text.startswith(f"{folder / FILE}.wal is damaged (its header cannot be read). ")
        assert "Move that file away: the database then opens as it was at its last checkpoint" in text
    assert (folder / WAL).read_bytes() == damaged
    (folder / WAL).write_bytes((killed / WAL).read_bytes())
    with open_workspace(folder) as db:
        assert len(tables.all(db)) == 3


def test_a_log_cut_at_any_byte_of_its_header_or_in_a_commit_opens(killed: Path, tmp_path: Path) -> None:
    wal = (killed / WAL).read_bytes()
    cuts = [*range(0, 64, 7), 64, 65, len(wal) * 65 // 100, len(wal) - 1]
    counts = []
    for cut in cuts:
        folder = tmp_path / str(cut)
        shutil.copytree(killed, folder)
        (folder / WAL).write_bytes(wal[:cut])
        with open_workspace(folder) as db:
            counts.append(len(tables.all(db)))
    assert (counts[0], counts[-1]) == (0, 2)
    assert counts == sorted(counts)


def test_logs_of_a_process_killed_at_any_moment_open(tmp_path: Path) -> None:
    """The process is killed between commits, during a checkpoint and just after a checkpoint."""
    random = np.random.default_rng(11)
    opened = 0
    for i in range(20):
        folder = tmp_path / str(i)
        folder.mkdir()
        process = subprocess.Popen(
            [sys.executable, "-c", WRITING, str(folder / FILE)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        for _ in range(int(random.integers(1, 40))):
            last = int(process.stdout.readline())
        os.kill(process.pid, 9)
        process.wait()
        before = (folder / WAL).exists() and (folder / WAL).stat().st_size
        refuse_damaged_wal(folder)
        with duckdb.connect(str(folder / FILE)) as connection:
            row = connection.execute("SELECT count(*) FROM duckdb_tables()").fetchone()
        assert row is not None
        assert row[0] >= last + 1
        opened += bool(before)
        process.stdout.close()
    assert opened > 5


@pytest.mark.parametrize("version", ["v0.10.2", "v1.0.0", "v1.2.0", "v1.3.0", "v1.4.0", "latest"])
@pytest.mark.parametrize("checkpoints", [0, 1, 200])
def test_headers_of_every_layout_that_duckdb_writes_are_known(tmp_path: Path, version: str, checkpoints: int) -> None:
    program = (
        "import duckdb, os, sys\n"
        "c = duckdb.connect(sys.argv[1], config={'storage_compatibility_version': sys.argv[2]})\n"
        "for k in range(int(sys.argv[3])):\n"
        "    c.execute(f'CREATE OR REPLACE TABLE a AS SELECT {k} AS k')\n"
        "    c.execute('CHECKPOINT')\n"
        "c.execute('CREATE TABLE t AS SELECT 1 AS x')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / FILE), version, str(checkpoints)], check=False)
    assert (tmp_path / WAL).stat().st_size > 64
    refuse_damaged_wal(tmp_path)
