"""Import of a CSV file with a million rows, compared with DuckDB's own ``read_csv`` of the same file.

The import includes the hash of the file and the guess of the roles.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import duckdb

from benchmarks.report import Report, quantile
from benchmarks.tables import write_runs
from isoplan.engine.store.database.database import open_workspace
from isoplan.engine.store.tables import tables

ROWS, RUNS = 1_000_000, 5


def run() -> Report:
    """Measure the import and ``read_csv`` alternately, five times each, every time with a new database file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        csv = write_runs(folder / "runs.csv", ROWS)
        pairs = [(_peer(csv, folder / f"peer{i}.duckdb"), _ours(csv, folder / f"ours{i}")) for i in range(RUNS)]
    peers, ours = zip(*pairs, strict=True)
    ratio = quantile([o / p for p, o in pairs], 0.5)
    return Report(
        f"Import of {ROWS:,} rows",
        "The import stores and hashes the bytes, reads and summarises the columns, and guesses their roles. Its time "
        "is compared with `CREATE TABLE AS SELECT * FROM read_csv(...)` of the same file. Median of "
        f"{RUNS} pairs. Goal: at most 4 times.",
        ("what", "seconds"),
        (
            ("DuckDB read_csv", f"{quantile(peers, 0.5):.2f}"),
            ("Isoplan import", f"{quantile(ours, 0.5):.2f}"),
            ("ratio (median of pairs)", f"{ratio:.2f}"),
        ),
    )


def _peer(csv: Path, file: Path) -> float:
    start = time.perf_counter()
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE runs AS SELECT * FROM read_csv(?)", [str(csv)])
    return time.perf_counter() - start


def _ours(csv: Path, folder: Path) -> float:
    db = open_workspace(folder)
    try:
        start = time.perf_counter()
        info = tables.add(db, csv, csv.name)
        roles = tables.roles(db, info.id)
        seconds = time.perf_counter() - start
    finally:
        db.close()
    assert (info.rows, roles.N, roles.loss) == (ROWS, "params", "val_loss")
    return seconds
