"""Excel files that are small but expand: sheets that declare a larger size, XML entities, very large content."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reliability.files.case import HEADER, Case, Cases, Expected, ends, grid, refuses
from benchmarks.reliability.files.sheets import KIND, SHEET, lines_of, rewritten, workbook, workbook_file

STRINGS, STYLES = "xl/sharedStrings.xml", "xl/styles.xml"
MEGABYTE = 1_000_000


def cases(rng: np.random.Generator) -> Cases:
    """Yield all Excel files of this module."""
    yield from _lying(rng)
    yield from _entities(rng)
    yield from _bombs(rng)
    yield from _long(rng)


def _large(name: str, make: Callable[[], bytes], expected: Expected) -> Case:
    """Return a large case. The content of its file is created only when the file is written."""
    return Case(f"{name}.xlsx", KIND, lambda path: path.write_bytes(make()), expected, large=True)


def _lying(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    lines = lines_of(rows)
    whole = workbook({"runs": lines})
    for name, claim in {"all of a sheet": "A1:XFD1048576", "one cell": "A1", "none": "", "words": "all"}.items():
        lying = rewritten(whole, SHEET, partial(_claim, claim))
        yield workbook_file(f"dimension of {name}", lying, Expected(rows, or_refused=name == "words"))

    def ends_at(row: int, column: int) -> Callable[[], bytes]:
        return lambda: workbook({"runs": lines}, lambda book: book.worksheets[0].cell(row, column, "end"))

    # The last row has a text in the column of run names and no numbers. It is left out, with a note.
    far = Expected(rows, says=("1 row without N",), or_refused=True)
    yield _large("cell in the last row", ends_at(2**20, 1), far)
    yield _large("cell in the last column", ends_at(3, 2**14), refuses("wider than its header"))
    yield _large("cell in the last corner", ends_at(2**20, 2**14), refuses("wider than its header"))
    further = [[*line, *(f"x{i}" if j == 0 else 1 for i in range(997))] for j, line in enumerate(lines)]
    yield workbook_file("1001 columns", workbook({"runs": further}), refuses("1,001 columns"))


def _claim(dimension: str, text: str) -> str:
    return re.sub(r'(<dimension ref=")[^"]*', rf"\g<1>{dimension}", text)


def _entities(rng: np.random.Generator) -> Cases:
    """Yield files with XML entities that expand or that name a file. The rest of the sheet is normal.

    Both outcomes are right: the runs are read, or the file is refused.
    """
    rows = grid(rng)
    whole = workbook({"runs": lines_of(rows)})
    either = Expected(rows, or_refused=True)
    grown = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefghi", "bcdefghij", strict=True))
    laughs = f'<!DOCTYPE x [<!ENTITY a "ha">{grown}]>'
    yield workbook_file("entities that grow", _declared(whole, laughs, "&j;"), either)
    outside = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
    yield workbook_file("entity of a file", _declared(whole, outside, "&e;"), either)
    parameter = '<!DOCTYPE x [<!ENTITY % p SYSTEM "http://127.0.0.1:9/x.dtd"> %p; <!ENTITY e "x">]>'
    yield workbook_file("entity of an address", _declared(whole, parameter, "&e;"), either)


def _declared(whole: bytes, declared: str, used: str) -> bytes:
    """Return the workbook with the document type declaration ``declared`` in the XML of its shared strings.

    The entity ``used`` replaces one of these strings.
    """
    return rewritten(whole, STRINGS, lambda text: declared + text.partition("?>")[2].replace("<t>r0<", f"<t>{used}<"))


def _bombs(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    whole = workbook({"runs": lines_of(rows)})
    either = Expected(rows, or_refused=True)
    parts: dict[str, tuple[str, str, str, int]] = {
        "1.5 million styles": (STYLES, "</cellXfs>", '<xf numFmtId="0"/>' * 1000, 1500),
        "5 million shared texts": (STRINGS, "</sst>", "<si><t>a</t></si>" * 1000, 5000),
        "1.5 GB of spaces in a sheet": (SHEET, "</worksheet>", " " * MEGABYTE, 1500),
        "3 GB of spaces in a sheet": (SHEET, "</worksheet>", " " * MEGABYTE, 3000),
        "400 MB in a shared text": (STRINGS, "</t>", "x" * MEGABYTE, 400),
        "a million empty rows": (SHEET, "</sheetData>", "<row/>" * 1000, 1000),
        "20 million empty rows": (SHEET, "</sheetData>", "<row/>" * 1000, 20_000),
        "10 million empty cells": (SHEET, "</row>", "<c/>" * 1000, 10_000),
    }
    for name, (part, before, filler, count) in parts.items():
        yield _filled(name, whole, part, before, filler, count, either)


def _filled(name: str, whole: bytes, part: str, before: str, filler: str, count: int, expected: Expected) -> Case:
    def write(path: Path) -> None:
        with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
            for entry in old.infolist():
                if entry.filename != part:
                    new.writestr(entry.filename, old.read(entry))
                    continue
                head, mark, tail = old.read(entry).decode().partition(before)
                with new.open(part, "w", force_zip64=True) as out:
                    out.write(head.encode())
                    for _ in range(count):
                        out.write(filler.encode())
                    out.write((mark + tail).encode())

    return Case(f"{name}.xlsx", KIND, write, expected, large=True)


def _long(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    header, *lines = lines_of(rows)

    def times(count: int) -> Callable[[], bytes]:
        return lambda: workbook({"runs": [header, *lines * count]})

    yield _large("24000 rows", times(2000), Expected(ends(rows), n=24_000))
    yield _large("240000 rows", times(20_000), Expected(ends(rows), n=240_000, or_refused=True))
    wide: list[list[Any]] = [[*HEADER, *(f"x{i}" for i in range(900))], *([*x, *[1.5] * 900] for x in lines * 10)]
    yield _large("120 rows of 904 columns", lambda: workbook({"runs": wide}), Expected(rows * 10))
