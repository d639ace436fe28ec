"""Backups while rows are written and cells train.

Each copy is compared with the original, and the delays of other writers are measured.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.report import Report, ms, quantile
from isoplan.app.backups.archives import back_up, put_new, restore_from
from isoplan.engine.store.database import cell_index
from isoplan.engine.store.database.backup import contents_of, copy_open, differences
from isoplan.engine.store.database.database import FILE, Cursor, Database, open_workspace
from isoplan.engine.store.tables import tables
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store.record import Record
from isoplan.trainers.families import find_family, read_cell

SEED = 20_261_124
ROWS, COPIES = 1_000_000, 10
CELLS, BACKUPS = 12, 8
FAMILY, WIDTH, SAMPLES = "teacher-student", 16, 3_500_000
EVERY = (2.0, 8.0)
"""Range of the time between two backups in seconds. The time is drawn uniformly."""
PAUSE = 0.01
"""Seconds between two transactions of the writer."""


@dataclass(frozen=True)
class Copied:
    """Results of ``COPIES`` copies of a large table.

    ``alone`` contains the seconds of each write while no copy is made, and ``meanwhile`` those of each write during a
    copy. ``seconds`` are the copying times. ``different`` is the number of copies that differ from the original.
    """

    alone: list[float]
    meanwhile: list[float]
    seconds: list[float]
    different: int


@dataclass(frozen=True)
class Trained:
    """Results of ``BACKUPS`` backups of a workspace in which cells train.

    ``seconds`` are the durations of the backups. ``missing``, ``doubled`` and ``states`` count three kinds of faults
    over all copies: missing cells, wrong rows, and cells that are neither done nor queued. ``original`` and ``copy``
    contain the records of the cells in the workspace and in its first copy.
    """

    seconds: list[float]
    missing: int
    doubled: int
    states: int
    original: dict[str, Record]
    copy: dict[str, Record]


def run() -> Report:
    """Copy a table of a million rows while rows are written, and back up a workspace while its cells train."""
    with tempfile.TemporaryDirectory() as name:
        copied, trained = _copied(Path(name) / "rows"), _trained(Path(name))
    losses = [(_loss(trained.original[key]), _loss(trained.copy[key])) for key in trained.original]
    off = max(abs(copy / original - 1) for original, copy in losses)
    return Report(
        f"{BACKUPS} backups of a workspace while {CELLS} cells train",
        f"`isoplan backup` runs at random moments, every {EVERY[0]:g} to {EVERY[1]:g} s (seed {SEED}), while the app "
        "is open. Every backup is restored and compared with the original, and the cells of the first backup are "
        f"trained to their end in the copy. The last rows are for {COPIES} copies of a table of {ROWS:,} rows, which "
        "are made while transactions of two rows are written to two tables.",
        ("what", "result"),
        (
            ("seconds of a backup, median and longest", f"{_two(trained.seconds)} s"),
            ("cells missing in a copy", str(trained.missing)),
            ("rows in a copy that are doubled or whose cell is not finished", str(trained.doubled)),
            ("cells in a copy that are neither done nor queued", str(trained.states)),
            ("cells done in the original, attempts", f"{_done(trained.original)}, {_attempts(trained.original)}"),
            ("cells done in the first copy", _done(trained.copy)),
            ("relative difference of the losses in the first copy and in the original", f"{off:.1g}"),
            (
                "copies of the table with a different row or half a transaction",
                f"{copied.different} of {COPIES}",
            ),
            ("seconds of a copy, median and longest", f"{_two(copied.seconds)} s"),
            ("a write without a copy, median and 95 %", _latency(copied.alone)),
            ("a write during a copy, median and 95 %", _latency(copied.meanwhile)),
        ),
    )


def _copied(root: Path) -> Copied:
    rng = np.random.default_rng(SEED)
    frame = pd.DataFrame({name: rng.random(ROWS) for name in ("N", "D", "loss", "accuracy")})
    frame["run"] = [f"run {k}" for k in range(ROWS)]
    root.mkdir()
    frame.to_parquet(root / "runs.parquet")
    with open_workspace(root / "space") as db:
        tables.add(db, root / "runs.parquet", "runs.parquet")
        with _writing(db) as alone:
            time.sleep(5)
        seconds, different = [], 0
        with _writing(db) as meanwhile:
            for k in range(COPIES):
                folder = root / str(k)
                folder.mkdir()
                begun = time.monotonic()
                contents = copy_open(db, folder / FILE)
                seconds.append(time.monotonic() - begun)
                same = contents.tables["views"].rows == contents.tables["answers"].rows
                different += not same or bool(differences(contents, contents_of(folder)))
                (folder / FILE).unlink()
    return Copied(alone, meanwhile, seconds, different)


@contextmanager
def _writing(db: Database) -> Iterator[list[float]]:
    """Write rows in a thread during the block. Yield a list that gets the seconds of each transaction."""
    over, took = threading.Event(), []

    def change(cursor: Cursor) -> None:
        cursor.execute("INSERT INTO views VALUES (uuid()::VARCHAR, now()::TIMESTAMP, '{}')")
        cursor.execute("INSERT INTO answers VALUES (uuid()::VARCHAR, '', '', '', '', now()::TIMESTAMP, false, '')")

    def write() -> None:
        while not over.wait(PAUSE):
            begun = time.monotonic()
            db.write(change)
            took.append(time.monotonic() - begun)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield took
    finally:
        over.set()
        thread.join()


def _trained(folder: Path) -> Trained:
    rng, root = np.random.default_rng(SEED), folder / "space"
    root.mkdir()
    family = find_family(FAMILY, root)
    asked = [read_cell(family, {"width": WIDTH, "samples": SAMPLES, "seed": k}) for k in range(CELLS)]
    names = Queue(root).add(family, asked)
    app, seconds = _app(root), []
    try:
        _wait(root, 1)
        for k in range(BACKUPS):
            time.sleep(rng.uniform(*EVERY))
            begun = time.monotonic()
            back_up(root, folder / f"{k}.zip", lambda _: None, put_new)
            seconds.append(time.monotonic() - begun)
        _wait(root, CELLS)
    finally:
        app.terminate()
        app.wait()
    missing = doubled = states = 0
    for k in range(BACKUPS):
        copy = folder / f"copy{k}"
        restore_from(folder / f"{k}.zip", copy, lambda _: None, None)
        found = Queue(copy).scan()
        missing += len(set(names) - set(found))
        states += sum(record.state not in ("done", "queued") for record in found.values())
        doubled += _unlike(copy, found)
    runner = [sys.executable, "-P", "-m", "isoplan.trainers.backend.runner.loop", "--idle", "1", "--workspace"]
    subprocess.run([*runner, str(folder / "copy0")], check=True, stderr=subprocess.DEVNULL)
    return Trained(seconds, missing, doubled, states, Queue(root).scan(), Queue(folder / "copy0").scan())


def _app(root: Path) -> subprocess.Popen[bytes]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    isoplan = str(Path(sys.executable).with_name("isoplan"))
    command = [isoplan, "app", "--no-browser", "--port", str(port), "--workspace", str(root)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _unlike(root: Path, found: dict[str, Record]) -> int:
    """Return the number of wrong rows in a copy: the same row twice, or a row whose cell has not finished."""
    key = cell_index.table_of(FAMILY)
    with open_workspace(root) as db:
        if key not in {table.id for table in tables.all(db)}:
            return 0
        runs = [str(name) for name in tables.frame(db, key)["run"]]
    return len(runs) - len(set(runs)) + sum(found[name].state != "done" for name in set(runs))


def _wait(root: Path, number: int) -> None:
    """Wait until ``number`` cells of the workspace are done."""
    queue = Queue(root)
    while sum(record.state == "done" for record in queue.scan().values()) < number:
        time.sleep(0.2)


def _loss(record: Record) -> float:
    assert record.result is not None
    return float(record.result["metrics"]["loss"])


def _done(found: dict[str, Record]) -> str:
    return f"{sum(record.state == 'done' for record in found.values())} of {CELLS}"


def _attempts(found: dict[str, Record]) -> str:
    return str(sum(record.number for record in found.values()))


def _two(seconds: list[float]) -> str:
    return f"{quantile(seconds, 0.5):.1f}, {max(seconds):.1f}"


def _latency(seconds: list[float]) -> str:
    return f"{ms(quantile(seconds, 0.5))}, {ms(quantile(seconds, 0.95))}"
