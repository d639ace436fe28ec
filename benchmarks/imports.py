"""Import of a million logged values: a database of MLflow, files of W&B, and event files of TensorBoard."""

from __future__ import annotations

import multiprocessing
import resource
import sqlite3
import struct
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks.report import Report, quantile
from isoplan.engine.arrays import Floats
from isoplan.engine.trackers.reading import import_runs
from isoplan.engine.trackers.tensorboard.events import checksum
from tests.engine.trackers.wandb_files import field, item, log_file, record, varint

T = TypeVar("T")
RUNS, POINTS, REPEATS = 1000, 1000, 3
FILES, EVENTS = 10_000, 100
# The tables of MLflow 3.17, with the columns, keys and indices that an import reads.
TABLES = """
    PRAGMA cache_size = -500000;
    PRAGMA synchronous = OFF;
    PRAGMA journal_mode = OFF;
    CREATE TABLE experiments (experiment_id INTEGER PRIMARY KEY, name VARCHAR, lifecycle_stage VARCHAR);
    CREATE TABLE runs (run_uuid VARCHAR PRIMARY KEY, name VARCHAR, status VARCHAR, start_time BIGINT, end_time BIGINT,
        lifecycle_stage VARCHAR, experiment_id INTEGER);
    CREATE TABLE params (key VARCHAR, value VARCHAR, run_uuid VARCHAR, PRIMARY KEY (key, run_uuid));
    CREATE TABLE tags (key VARCHAR, value VARCHAR, run_uuid VARCHAR, PRIMARY KEY (key, run_uuid));
    CREATE TABLE latest_metrics (key VARCHAR, value FLOAT, timestamp BIGINT, step BIGINT, is_nan BOOLEAN,
        run_uuid VARCHAR, PRIMARY KEY (key, run_uuid));
    CREATE TABLE metrics (key VARCHAR, value FLOAT, timestamp BIGINT, run_uuid VARCHAR, step BIGINT, is_nan BOOLEAN,
        PRIMARY KEY (key, timestamp, step, run_uuid, value, is_nan));
    INSERT INTO experiments VALUES (1, 'sweep', 'active');
"""
INDICES = """
    CREATE INDEX index_params_run_uuid ON params (run_uuid);
    CREATE INDEX index_tags_run_uuid ON tags (run_uuid);
    CREATE INDEX index_metrics_run_uuid ON metrics (run_uuid);
    CREATE INDEX index_metrics_run_uuid_key_step ON metrics (run_uuid, key, step);
"""


@dataclass(frozen=True)
class Measured:
    """Seconds, processor seconds, peak memory of the largest process in MB, and what one import has read."""

    seconds: float
    processor: float
    megabytes: float
    runs: int
    points: int
    marks: Mapping[str, str]
    source: str = ""


def run() -> Report:
    """Measure the import of each store, a second import without new values, and the plain query of the database."""
    rows = []
    stores = (
        ("MLflow", write_database, _query, RUNS, POINTS),
        ("W&B", write_files, None, RUNS, POINTS),
        ("TensorBoard", write_event_files, None, FILES, EVENTS),
    )
    for title, write, read, runs, points in stores:
        with tempfile.TemporaryDirectory() as name:
            # A process inherits the peak memory of its parent, so this process must stay small.
            store = _apart(write, Path(name))
            if read is not None:
                rows.append(_row("sqlite3 fetchall", [_apart(read, store) for _ in range(REPEATS)]))
            first = [_apart(_import, store) for _ in range(REPEATS)]
            again = [_apart(_import, store, first[0].source, first[0].marks) for _ in range(REPEATS)]
        assert {(one.runs, one.points) for one in first} == {(runs, runs * points)}
        assert {(one.runs, one.points) for one in again} == {(0, 0)}
        rows += [_row(f"{title}: import", first), _row(f"{title}: second import", again)]
    return Report(
        "Import of a million logged values",
        f"{RUNS:,} runs with {POINTS:,} values of one metric in an SQLite database of MLflow and in files of W&B, and "
        f"{FILES:,} event files of TensorBoard with {EVENTS:,} values. The import includes the start of the process "
        "that reads the store, and the tables of runs and curves. The plain query fetches the values of the database "
        f"as a list of tuples. The second import finds no new values. Median of {REPEATS} repeats. Goals: 10 s for "
        "MLflow, 60 s for TensorBoard, 1 s for the second import, and 1,000 MB.",
        ("what", "seconds", "processor seconds", "peak memory"),
        tuple(rows),
    )


def _row(what: str, measured: Sequence[Measured]) -> tuple[str, ...]:
    seconds, processor = (
        quantile(times, 0.5) for times in zip(*((m.seconds, m.processor) for m in measured), strict=True)
    )
    return what, f"{seconds:.2f}", f"{processor:.2f}", f"{max(m.megabytes for m in measured):,.0f} MB"


