"""Delimited text files: detection of the encoding, the delimiter, the header and the decimal mark."""

from __future__ import annotations

import codecs
import csv
import io
import mmap
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database import sql
from isoplan.engine.store.database.database import Cursor, first

MAX_COLUMNS = 1000
MAX_ROWS, MAX_CELLS = 5_000_000, 50_000_000
"""Maximum number of rows of a table, and maximum number of its cells (rows * columns)."""
MOST_BLANK = 10_000
"""Maximum number of blank lines before the header of a file."""
_CHUNK = 4 * 1024**2
_DELIMITERS = ("\t", ";", ",", "|")
SEPARATOR_LINE = re.compile(r'"?sep=([\t;,|])"?[\r\n]*', re.IGNORECASE)
"""Pattern of an extra first line that states the delimiter to Excel, such as ``sep=;``."""
_ENCODINGS = {
    "utf-8-sig": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-32": "UTF-32",
    "latin-1": "Latin-1",
}
_WIDE_SPACES = "\u00a0\u2007\u2009\u202f\u3000"
"""Space characters from web pages and documents. DuckDB cannot read a number with such a space before or after it."""
# Texts that other programs write for a missing value. NaN is not in this list: it is read as a number and later counted
# as missing.
MISSING = ("", "#N/A", "<NA>", "NULL", "null")


@dataclass(frozen=True)
class Relation:
    """An SQL query with columns ``c0``, ``c1``, ..., their names in the file, and notes for the user.

    ``semicolons`` is true if ";" separates the cells, which often means that the comma is the decimal mark. ``commas``
    is true if the file has decimal commas. ``doubtful`` are the indices of columns in which a point may be a thousands
    separator. ``layouts`` are the titles of the layouts in which the table was in the file, such as "a pivot table".
    """

    query: str
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    semicolons: bool = False
    commas: bool = False
    doubtful: frozenset[int] = frozenset()
    layouts: tuple[str, ...] = ()


def relation(path: Path, name: str) -> Relation:
    """Return the relation (an SQL query) that reads a delimited text file in UTF-8. All columns are text.

    Raises PlannerError if the file has no header with names, or has too many columns.
    """
    header, delimiter, lines = _header(path, name)
    names, renamed = tidy(header)
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
    nulls = ", ".join(sql.text(m) for m in MISSING)
    cells = _trim_cells(len(names)) if _has_wide_spaces(path) else "*"
    query = (
        f"SELECT {cells} FROM read_csv({sql.path(path)}, auto_detect = false, header = true, {lines}, "
        f"delim = {sql.text(delimiter)}, quote = '\"', escape = '\"', columns = {{{columns}}}, nullstr = [{nulls}])"
    )
    return Relation(query, names, renamed, delimiter == ";")


def utf8(path: Path, name: str, scratch: Path) -> tuple[Path, tuple[str, ...]]:
    """Return the path of the file in UTF-8, and a note if its encoding was not UTF-8.

    A file that is not plain UTF-8 is copied to ``scratch`` and converted. Raises PlannerError if the file is not text.
    """
    encoding = _encoding(path, name)
    if encoding == "utf-8":
        return path, ()
    copy = scratch / "utf-8"
    try:
        with path.open(encoding=encoding, newline="") as old, copy.open("w", encoding="utf-8", newline="") as new:
            shutil.copyfileobj(old, new, _CHUNK)
    except UnicodeError:
        raise PlannerError(
            f"{name} is not readable text (tried UTF-8 and {_ENCODINGS[encoding]}): save it as UTF-8."
        ) from None
    if encoding == "utf-8-sig":
        return copy, ()
    return copy, (f"The file was read as {_ENCODINGS[encoding]}; save it as UTF-8 if letters look wrong.",)


def _has_wide_spaces(path: Path) -> bool:
    """Return whether a UTF-8 file contains one of the ``_WIDE_SPACES``."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return any(data.find(space.encode()) >= 0 for space in _WIDE_SPACES)


def _trim_cells(width: int) -> str:
    """Return SQL that selects the columns ``c0``, ``c1``, ... without leading and trailing spaces of any kind."""
    blanks = sql.text(f" \t{_WIDE_SPACES}")
    return ", ".join(f"trim(c{i}, {blanks}) AS c{i}" for i in range(width))


def tidy(header: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return unique column names for the cells of a header, and notes on the columns that were renamed."""
    names: list[str] = []
    notes: list[str] = []
    for i, raw in enumerate(header, 1):
        wanted = raw.strip() or f"column {i}"
        unique, k = wanted, 2
        while unique in names or (unique != wanted and unique in header):
            unique, k = f"{wanted} ({k})", k + 1
        names.append(unique)
        if not raw.strip():
            notes.append(f"Column {i} has no name and is called {unique!r}.")
        elif unique != wanted:
            notes.append(f"Column {i} repeats the name {wanted!r} and is called {unique!r}.")
    return tuple(names), tuple(
        notes if len(notes) < 4 else [*notes[:3], f"{len(notes) - 3} more columns were renamed."]
    )


