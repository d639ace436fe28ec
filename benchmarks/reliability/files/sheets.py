"""Excel files with unusual cells, with text or empty rows around the table, with several sheets, and damaged files."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, time
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl  # type: ignore[import-untyped]

from benchmarks.reliability.files.case import (
    HEADER,
    Case,
    Cases,
    Expected,
    Row,
    Rows,
    asks,
    content,
    damaged,
    grid,
    reads,
    refuses,
    without,
)

KIND = "Excel"
SHEET = "xl/worksheets/sheet1.xml"
Lines = Sequence[Sequence[Any]]


def cases(rng: np.random.Generator) -> Cases:
    """Yield all Excel files of this module."""
    yield from _cells(rng)
    yield from _around(rng)
    yield from _sheets(rng)
    yield from _damaged(rng)


def workbook_file(name: str, data: bytes, expected: Expected) -> Case:
    """Return a case for the workbook ``data``. The suffix .xlsx is added to a name without suffix."""
    return content(name if name.endswith((".xlsm", ".csv", ".xls")) else f"{name}.xlsx", KIND, data, expected)


def lines_of(rows: Rows) -> list[list[Any]]:
    """Return a header line and the rows as lists of cell values."""
    return [list(HEADER), *([f"r{i}", int(n), int(d), loss] for i, (n, d, loss) in enumerate(rows))]


def workbook(sheets: Mapping[str, Lines], change: Callable[[Any], object] = lambda book: None) -> bytes:
    """Return a workbook with these sheets as bytes. ``change`` modifies the workbook before it is saved."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, lines in sheets.items():
        sheet = book.create_sheet(name)
        for line in lines:
            sheet.append(line)
    change(book)
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


def _sheet(name: str, lines: Lines, expected: Expected, change: Callable[[Any], object] = lambda book: None) -> Case:
    """Return a case for a workbook with a single sheet."""
    return workbook_file(name, workbook({"runs": lines}, change), expected)


def rewritten(data: bytes, part: str, change: Callable[[str], str]) -> bytes:
    """Return the workbook with ``change`` applied to one of its XML parts."""
    sink = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            text = old.read(entry)
            new.writestr(entry.filename, change(text.decode()) if entry.filename == part else text)
    return sink.getvalue()


def _with(rows: Rows, row: int, column: int, value: object) -> bytes:
    lines = lines_of(rows)
    lines[row + 1][column] = value
    return workbook({"runs": lines})


