"""Delimited text files with very many rows, columns or bytes. Files above the limits must be refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.reliability.files.case import (
    HEADER,
    Case,
    Cases,
    Expected,
    Rows,
    as_large,
    ends,
    grid,
    refuses,
    spelled,
)
from benchmarks.reliability.files.case import table as as_text

KIND = "long text"
LATE = "late,diverged,1,2\n"


def cases(rng: np.random.Generator) -> Cases:
    """Yield all files of this module, up to the maximum size of an upload."""
    rows = grid(rng)
    for name, sep in {"comma": ",", "tab": "\t"}.items():
        yield _long(f"300000 rows {name}", rows, 25_000, sep)
    yield _long("1000000 rows", rows, 1_000_000 // 12 + 1, ",")
    yield _long("5000000 rows", rows, 5_000_000 // 12, ",")
    yield as_large(_case("6000000 rows", rows, 500_000, refuses("rows")))
    words = refuses("'diverged'")
    yield as_large(_case("300000 rows and a word", rows, 25_000, words, tail=LATE))
    suffixed = [[c[0], f"{float(c[1]) / 1e6:.10g}M", *c[2:]] for c in spelled(rows)]
    agreed = Expected(ends(rows), "--convert N", ("--convert", "N"), n=300_000)
    yield as_large(_of("300000 rows with suffixes", "".join(",".join(c) + "\n" for c in suffixed), 25_000, agreed))
    for columns, count, expected in (
        (1000, 1000, Expected(rows * 1000, n=12_000)),
        (1000, 4000, Expected(rows * 4000, n=48_000, or_refused=True)),
        (1000, 8000, refuses("rows of 1,000 columns")),
        (100, 40_000, Expected(rows, n=480_000, or_refused=True)),
    ):
        header = (*HEADER, *(f"x{i}" for i in range(columns - 4)))
        lines = "".join(",".join([*c, *["1"] * (columns - 4)]) + "\n" for c in spelled(rows))
        wide = Expected(
            ends(rows) if expected.rows else None, expected.asks, n=expected.n, or_refused=expected.or_refused
        )
        name = f"{12 * count} rows of {columns} columns"
        yield as_large(_of(name, lines, count, wide, head=",".join(header) + "\n"))
    yield as_large(_of("over 200 MB", "x" * 1_000_000 + ",1,1,1\n", 220, refuses("limit is 200 MB")))
    yield as_large(_of("one line of 150 MB", "x" * 1_000_000, 150, refuses("one line")))
    yield as_large(_of("150 MB of line ends", "\n" * 1_000_000, 150, refuses("150 MB of line ends"), head=""))
    yield as_large(_of("150 MB of a mark", "x" * 1_000_000, 150, refuses("Line 2"), head='a,b\n1,"'))


def _long(name: str, rows: Rows, times: int, sep: str) -> Case:
    expected = Expected(ends(rows), n=len(rows) * times)
    text = as_text(spelled(rows), sep=sep).split("\n", 1)[1]
    return as_large(_of(name, text, times, expected, head=sep.join(HEADER) + "\n"))


def _case(name: str, rows: Rows, times: int, expected: Expected, tail: str = "") -> Case:
    return _of(name, as_text(spelled(rows)).split("\n", 1)[1], times, expected, tail=tail)


def _of(name: str, block: str, times: int, expected: Expected, head: str = "run,N,D,loss\n", tail: str = "") -> Case:
    """Return a file in which ``block`` is repeated ``times`` times."""

    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            file.write(head)
            for _ in range(times):
                file.write(block)
            file.write(tail)

    return Case(f"{name}.csv", KIND, write, expected)