def most_rows(columns: int) -> int:
    """Return the maximum number of rows for a table with ``columns`` columns."""
    return min(MAX_ROWS, MAX_CELLS // max(columns, 1))


def check_width(count: int, name: str) -> None:
    """Raise PlannerError if the table ``name`` has more than ``MAX_COLUMNS`` columns."""
    if count > MAX_COLUMNS:
        raise PlannerError(
            f"{name} has {count:,} columns and the limit is {MAX_COLUMNS:,}: "
            "keep the columns that describe a run, with one row per run."
        )


def _encoding(path: Path, name: str) -> str:
    with path.open("rb") as file:
        head = file.read(4096)
        if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
            return "utf-32"
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        if b"\0" in head:
            return _unmarked_utf16(head, name)
        file.seek(0)
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while chunk := file.read(_CHUNK):
                decoder.decode(chunk)
                if b"\0" in chunk:
                    raise PlannerError(
                        f"{name} is not a table of text (it contains zero bytes): export it again as CSV."
                    )
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "latin-1"
    return "utf-8-sig" if head.startswith(codecs.BOM_UTF8) else "utf-8"


def _unmarked_utf16(head: bytes, name: str) -> str:
    even, odd = head[0::2].count(0), head[1::2].count(0)
    half = len(head) // 4
    if odd > half and even == 0:
        return "utf-16-le"
    if even > half and odd == 0:
        return "utf-16-be"
    raise PlannerError(f"{name} is not a table of text (it contains zero bytes): export it again as CSV.")


def _header(path: Path, name: str) -> tuple[list[str], str, str]:
    """Return the cells of the header, the delimiter, and options of DuckDB's ``read_csv``.

    The option ``skip`` is the number of lines before the header. The option ``new_line`` is included only if DuckDB
    cannot detect the line end.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        blank, line = 0, file.readline(_CHUNK)
        separator = SEPARATOR_LINE.fullmatch(line)
        while line and (not line.strip() or SEPARATOR_LINE.fullmatch(line)):
            if blank == MOST_BLANK:
                raise PlannerError(f"{name} begins with more than {MOST_BLANK:,} blank lines: delete them.")
            blank, line = blank + 1, file.readline(_CHUNK)
            separator = separator or SEPARATOR_LINE.fullmatch(line)
        if not line:
            raise PlannerError(f"{name} contains only blank lines: choose a file with a header and at least one row.")
        delimiter = separator[1] if separator else _delimiter(line)
        rest = file.read(65536)
    _check_spaces(line, rest, delimiter, name)
    try:
        lines = io.StringIO(line + rest, newline="")
        cells = next(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error:
        raise PlannerError(
            f"The header of {name} cannot be read: look for a quotation mark that is not closed."
        ) from None
    check_width(len(cells), name)
    if cells and all(_is_number(cell) for cell in cells):
        raise PlannerError(
            f"The first line of {name} contains numbers instead of names: add a header such as N,D,loss."
        )
    return cells, delimiter, f"skip = {blank}{_line_end((line + rest)[: lines.tell()])}"


def _line_end(header: str) -> str:
    """Return the option ``new_line`` of ``read_csv`` if a cell of the header contains a line end; otherwise "".

    Without the option, DuckDB would use the line end in this cell for the whole file.
    """
    names = header.rstrip("\r\n")
    end = next(e for e in ("\r\n", "\n", "\r", "") if header.endswith(e))
    return f", new_line = {end!r}" if end and re.search(r"[\r\n]", names) else ""


def _delimiter(line: str) -> str:
    """Return the delimiter that occurs most often in the header outside quotation marks; a comma if none occurs."""
    bare = "".join(line.split('"')[0::2])
    best = max(_DELIMITERS, key=bare.count)
    return best if best in bare else ","


def delimiter_of(lines: Sequence[str]) -> str:
    """Return the delimiter of the lines of a file whose first line may be a title.

    It is the delimiter of the first line if this line contains it as often as most lines do. Otherwise it is the
    delimiter that occurs most often in a typical line.
    """
    bare = ["".join(line.split('"')[0::2]) for line in lines if line.strip()]

    def usual(delimiter: str) -> int:
        counts = [line.count(delimiter) for line in bare]
        return max(set(counts), key=counts.count, default=0)

    first = _delimiter(lines[0]) if lines else ","
    if bare and bare[0].count(first) == usual(first) > 0:
        return first
    return max((first, *_DELIMITERS), key=usual)


def _check_spaces(header: str, rest: str, delimiter: str, name: str) -> None:
    """Raise PlannerError if only spaces separate the columns.

    Such a file is ambiguous, because the names of columns may also contain spaces.
    """
    words, cells = header.split(), rest.partition("\n")[0].split()
    if delimiter not in header and len(words) == len(cells) > 1 and all(_is_number(cell) for cell in cells):
        raise PlannerError(f"The columns of {name} are separated by spaces: separate them by commas or tabs.")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


_SAMPLE = 1000
_AT_ONCE = 50
_GROUPED = r"^\s*[+-]?[1-9]\d{0,2}\.\d{3}\s*$"
_WHOLE = r"^\s*[+-]?\d+\s*$"
_POINT = r"^\s*[+-]?\d*\.\d+(?:[eE][+-]?\d+)?\s*$"
_COMMA = r"^\s*[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)?,\d+(?:[eE][+-]?\d+)?\s*$"
_THREE = r"^\s*[+-]?[1-9]\d{0,2}(?:,\d{3})+\s*$"


def find_decimal_marks(cursor: Cursor, relation: Relation) -> Relation:
    """Return the relation of a text file with ``commas`` and ``doubtful`` determined from its cells.

    ``commas`` is true if a column clearly contains decimal commas. It is also true if ";" separates the cells and no
    column clearly contains decimal points. If ``commas`` is true, a column is doubtful if exactly three digits follow
    each of its points, because these points may separate thousands.
    """
    points = commas = False
    candidates = []
    for start in range(0, len(relation.names), _AT_ONCE):
        some = range(start, min(start + _AT_ONCE, len(relation.names)))
        fields = ", ".join(_count_numbers(f"c{i}") for i in some)
        row = first(cursor, f"SELECT {fields} FROM (SELECT * FROM ({relation.query}) LIMIT {_SAMPLE})") or ()
        for i, (cells, grouped, whole, point, comma, three) in zip(some, row, strict=True):
            clear = point - grouped
            points |= clear > 0 and (whole + point) * 2 >= cells
            decimal = comma if relation.semicolons else comma - three
            commas |= decimal > 0 and (whole + grouped + comma) * 2 >= cells
            if grouped and not clear and (whole + grouped + comma) * 2 >= cells:
                candidates.append(i)
    commas |= relation.semicolons and not points
    doubtful = (i for i in candidates if commas and has_doubtful_points(cursor, f"({relation.query})", f"c{i}"))
    return replace(relation, commas=commas, doubtful=frozenset(doubtful))


def has_doubtful_points(cursor: Cursor, source: str, column: str) -> bool:
    """Return whether a text column contains points, and each point is followed by exactly three digits, as in 1.584.

    ``source`` is a table or a subquery.
    """
    grouped, point = (_count(column, pattern, ".") for pattern in (_GROUPED, _POINT))
    row = first(cursor, f"SELECT {grouped}, {point} FROM {source}")
    return row is not None and row[0] == row[1] > 0


def _count_numbers(column: str) -> str:
    """Return SQL that counts the numbers of a column by their format, as a list of six counts.

    The counts are: cells with a value; numbers with a point and three digits after it; numbers that consist of digits;
    numbers with a point; numbers with a comma; and numbers with groups of three digits separated by commas.
    """
    cells = f"count(CASE WHEN NOT {sql.missing(column)} THEN 1 END)"
    points = ", ".join((_count(column, _GROUPED, "."), _count(column, _WHOLE, ""), _count(column, _POINT, ".")))
    commas = ", ".join((_count(column, _COMMA, ","), _count(column, _THREE, ",")))
    return f"[{cells}, {points}, {commas}]"


def _count(column: str, pattern: str, mark: str) -> str:
    """Return SQL that counts the cells that match a pattern.

    Only cells that contain ``mark`` are matched, because the test for ``mark`` is much faster than the match.
    """
    with_mark = f"contains({column}, {sql.text(mark)}) AND " if mark else ""
    return f"count(CASE WHEN {with_mark}regexp_matches({column}, {sql.text(pattern)}) THEN 1 END)"