def _cells(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    whole = workbook({"runs": lines_of(rows)})
    yield workbook_file("plain", whole, reads(rows))
    yield workbook_file("with macros.xlsm", whole, reads(rows))
    yield workbook_file("called csv.csv", whole, reads(rows))
    for i, value in enumerate((None, "", "NaN", "#N/A")):
        yield workbook_file(
            f"loss missing {i}", _with(rows, 4, 3, value), reads(without(rows, 4), "1 row without a loss")
        )
    words = ("diverged", "-", "3_5", "3,1", "#DIV/0!", datetime(2024, 1, 5), time(1, 2), True, "5.2 nats", "n.a.")
    for i, word in enumerate(words):
        yield workbook_file(f"loss no number {i}", _with(rows, 4, 3, word), refuses("loss"))
    for i, value in enumerate(("3.1415", " 3.1415 ", "'3.1415")):
        changed = (*rows[:4], (*rows[4][:2], 3.1415), *rows[5:])
        yield workbook_file(f"loss as text {i}", _with(rows, 4, 3, value), reads(changed) if i < 2 else refuses("loss"))
    texts = [[str(c) for c in line] for line in lines_of(rows)]
    yield _sheet("all as text", texts, reads(rows))
    german = [line if i == 0 else [*line[:3], line[3].replace(".", ",")] for i, line in enumerate(texts)]
    yield _sheet("text with decimal commas", german, asks("--convert", ("--convert", "loss"), rows))
    suffixed = [
        line if i == 0 else [line[0], f"{line[1] / 1e6:.10g}M", *line[2:]] for i, line in enumerate(lines_of(rows))
    ]
    yield _sheet("N with suffixes", suffixed, asks("--convert N", ("--convert", "N"), rows))
    kinds: dict[str, object] = {"dates": datetime(2024, 1, 5), "booleans": True, "times": time(1, 2)}
    for name, kind in kinds.items():
        lines = [line if i == 0 else [*line[:3], kind] for i, line in enumerate(lines_of(rows))]
        yield _sheet(f"loss of {name}", lines, refuses("loss"))
        beside = [[*line, "when" if i == 0 else kind] for i, line in enumerate(lines_of(rows))]
        yield _sheet(f"beside {name}", beside, reads(rows))
    formulas = [line if i == 0 else [*line[:3], f"=B{i + 1}*0+{line[3]}"] for i, line in enumerate(lines_of(rows))]
    # openpyxl stores formulas without their values, so the column is empty until Excel has computed and saved them.
    yield _sheet("formulas without values", formulas, reads((), "12 rows without a loss", unfit="loss"))
    valued = rewritten(
        whole, SHEET, lambda text: re.sub(r'(<c r="D\d+"[^>]*>)(<v>[\d.]+</v>)', r"\1<f>1+1</f>\2", text)
    )
    yield workbook_file("formulas with values", valued, reads(rows))
    errors = rewritten(
        whole, SHEET, lambda text: re.sub(r'<c r="D6"[^>]*><v>[\d.]+</v>', '<c r="D6" t="e"><v>#DIV/0!</v>', text)
    )
    yield workbook_file("error of a formula", errors, refuses("loss"))
    formats = {"percent": "0%", "rounded": "0", "scientific": "0.0E+00", "money": '"$"#,##0.00', "a date": "yyyy-mm-dd"}
    for name, code in formats.items():
        shown = workbook({"runs": lines_of(rows)}, lambda book, code=code: _format(book, code))  # type: ignore[misc]
        # A number that Excel displays as a date is invisible to the user. The column is therefore rejected.
        yield workbook_file(f"loss shown as {name}", shown, refuses("loss") if name == "a date" else reads(rows))


def _format(book: Any, code: str) -> None:
    for cell in book.worksheets[0]["D"][1:]:
        cell.number_format = code


def _around(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    lines = lines_of(rows)
    blank: list[Any] = [None] * 4
    yield _sheet("blank rows above", [[], [], *lines], reads(rows))
    yield _sheet("blank rows between", [x for line in lines for x in (line, [])], reads(rows))
    yield _sheet("blank columns before", [[None, None, *line] for line in lines], reads(rows, "no name"))
    yield _sheet("blank column between", [[*x[:2], None, *x[2:]] for x in lines], reads(rows, "no name"))
    yield _sheet("title above", [["Runs of March"], *lines], reads(rows, "1 row of text above"))
    yield _sheet("title over all columns", [["Runs", "of", "March", "24"], *lines], refuses("N"))
    merged = workbook({"runs": [["Runs of March"], *lines]}, lambda book: book.worksheets[0].merge_cells("A1:D1"))
    yield workbook_file("merged title", merged, reads(rows, "1 row of text above"))
    groups = [[*line, "group" if i == 0 else "a" if i % 6 == 1 else None] for i, line in enumerate(lines)]
    # Excel stores the value of merged cells in the first cell. All programs read the other merged cells as empty.
    yield _sheet("merged groups", groups, reads(rows), _merge_groups)
    yield _sheet(
        "units below the header", [lines[0], ["", "params", "tokens", "nats"], *lines[1:]], reads(rows, "units")
    )
    yield _sheet("note far right", [*lines[:5], [*lines[5], None, None, "see mail"], *lines[6:]], refuses("row 6"))
    yield _sheet("note far below", [*lines, [], [], ["see mail"]], reads(rows, "1 row without N"))
    total = ["Total", *(sum(line[i] for line in lines[1:]) for i in (1, 2, 3))]
    yield _sheet("total row", [*lines, total], reads(rows, "1 row called 'Total'"))
    yield _sheet("total row without loss", [*lines, [*total[:3], None]], reads(rows, "1 row without a loss"))
    for name, change in {
        "hidden rows": lambda book: _hide(book.worksheets[0].row_dimensions[5]),
        "hidden column": lambda book: _hide(book.worksheets[0].column_dimensions["B"]),
        "filter": lambda book: setattr(book.worksheets[0].auto_filter, "ref", "A1:D13"),
        "frozen": lambda book: setattr(book.worksheets[0], "freeze_panes", "A2"),
        "colours": lambda book: setattr(book.worksheets[0]["D5"], "style", "Bad"),
        "comment": lambda book: setattr(book.worksheets[0]["D5"], "comment", openpyxl.comments.Comment("wrong", "me")),
        "protection": lambda book: book.worksheets[0].protection.enable(),
    }.items():
        yield _sheet(name, lines, reads(rows), change)
    yield _sheet("header twice", [*lines, *lines], refuses("'N'"))
    yield _sheet("number as name", [[*lines[0], 5], *([*x, 1] for x in lines[1:])], reads(rows))
    yield _sheet("only a header", lines[:1], refuses("no rows"))
    yield _sheet("nothing", [], refuses("empty"))
    yield _sheet("no header", [x[1:] for x in lines[1:]], refuses("header"))
    yield _sheet("blank cells of spaces", [*lines, blank], reads(rows))


def _merge_groups(book: Any) -> None:
    for start in (2, 8):
        book.worksheets[0].merge_cells(f"E{start}:E{start + 5}")


def _hide(dimension: Any) -> None:
    dimension.hidden = True


def _sheets(rng: np.random.Generator) -> Cases:
    rows, other = grid(rng), grid(rng)
    two = workbook({"old": lines_of(other), "new": lines_of(rows)})
    yield workbook_file("two sheets", two, asks("old, new", ("--sheet", "new"), rows))
    for i, name in enumerate(("a'b", "a,b", "é 🚀", "None", "x" * 31, " runs ", "=1+1", "<b>", "1", "-", "sheet1.xml")):
        yield workbook_file(f"sheet name {i}", workbook({name: lines_of(rows)}), reads(rows))
        both = workbook({"first": [["a"], [1]], name: lines_of(rows)})
        yield workbook_file(f"sheet name of two {i}", both, asks("2 sheets", ("--sheet", name), rows))

    def hide(book: Any, how: str) -> None:
        book["old"].sheet_state = how

    for how in ("hidden", "veryHidden"):
        hidden = workbook({"old": lines_of(other), "new": lines_of(rows)}, lambda book, how=how: hide(book, how))  # type: ignore[misc]
        yield workbook_file(f"second sheet {how}", hidden, asks("old, new", ("--sheet", "new"), rows))
    empty = workbook({"runs": lines_of(rows), "Sheet2": [], "Sheet3": []})
    yield workbook_file("empty sheets beside", empty, asks("runs, Sheet2", ("--sheet", "runs"), rows))
    many = {f"s{i}": lines_of(rows) for i in range(300)}
    yield workbook_file("300 sheets", workbook(many), asks("300 sheets", ("--sheet", "s299"), rows))


def _damaged(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    whole = workbook({"runs": lines_of(rows)})
    for i, share in enumerate((0.01, 0.3, 0.7, 0.99)):
        yield workbook_file(f"cut {i}", whole[: int(share * len(whole))], refuses("Excel"))
    for i in range(12):
        data = bytearray(whole)
        data[int(rng.integers(4, len(data)))] ^= int(rng.integers(1, 256))
        yield workbook_file(f"byte {i} turned", bytes(data), damaged(rows, by_openpyxl))
    for name, change in {
        "no end of the XML": lambda text: text[: len(text) // 2],
        "no XML": lambda text: "runs",
        "empty XML": lambda text: "",
        "cell beyond the last column": lambda text: text.replace('r="D5"', 'r="ZZZZ5"'),
        "cell without a place": lambda text: re.sub(r' r="[A-D]\d+"', "", text),
        "row 2000000000": lambda text: text.replace('<row r="5"', '<row r="2000000000"').replace(
            'r="A5"', 'r="A2000000000"'
        ),
        "row of minus one": lambda text: text.replace('<row r="5"', '<row r="-1"'),
        "row twice": lambda text: text.replace('<row r="5"', '<row r="4"'),
        "number of shared text beyond": lambda text: text.replace('t="s"><v>0<', 't="s"><v>99999<'),
        "number that is none": lambda text: re.sub(r'(<c r="D5"[^>]*><v>)[\d.]+', r"\1zero", text),
        "style beyond": lambda text: text.replace('<c r="D5"', '<c r="D5" s="9999"'),
    }.items():
        changed = rewritten(whole, SHEET, change)
        yield workbook_file(name, changed, damaged(rows, by_openpyxl))
    for part in ("xl/workbook.xml", "xl/styles.xml", "[Content_Types].xml", SHEET, "xl/sharedStrings.xml"):
        gone = _without(whole, part)
        slug = part.replace("/", " ").replace("[", "").replace("]", "")
        yield workbook_file(f"without {slug}", gone, damaged(rows, by_openpyxl))
    old = Expected(None, "old Excel file", boxed=True)
    yield workbook_file("old format.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + rng.bytes(5000), old)
    yield workbook_file("with a password", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + rng.bytes(5000), refuses("Excel"))


def by_openpyxl(path: Path) -> Rows | None:
    """Return the runs that openpyxl reads from the whole file; None if openpyxl fails.

    Isoplan itself reads the file row by row.
    """
    try:
        lines = list(openpyxl.load_workbook(path, data_only=True).worksheets[0].iter_rows(values_only=True))[1:]
        return tuple(_row(line) for line in lines)
    except Exception:  # openpyxl does not document its exceptions for damaged files
        return None


def _row(line: Sequence[Any]) -> Row:
    n, d, loss = (float(x) if isinstance(x, int | float) else float("nan") for x in line[1:4])
    return n, d, loss


def _without(data: bytes, part: str) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(sink, "w") as new:
        for entry in old.infolist():
            if entry.filename != part:
                new.writestr(entry.filename, old.read(entry))
    return sink.getvalue()
