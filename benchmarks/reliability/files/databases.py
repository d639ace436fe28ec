"""DuckDB files: types, schemas, views, colliding names, other versions, damaged files, and write-ahead logs."""

from __future__ import annotations

import shutil
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np

from benchmarks.reliability.files.case import (
    Case,
    Cases,
    Expected,
    Rows,
    as_large,
    asks,
    content,
    damaged,
    grid,
    reads,
    refuses,
    with_losses,
    without,
)

KIND = "DuckDB"
FLIPS = 16


def cases(rng: np.random.Generator) -> Cases:
    """Yield all DuckDB files of this module."""
    yield from _types(rng)
    yield from _tables(rng)
    yield from _names(rng)
    yield from _damaged(rng)
    yield from _logs(rng)
    yield from _large(rng)


def _case(name: str, statements: Sequence[str], expected: Expected) -> Case:
    ending = "" if name.endswith((".db", ".ddb", ".csv")) else ".duckdb"
    return Case(f"{name}{ending}", KIND, lambda path: _write(path, statements), expected)


def _write(path: Path, statements: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made.duckdb"
        with duckdb.connect(str(made)) as connection:
            for statement in statements:
                connection.execute(statement)
        shutil.copy(made, path)


def _runs(rows: Rows, name: str = "runs", loss: str = "DOUBLE", size: str = "BIGINT", further: str = "") -> str:
    """Return the SQL statement that creates a table with the rows."""
    values = ", ".join(f"('r{i}', {n:.0f}, {d:.0f}, {x!r})" for i, (n, d, x) in enumerate(rows))
    casts = f"run, N::{size} AS N, D, loss::{loss} AS loss{further}"
    return f"CREATE TABLE {name} AS SELECT {casts} FROM (VALUES {values}) AS t(run, N, D, loss)"


def _types(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    yield _case("plain", [_runs(rows)], reads(rows))
    yield _case("plain.db", [_runs(rows)], reads(rows))
    yield _case("plain.ddb", [_runs(rows)], reads(rows))
    yield _case("called csv.csv", [_runs(rows)], reads(rows))
    for size in ("INTEGER", "UBIGINT", "HUGEINT", "UHUGEINT", "DOUBLE", "DECIMAL(38, 2)", "BIGNUM", "VARCHAR"):
        rows = grid(rng)
        low = tuple((min(n, 2e9), d, x) for n, d, x in rows)
        yield _case(f"N as {size.lower()}", [_runs(low, size=size)], reads(low))
    single = with_losses(rows, [float(np.float32(r[2])) for r in rows])
    yield _case("loss as float", [_runs(rows, loss="FLOAT")], reads(single))
    yield _case("loss as decimal", [_runs(rows, loss="DECIMAL(12, 4)")], reads(rows))
    for name, value in {
        "list": "[1.5, 2.5]",
        "list of lists": "[[1.5]]",
        "array": "[1.5, 2.5]::DOUBLE[2]",
        "struct": "{'a': 1.5}",
        "map": "MAP {'a': 1.5}",
        "union": "union_value(a := 1.5)",
        "interval": "INTERVAL 3 HOURS",
        "uuid": "'00000000-0000-0000-0000-000000000001'::UUID",
        "blob": "'\\xAA'::BLOB",
        "bits": "'101'::BIT",
        "time": "TIME '01:02:03'",
        "time with zone": "TIMETZ '01:02:03+02'",
        "moment in ns": "TIMESTAMP_NS '2024-01-05 01:02:03.123456789'",
        "moment with zone": "TIMESTAMPTZ '2024-01-05 01:02:03+02'",
        "moment at infinity": "'infinity'::TIMESTAMP",
        "date": "DATE '2024-01-05'",
        "date far away": "DATE '290000-01-05'",
        "enum": "'a'::ENUM('a', 'b')",
        "boolean": "true",
        "null": "NULL",
        "text": "'a'",
    }.items():
        yield _case(f"beside a {name}", [_runs(rows, further=f", {value} AS extra")], reads(rows))
        changed = (
            _runs(rows, further=f", {value} AS value")
            .replace("loss::DOUBLE AS loss, ", "")
            .replace("AS value", "AS loss")
        )
        if name not in ("null", "bits"):
            yield _case(f"loss of {name}", [changed], refuses("loss"))


def _tables(rng: np.random.Generator) -> Cases:
    rows, other = grid(rng), grid(rng)
    yield _case(
        "two tables", [_runs(other, "old"), _runs(rows, "new")], asks("2 base tables", ("--inner", "new"), rows)
    )
    yield _case("in a schema", ["CREATE SCHEMA s", _runs(rows, "s.runs")], reads(rows))
    schemas = ["CREATE SCHEMA a", "CREATE SCHEMA b", _runs(other, "a.runs"), _runs(rows, "b.runs")]
    yield _case("one name in two schemas", schemas, asks("a.runs, b.runs", ("--inner", "b.runs"), rows))
    dotted = ["CREATE SCHEMA s", _runs(other, "s.runs"), _runs(rows, '"s.runs"')]
    yield _case("names that read alike", dotted, asks("2 base tables", ("--inner", "s.runs"), rows))
    view = "CREATE VIEW best AS SELECT * FROM runs LIMIT 3"
    yield _case("table and view", [_runs(rows), view], reads(rows))
    yield _case("view alone", ["CREATE VIEW v AS SELECT 1 AS N"], refuses("no base tables"))
    spying = "CREATE VIEW spy AS SELECT * FROM read_text('/etc/passwd')"
    yield _case("view of a file", [spying], refuses("no base tables"))
    yield _case("no table", ["SELECT 1"], refuses("no base tables"))
    yield _case("macro and sequence", [_runs(rows), "CREATE SEQUENCE q", "CREATE MACRO m(a) AS a + 1"], reads(rows))
    yield _case("index", [_runs(rows), "CREATE UNIQUE INDEX i ON runs(run)"], reads(rows))
    yield _case(
        "default",
        ["CREATE SEQUENCE counts", _runs(rows), "ALTER TABLE runs ADD COLUMN k BIGINT DEFAULT nextval('counts')"],
        reads(rows),
    )
    computed = "CREATE TABLE runs (N BIGINT, D BIGINT, half DOUBLE, loss DOUBLE GENERATED ALWAYS AS (half * 2) VIRTUAL)"
    values = ", ".join(f"({n:.0f}, {d:.0f}, {x / 2!r})" for n, d, x in rows)
    yield _case("computed column", [computed, f"INSERT INTO runs (N, D, half) VALUES {values}"], reads(rows))
    yield _case("rows deleted", [_runs((*rows, *other)), f"DELETE FROM runs WHERE rowid >= {len(rows)}"], reads(rows))
    yield _case("no rows", ["CREATE TABLE runs (N BIGINT, D BIGINT, loss DOUBLE)"], refuses("no rows"))
    missing = [_runs(rows), "UPDATE runs SET loss = NULL WHERE run = 'r4'"]
    yield _case("null", missing, reads(without(rows, 4), "1 row without a loss"))
    nan = [_runs(rows), "UPDATE runs SET loss = 'nan' WHERE run = 'r4'"]
    yield _case("nan", nan, reads(without(rows, 4), "1 row without a loss"))
    many = [f"CREATE TABLE t{i} (a INTEGER)" for i in range(500)]
    yield _case("501 tables", [*many, _runs(rows)], asks("501 base tables", ("--inner", "runs"), rows))


def _names(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    for i, name in enumerate(
        ("select", "a b", "a'b", 'a""b', "a.b", "é 🚀", "<b>", "--", "x" * 300, "a\nb", "c0", "rid")
    ):
        yield _case(f"table name {i}", [_runs(rows, f'"{name}"')], reads(rows))
        shown = name.replace('""', '"')
        both = [_runs(rows, f'"{name}"'), "CREATE TABLE other (a INTEGER)"]
        yield _case(f"table name of two {i}", both, asks("2 base tables", ("--inner", shown), rows))
        yield _case(f"column name {i}", [_runs(rows, further=f', 1.5 AS "{name}"')], reads(rows))
    wide = ", ".join(f"{i} AS x{i}" for i in range(997))
    yield _case("1001 columns", [_runs(rows, further=f", {wide}")], refuses("1,001 columns"))


def _bytes(statements: Sequence[str]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.duckdb"
        _write(path, statements)
        return path.read_bytes()


def _damaged(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    whole = _bytes([_runs(rows)])

    def of(name: str, data: bytes, expected: Expected) -> Case:
        return content(f"{name}.duckdb", KIND, data, expected)

    for i, share in enumerate((0.001, 0.01, 0.1, 0.5, 0.9, 0.999)):
        # The removed part can be empty space at the end of the file. Then nothing is lost.
        yield of(f"cut {i}", whole[: max(20, int(share * len(whole)))], damaged(rows, _nothing))
    for i in range(FLIPS):
        data = bytearray(whole)
        used = np.flatnonzero(np.frombuffer(whole, np.uint8))
        data[int(rng.choice(used))] ^= int(rng.integers(1, 256))
        yield of(f"byte {i} turned", bytes(data), damaged(rows, _nothing))
    for i, version in enumerate((1, 63, 999, 2**63)):
        other = whole[:12] + struct.pack("<Q", version) + whole[20:]
        yield of(f"version {i}", other, damaged(rows, _nothing))
    yield of("header alone", whole[:4096], refuses("DuckDB"))
    yield of("zeros after the header", whole[:4096] + bytes(len(whole) - 4096), refuses("DuckDB"))
    yield of("random bytes", whole[:12] + rng.bytes(len(whole) - 12), refuses("DuckDB"))
    yield of("mark alone", bytes(8) + b"DUCK", refuses("DuckDB"))
    yield of("twice", whole + whole, damaged(rows, _nothing))


def _nothing(path: Path) -> Rows | None:
    return None


def _logs(rng: np.random.Generator) -> Cases:
    """Yield files with a write-ahead log next to them, like the files that a killed program leaves."""
    rows, later = grid(rng), grid(rng)

    def write(path: Path, keep: float) -> None:
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / "made.duckdb"
            with duckdb.connect(str(made)) as connection:
                connection.execute(_runs(rows))
                connection.execute("CHECKPOINT")
                connection.execute("PRAGMA disable_checkpoint_on_shutdown")
                connection.execute(_runs(later, "more"))
                connection.execute("INSERT INTO runs SELECT * FROM more")
                connection.execute("DROP TABLE more")
                shutil.copy(made, path)
                log = made.with_name("made.duckdb.wal").read_bytes()
            path.with_name(f"{path.name}.wal").write_bytes(log[: int(keep * len(log))])

    # The page gets only the file, without its log, so it reads the runs of the file.
    either = damaged(rows, lambda path: (*rows, *later))
    for name, keep in {"whole": 1.0, "half": 0.5, "empty": 0.0}.items():
        yield Case(f"log {name}.duckdb", KIND, lambda path, keep=keep: write(path, keep), either)  # type: ignore[misc]

    def random_log(path: Path) -> None:
        _write(path, [_runs(rows)])
        path.with_name(f"{path.name}.wal").write_bytes(rng.bytes(3000))

    yield Case("log of random bytes.duckdb", KIND, random_log, damaged(rows, _nothing))


def _large(rng: np.random.Generator) -> Cases:
    (n, d, loss), *_ = grid(rng)
    for count, expected in (
        (1_000_000, Expected(((n, d, loss),) * 2, n=1_000_000, unfit="N", or_refused=True)),
        (20_000_000, refuses("rows")),
        (100_000_000, refuses("rows")),
    ):
        made = f"CREATE TABLE runs AS SELECT {n} AS N, {d} AS D, {loss}::DOUBLE AS loss FROM range({count})"
        yield as_large(_case(f"{count} rows", [made], expected))
    text = "CREATE TABLE runs AS SELECT 1e6 AS N, 1e8 AS D, 3.0 AS loss, repeat('x', 100000) AS note FROM range(20000)"
    much = Expected(((1e6, 1e8, 3.0),) * 2, n=20_000, unfit="N", or_refused=True)
    yield as_large(_case("2 GB of text", [text], much))