def write_database(folder: Path) -> Path:
    """Write a database of MLflow with ``RUNS`` runs, which log ``loss`` at the same time, in ``POINTS`` steps."""
    file = folder / "mlflow.db"
    random = np.random.default_rng(1)
    ids = [f"{i:032x}" for i in range(RUNS)]
    sizes = 10 ** random.uniform(6, 9, (RUNS, 2))
    losses = (1.7 + sizes[:, :1] ** -0.3) * (1 + np.linspace(2, 0, POINTS))
    with closing(sqlite3.connect(file)) as database, database:
        database.executescript(TABLES)
        runs = ((key, f"run {i}", "FINISHED", i, 10**6, "active", 1) for i, key in enumerate(ids))
        database.executemany("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", runs)
        for i, name in enumerate(("params", "tokens")):
            values = ((name, str(sizes[j, i]), key) for j, key in enumerate(ids))
            database.executemany("INSERT INTO params VALUES (?, ?, ?)", values)
        database.executemany("INSERT INTO tags VALUES ('group', 'a', ?)", ((key,) for key in ids))
        logged = (
            ("loss", float(losses[i, step]), 1000 * step + i, key, step, 0)
            for step in range(POINTS)
            for i, key in enumerate(ids)
        )
        database.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", logged)
        database.executescript(INDICES)
    return file


def write_files(folder: Path) -> Path:
    """Write files of W&B with ``RUNS`` runs, which log ``loss`` in ``POINTS`` steps, as W&B writes its records."""
    random = np.random.default_rng(1)
    for i, (params, tokens) in enumerate(10 ** random.uniform(6, 9, (RUNS, 2))):
        config = field(4, item("params", str(params)) + item("tokens", str(tokens)))
        records = [record(17, field(1, b"id") + config + field(8, f"run {i}".encode()))]
        for step, loss in enumerate((1.7 + params**-0.3) * np.linspace(3, 1, POINTS)):
            values = {"loss": loss, "_step": step, "_runtime": step / 7, "_timestamp": 1.7e9 + step / 7}
            row = b"".join(item((name,), str(value)) for name, value in values.items())
            seconds = str(step // 7)
            records += [
                record(3, row),
                record(2, row + field(2, varint(1 << 3) + varint(step))),
                record(3, item(("_wandb", "runtime"), seconds) + item("_runtime", seconds)),
            ]
        run = folder / f"wandb/offline-run-20250101_{i:06d}-id{i}"
        run.mkdir(parents=True)
        (run / f"run-id{i}.wandb").write_bytes(log_file([*records, record(18, b"")]))
    return folder


def write_event_files(folder: Path) -> Path:
    """Write ``FILES`` event files of TensorBoard in folders of their own, with ``EVENTS`` values of ``val/loss``."""
    for i in range(FILES):
        run = folder / f"sweep {i // 100}" / f"run {i}"
        run.mkdir(parents=True)
        records = (_event_record(_event(1.7e9 + step, step, 3 - i / FILES - step / EVENTS)) for step in range(EVENTS))
        (run / f"events.out.tfevents.{1_700_000_000 + i}.host.1.0").write_bytes(b"".join(records))
    return folder


def _event(seconds: float, step: int, loss: float) -> bytes:
    """Return an event in the format of protobuf. The step is below 128."""
    value = b"\x0a\x08val/loss\x15" + struct.pack("<f", loss)
    summary = bytes([0x0A, len(value)]) + value
    return b"\x09" + struct.pack("<d", seconds) + bytes([0x10, step, 0x2A, len(summary)]) + summary


def _event_record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", checksum(length)) + data + struct.pack("<I", checksum(data))


def _apart(function: Callable[..., T], *arguments: object) -> T:
    """Return the result of a function that runs in a new process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def _query(file: Path) -> Measured:
    start = _now()
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as database:
        rows = database.execute("SELECT run_uuid, key, step, timestamp, value, is_nan FROM metrics").fetchall()
    seconds, processor = _now() - start
    return Measured(seconds, processor, _megabytes(), RUNS, len(rows), {})


def _import(file: Path, source: str = "", marks: Mapping[str, str] | None = None) -> Measured:
    """Import a store. A later import of the same table knows the source."""
    start = _now()
    found = import_runs(str(file), source, marks)
    seconds, processor = _now() - start
    rows, points = found.tables.rows, found.tables.points
    return Measured(seconds, processor, _megabytes(), len(rows), len(points), found.marks, found.source)


def _now() -> Floats:
    """Return the time, and the processor time of this process and of its children, in seconds."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return np.array([time.perf_counter(), sum(usage.ru_utime + usage.ru_stime for usage in usages)])


def _megabytes() -> float:
    """Return the peak memory of this process or of its largest child, in MB."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return max(usage.ru_maxrss for usage in usages) / 1024
