"""Parquet files: types, compressions and pages of all writers, damaged bytes, small files with large content."""

from __future__ import annotations

import decimal
import io
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

from benchmarks.reliability.files.case import (
    Case,
    Cases,
    Expected,
    Row,
    Rows,
    as_large,
    asks,
    content,
    damaged,
    ends,
    grid,
    reads,
    refuses,
    with_losses,
    without,
)

KIND = "Parquet"
FLIPS = 40
Table = Any


def cases(rng: np.random.Generator) -> Cases:
    """Yield all Parquet files of this module."""
    yield from _types_of_sizes(rng)
    yield from _types_of_losses(rng)
    yield from _further(rng)
    yield from _written(rng)
    yield from _names(rng)
    yield from _flipped(rng)
    yield from _torn(rng)
    yield from _bombs(rng)


def _columns(rows: Rows) -> dict[str, Any]:
    n, d, loss = (pa.array([r[i] for r in rows], pa.float64()) for i in range(3))
    return {"run": pa.array([f"r{i}" for i in range(len(rows))]), "N": n, "D": d, "loss": loss}


def _bytes(table: Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def _file(name: str, data: bytes, expected: Expected) -> Case:
    return content(f"{name}.parquet", KIND, data, expected)


def _with(rows: Rows, **changed: Any) -> bytes:
    return _bytes(pa.table(_columns(rows) | changed))


def _types_of_sizes(rng: np.random.Generator) -> Cases:
    for name in ("int32", "int64", "uint32", "uint64", "float32", "float64"):
        rows = grid(rng)
        cells = pa.array([int(r[0]) if "int" in name else r[0] for r in rows], pa.type_for_alias(name))
        kept = cells.cast(pa.float64()).to_pylist()
        read = tuple((n, d, loss) for n, (_, d, loss) in zip(kept, rows, strict=True))
        yield _file(f"N as {name}", _with(rows, N=cells), reads(read))
    for name, kind in {
        "decimal 18": pa.decimal128(18, 0),
        "decimal 38": pa.decimal128(38, 4),
        "decimal 76": pa.decimal256(76, 10),
        "small decimal": pa.decimal128(9, 0),
    }.items():
        rows = grid(rng, 4, 3)
        low = tuple((min(n, 9e8), d, x) for n, d, x in rows)
        cells = pa.array([decimal.Decimal(int(r[0])) for r in low], kind)
        # No reader reads 76 digits exactly, so a refusal is also correct.
        wide = name == "decimal 76"
        yield _file(f"N as {name}", _with(low, N=cells), Expected(low, or_refused=wide))
    for name, code in {"text": ".0f", "text of floats": ".1f"}.items():
        rows = grid(rng)
        yield _file(f"N as {name}", _with(rows, N=pa.array([format(r[0], code) for r in rows])), reads(rows))
    rows = grid(rng)
    cells = pa.array([f"{r[0] / 1e6:.10g}M" for r in rows])
    yield _file("N as text with suffixes", _with(rows, N=cells), asks("--convert N", ("--convert", "N"), rows))
    yield _file(
        "N as dictionary", _with(rows, N=pa.array([f"{r[0]:.0f}" for r in rows]).dictionary_encode()), reads(rows)
    )
    yield _file(
        "N as dictionary of numbers",
        _with(rows, N=pa.array([int(r[0]) for r in rows]).dictionary_encode()),
        reads(rows),
    )
    yield Case("N as hugeint of DuckDB.parquet", KIND, lambda path: _hugeint(rows, path), reads(rows))


def _hugeint(rows: Rows, path: Path) -> None:
    values = ", ".join(f"({n:.0f}::HUGEINT, {d:.0f}::UHUGEINT, {x!r})" for n, d, x in rows)
    target = str(path).replace("'", "''")
    duckdb.connect(":memory:").execute(
        f"COPY (SELECT * FROM (VALUES {values}) AS t(N, D, loss)) TO '{target}' (FORMAT parquet)"
    )


def _types_of_losses(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    for name in ("float16", "float32"):
        kind = np.float16 if name == "float16" else np.float32
        cells = np.array([r[2] for r in rows], kind)
        yield _file(f"loss as {name}", _with(rows, loss=pa.array(cells)), reads(with_losses(rows, map(float, cells))))
    cells = pa.array([decimal.Decimal(f"{r[2]:.4f}") for r in rows], pa.decimal128(20, 4))
    yield _file("loss as decimal", _with(rows, loss=cells), reads(rows))
    moments = [datetime(2024, 1, 1 + i, tzinfo=UTC) for i in range(12)]
    for name, array in {
        "timestamps s": pa.array(moments, pa.timestamp("s")),
        "timestamps ns": pa.array(moments, pa.timestamp("ns")),
        "timestamps with zone": pa.array(moments, pa.timestamp("us", "Europe/Berlin")),
        "dates": pa.array([date(2024, 1, 1 + i) for i in range(12)]),
        "times": pa.array([time(1, i) for i in range(12)]),
        "booleans": pa.array([i % 2 == 0 for i in range(12)]),
        "nulls": pa.nulls(12),
        "lists": pa.array([[r[2]] for r in rows]),
        "structs": pa.array([{"value": r[2]} for r in rows]),
        "maps": pa.array([[("value", r[2])] for r in rows], pa.map_(pa.string(), pa.float64())),
        "bytes": pa.array([struct.pack("<d", r[2]) for r in rows], pa.binary()),
        "fixed bytes": pa.array([struct.pack("<d", r[2]) for r in rows], pa.binary(8)),
        "fixed lists": pa.array([[r[2], r[2]] for r in rows], pa.list_(pa.float64(), 2)),
        "words": pa.array(["low", "high"] * 6),
    }.items():
        nothing = reads((), "12 rows without a loss", unfit="loss")
        yield _file(f"loss of {name}", _with(rows, loss=array), nothing if name == "nulls" else refuses("loss"))
        yield _file(f"beside {name}", _with(rows, extra=array), reads(rows))

    durations = pa.array([timedelta(seconds=i) for i in range(12)])
    yield _file("beside durations", _with(rows, extra=durations), reads(rows))


def _further(rng: np.random.Generator) -> Cases:
    """Yield files with missing, infinite or extreme values, and files without rows or columns."""
    for name, value, word in (
        ("null", None, "1 row without a loss"),
        ("nan", float("nan"), "1 row without a loss"),
        ("infinite", float("inf"), "infinite loss"),
    ):
        rows = grid(rng)
        cells = pa.array([value if i == 5 else r[2] for i, r in enumerate(rows)], pa.float64())
        yield _file(f"loss {name}", _with(rows, loss=cells), reads(without(rows, 5), word))
    rows = grid(rng)
    far = (*rows[:11], (float(2**64 - 1), *rows[11][1:]))
    yield _file(
        "N at the end of uint64",
        _with(rows, N=pa.array([int(min(r[0], 2**64 - 1)) for r in far], pa.uint64())),
        reads(far),
    )
    moment = pa.array([-(2**62)] * 12, pa.int64()).cast(pa.timestamp("us"))
    yield _file("moments far away", _with(rows, when=moment), Expected(rows, or_refused=True))
    empty = {k: v[:0] for k, v in _columns(rows).items()}
    yield _file("no rows", _bytes(pa.table(empty)), refuses("no rows"))
    yield _file("no columns", _bytes(pa.table({})), refuses("no columns"))
    yield _file("one row", _with(rows[:1]), reads(rows[:1], unfit="1 run"))


def _written(rng: np.random.Generator) -> Cases:
    """Yield files with other compressions, format versions, encodings and page sizes."""
    for codec in ("NONE", "SNAPPY", "GZIP", "ZSTD", "LZ4", "BROTLI"):
        rows = grid(rng)
        yield _file(f"compressed by {codec.lower()}", _bytes(pa.table(_columns(rows)), compression=codec), reads(rows))
    options: dict[str, dict[str, Any]] = {
        "version 1": {"version": "1.0"},
        "pages of version 2": {"data_page_version": "2.0"},
        "no dictionary": {"use_dictionary": False},
        "delta": {"use_dictionary": False, "column_encoding": {"run": "DELTA_BYTE_ARRAY"}},
        "split bytes": {"use_dictionary": False, "column_encoding": {"loss": "BYTE_STREAM_SPLIT"}},
        "one row a group": {"row_group_size": 1},
        "checksums": {"write_page_checksum": True},
        "page index": {"write_page_index": True},
        "no statistics": {"write_statistics": False},
        "without schema of arrow": {"store_schema": False},
    }
    for name, chosen in options.items():
        rows = grid(rng)
        yield _file(f"written with {name}", _bytes(pa.table(_columns(rows)), **chosen), reads(rows))
    rows = grid(rng)
    for name, index in {"a range": None, "names": "run"}.items():
        frame = pa.table(_columns(rows)).to_pandas()
        indexed = frame.set_index(index) if index else frame.iloc[::2].iloc[::-1].iloc[::-1]
        kept = rows if index else rows[::2]
        sink = io.BytesIO()
        indexed.to_parquet(sink)
        yield _file(f"pandas with an index of {name}", sink.getvalue(), reads(kept))
    yield _file("ending of another name", _bytes(pa.table(_columns(rows))), reads(rows))
    yield content("parquet called csv.csv", KIND, _bytes(pa.table(_columns(rows))), reads(rows))
    yield content("parquet called xlsx.xlsx", KIND, _bytes(pa.table(_columns(rows))), reads(rows))
    stream = io.BytesIO()
    feather.write_feather(pa.table(_columns(rows)), stream)
    yield _file("feather", stream.getvalue(), refuses("Arrow"))
    many = pa.table(_columns(rows * 20_000))
    expected = Expected(ends(rows), n=240_000)
    yield as_large(_file("240000 rows", _bytes(many), expected))


def _names(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    whole = _columns(rows)
    ones = pa.array([9.5] * 12)
    for i, name in enumerate(
        ("n", "Loss", "", " ", "select", "a.b", 'a"b', "a'b", "\n", "🚀", "x" * 5000, "\u202e", "filename")
    ):
        yield _file(f"name {i}", _bytes(pa.table(whole | {name: ones})), reads(rows))
    doubled = pa.table([*whole.values(), ones], names=[*whole, "loss"])
    yield _file("name twice", _bytes(doubled), reads(rows, "repeats the name"))
    for count, expected in ((1000, reads(rows)), (1001, refuses("1,001 columns"))):
        wide = whole | {f"x{i}": ones for i in range(count - 4)}
        yield _file(f"{count} columns", _bytes(pa.table(wide)), expected)
    nested: Table = ones
    for _ in range(60):
        nested = pa.StructArray.from_arrays([nested], ["a"])
    yield _file("nested 60 deep", _bytes(pa.table(whole | {"deep": nested})), Expected(rows, or_refused=True))


def _flipped(rng: np.random.Generator) -> Cases:
    """Yield files with one changed byte at a random position: half of them in the data, half in the footer."""
    rows = grid(rng)
    for i in range(FLIPS):
        codec = ("NONE", "SNAPPY", "ZSTD", "GZIP")[i % 4]
        data = bytearray(_bytes(pa.table(_columns(rows)), compression=codec))
        footer = len(data) - 8 - struct.unpack("<I", data[-8:-4])[0]
        place = int(rng.integers(4, footer) if i < FLIPS // 2 else rng.integers(footer, len(data)))
        data[place] ^= int(rng.integers(1, 256))
        yield _file(f"byte {i} turned", bytes(data), damaged(rows, by_arrow))


def by_arrow(path: Path) -> Rows | None:
    """Return the runs that Arrow reads from a Parquet file; None if Arrow cannot read it."""
    try:
        table = pq.read_table(path)
        columns = [table.column(name).cast(pa.float64()).to_pylist() for name in ("N", "D", "loss")]
    except (pa.ArrowException, OSError, KeyError, ValueError, UnicodeDecodeError, MemoryError):
        return None
    return tuple(tuple(float("nan") if x is None else float(x) for x in row) for row in zip(*columns, strict=True))  # type: ignore[misc]


def _torn(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    whole = _bytes(pa.table(_columns(rows)), compression="NONE")
    for i, share in enumerate((0.001, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 0.999)):
        yield _file(f"cut {i}", whole[: max(4, int(share * len(whole)))], refuses("Parquet"))
    yield _file("first half twice", whole[: len(whole) // 2] + whole[: len(whole) // 2], refuses("Parquet"))
    yield _file("middle left out", whole[:100] + whole[-600:], refuses("Parquet"))
    yield _file("magic of encryption", b"PARE" + whole[4:-4] + b"PARE", refuses("Parquet"))
    yield _file("wrong magic at the start", b"XXXX" + whole[4:], refuses("Parquet"))
    yield _file("magic alone", b"PAR1", refuses("Parquet"))
    yield _file("magic twice", b"PAR1PAR1", refuses("Parquet"))
    for i, size in enumerate((0, 1, 7, len(whole), 2**31 - 1, 2**31, 2**32 - 1)):
        lying = whole[:-8] + struct.pack("<I", size) + whole[-4:]
        yield _file(f"length of the end lies {i}", lying, refuses("Parquet"))
    yield _file("random end", whole[:200] + rng.bytes(300) + struct.pack("<I", 300) + b"PAR1", refuses("Parquet"))
    yield _file("random bytes", b"PAR1" + rng.bytes(5000) + b"PAR1", refuses("Parquet"))
    appended = whole + b"\n"
    yield _file("line end after it", appended, refuses("Parquet"))


def _bombs(rng: np.random.Generator) -> Cases:
    """Yield small files that unpack to very many rows or to very long texts."""
    rows = grid(rng)
    yield _later("60 million rows", lambda path: _repeated(path, rows[0], 60_000_000), refuses("rows"))
    most = Expected((rows[0], rows[0]), n=5_000_000, unfit="N", or_refused=True)
    yield _later("5 million rows", lambda path: _repeated(path, rows[0], 5_000_000), most)
    few = Expected(rows[:3], unfit="run", or_refused=True)
    yield _later("100 MB of text in a cell", lambda path: _noted(path, rows[:3], 100_000_000, 1), few)
    many = Expected(rows * 800, or_refused=True)
    yield _later("1 GB of repeated text", lambda path: _noted(path, rows, 100_000, 800), many)


def _later(name: str, write: Callable[[Path], object], expected: Expected) -> Case:
    """Return a large case. The content of its file is created only when the file is written."""
    return Case(f"{name}.parquet", KIND, write, expected, large=True)


def _noted(path: Path, rows: Rows, letters: int, times: int) -> None:
    """Write the rows ``times`` times, with a long text that the file stores only once."""
    count = len(rows) * times
    note = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array(["x" * letters]))
    pq.write_table(pa.table(_columns(rows * times) | {"note": note}), path, compression="ZSTD")


def _repeated(path: Path, row: Row, count: int) -> None:
    """Write the same row ``count`` times, in row groups of a million."""
    block = pa.table({name: np.full(1_000_000, value) for name, value in zip(("N", "D", "loss"), row, strict=True)})
    with pq.ParquetWriter(path, block.schema, compression="ZSTD") as writer:
        for _ in range(count // 1_000_000):
            writer.write_table(block)
