"""Table files as streams of columns: CSV with a header, Parquet, and lines of ``user item``.

Table cells are not converted: text files give strings, and Parquet files give the stored type. Rows are counted from 1,
without the header. Only one batch of rows is in memory.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from isoplan.engine.errors import PlannerError

USER = ("user", "user_id", "userid", "uid", "customer", "customer_id", "visitor_id", "visitorid", "reviewerid")
ITEM = (
    "item",
    "item_id",
    "itemid",
    "iid",
    "product",
    "product_id",
    "article_id",
    "parent_asin",
    "asin",
    "movieid",
    "sku",
)
TIME = ("time", "timestamp", "ts", "datetime", "date", "event_time", "created_at", "unixreviewtime")
TEXT = ("text", "title", "description", "name", "item_name", "product_name")


WIDE = {" ": re.compile(rb"[ \t]{2,}|\t"), "\t": re.compile(rb" *\t[ \t]+| +\t")}
"""Pattern of successive blanks that count as one delimiter between two table cells, for each delimiter."""
EDGES = re.compile(rb"^[ \t]+|[ \t]+(?=\r?$)", re.MULTILINE)


def tidy(lines: bytes, delimiter: str) -> bytes:
    """Return ``lines`` with exactly one delimiter between two cells, and none at the beginning or the end of a line."""
    return EDGES.sub(b"", WIDE[delimiter].sub(delimiter.encode(), lines))


def delimiter_of(line: str) -> str:
    """Return the delimiter between the cells of a line: a tab if the line contains one, otherwise a space."""
    return "\t" if "\t" in line.strip() else " "


def names_columns(line: str) -> bool:
    """Return whether a line of two cells is a header.

    A header has a name of the user column in the first cell or a name of the item column in the second.
    """
    cells = _cells(line)
    return len(cells) == 2 and (cells[0] in USER or cells[1] in ITEM)


def names_item_first(line: str) -> bool:
    """Return whether a line is a header with the item column before the user column, which is the wrong order."""
    cells = _cells(line)
    return len(cells) == 2 and cells[0] in ITEM and cells[1] in USER


def _cells(line: str) -> list[str]:
    return [cell.strip().lower() for cell in line.split(delimiter_of(line)) if cell.strip()]


class Tidied(io.RawIOBase):
    """A file of lines ``user item``, passed through ``tidy`` in blocks of ``block`` bytes."""

    def __init__(self, file: Any, delimiter: str, block: int) -> None:
        self.file, self.delimiter, self.block = file, delimiter, block
        self.ready, self.rest, self.ended = b"", b"", False

    def readable(self) -> bool:
        """Return True: the file is readable."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return at most ``size`` bytes. The result is empty only at the end of the file."""
        while not self.ready and not self.ended:
            data = self.file.read(self.block)
            whole, self.ended = self.rest + data, not data
            cut = len(whole) if self.ended or len(whole) > 2 * self.block else whole.rfind(b"\n") + 1
            self.ready, self.rest = tidy(whole[:cut], self.delimiter), whole[cut:]
        size = len(self.ready) if size < 0 else size
        part, self.ready = self.ready[:size], self.ready[size:]
        return part


BLOCK_BYTES = 2**22
"""Maximum number of bytes that are read from a text file at once. A row cannot be longer."""
BLOCK_ROWS = 2**16
"""Number of rows of a Parquet file that are read at once."""
PLAIN = ("user", "item")
"""Names of the two columns of a file of lines ``user item``."""
DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class Table:
    """A table file: its path and format, its columns in order, and the delimiter of a text file.

    ``header`` is True if the first line of a text file contains the names of the columns.
    """

    path: Path
    kind: Literal["csv", "parquet", "plain"]
    columns: tuple[str, ...]
    delimiter: str = ","
    header: bool = False

    @property
    def name(self) -> str:
        """The name of the file, for error messages."""
        return self.path.name


@dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive rows of a table, as Arrow arrays by column name. ``first`` is the number of the first row."""

    first: int
    columns: Mapping[str, Any]


def open_table(path: Path) -> Table:
    """Return the table of a file. The function reads only the header.

    The extension determines the format: ``.parquet`` and ``.pq`` are Parquet, ``.txt`` is lines of ``user item``, and
    any other extension is CSV. Text files can be compressed (``.gz``). The case of extensions and spaces around column
    names are ignored. Raises PlannerError if a file is missing, empty or damaged, or if a ``.txt`` file starts with a
    header that has the item column before the user column.
    """
    suffix = [s.lower() for s in path.suffixes if s.lower() != ".gz"][-1:]
    if not path.is_file():
        raise PlannerError(f"There is no file {path}: give a CSV or Parquet file of events.")
    if not path.stat().st_size:
        raise PlannerError(f"{path.name} is empty: give a file with a row for each event or item.")
    if suffix in ([".parquet"], [".pq"]):
        return _parquet(path)
    head = _head(path)
    if suffix == [".txt"]:
        if names_item_first(head):
            raise PlannerError(f"{path.name} begins with {head.strip()!r}: put the user before the item in each line.")
        return Table(path, "plain", PLAIN, delimiter_of(head), names_columns(head))
    delimiter = max(DELIMITERS, key=head.count)
    return _known_once(Table(path, "csv", tuple(_header(path, delimiter)), delimiter, header=True))


def batches(table: Table, names: Sequence[str]) -> Iterator[Batch]:
    """Yield the columns ``names`` in batches of rows.

    Raises PlannerError if a row cannot be read or if there are no rows.
    """
    batches_of_file = _parquet_batches(table, names) if table.kind == "parquet" else _text_batches(table, names)
    first = 1
    for columns, rows in batches_of_file:
        if rows:
            yield Batch(first, columns)
        first += rows
    if first == 1:
        raise PlannerError(f"{table.name} has no rows: give a file with a row for each event or item.")


def _known_once(table: Table) -> Table:
    for name in table.columns:
        if table.columns.count(name) > 1:
            raise PlannerError(f"{table.name} has two columns {name!r}: rename one of them.")
    return table


def _parquet(path: Path) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            return _known_once(Table(path, "parquet", tuple(file.schema_arrow.names)))
    except (pa.ArrowException, OSError):
        raise _damaged(path) from None


def _parquet_batches(table: Table, names: Sequence[str]) -> Iterator[tuple[dict[str, Any], int]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(table.path) as file:
            for batch in file.iter_batches(BLOCK_ROWS, columns=list(names), use_threads=False):
                yield {name: _plain(batch.column(name)) for name in names}, batch.num_rows
    except (pa.ArrowException, OSError):
        raise _damaged(table.path) from None


def _plain(cells: Any) -> Any:
    """Convert texts to a single type of Arrow array. Parquet files can encode texts in several ways."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if pa.types.is_large_string(cells.type) or pa.types.is_string_view(cells.type):
        return pc.cast(cells, pa.string())
    return cells


def _damaged(path: Path) -> PlannerError:
    return PlannerError(f"{path.name} is damaged, cut short or not a Parquet file: copy it or export it again.")


def _stream(path: Path) -> Any:
    """Return the decompressed bytes of a text file as a stream."""
    import pyarrow as pa

    return pa.input_stream(path, compression="gzip" if path.suffix.lower() == ".gz" else None)


def _head(path: Path) -> str:
    """Return the first line of a text file."""
    import pyarrow as pa

    try:
        with _stream(path) as file:
            line = file.read(BLOCK_BYTES).split(b"\n", 1)[0].strip(b"\r")
        return str(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise PlannerError(f"{path.name} is not UTF-8 text: save it again as CSV in UTF-8.") from None
    except (pa.ArrowException, OSError):
        raise PlannerError(f"{path.name} cannot be read: copy it or save it again.") from None


def _header(path: Path, delimiter: str) -> list[str]:
    import csv

    names = [name.strip() for name in next(csv.reader([_head(path)], delimiter=delimiter, skipinitialspace=True), [])]
    if not any(names):
        raise PlannerError(f"{path.name} begins with an empty line: begin it with the names of the columns.")
    return names


def _text_batches(table: Table, names: Sequence[str]) -> Iterator[tuple[dict[str, Any], int]]:
    import pyarrow as pa
    from pyarrow import csv

    wrong: list[Any] = []

    def refuse(row: Any) -> str:
        wrong.append(row)
        return "error"

    quoted = table.kind == "csv"
    read = csv.ReadOptions(
        use_threads=False, block_size=BLOCK_BYTES, column_names=list(table.columns), skip_rows=int(table.header)
    )
    parse = csv.ParseOptions(
        delimiter=table.delimiter,
        quote_char='"' if quoted else False,
        newlines_in_values=quoted,
        invalid_row_handler=refuse,
    )
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(table.columns, pa.string()),
        include_columns=list(dict.fromkeys([*names, table.columns[-1]])),
        null_values=[""],
        strings_can_be_null=True,
    )
    rows, last = 0, ""
    try:
        # Do not close the file here: the CSV reader may still read later blocks.
        file = _stream(table.path)
        source = file if quoted else Tidied(file, table.delimiter, BLOCK_BYTES)
        for batch in csv.open_csv(source, read, parse, convert):
            yield {name: batch.column(name) for name in names}, batch.num_rows
            rows += batch.num_rows
            last = str(batch.column(table.columns[-1])[-1].as_py()) if batch.num_rows else last
        if quoted and "\n" in last and not _ends_quoted(table.path):
            raise PlannerError(f"Row {rows} of {table.name} has a quotation mark that is not closed: correct that row.")
    except (pa.ArrowException, OSError) as error:
        if wrong:
            raise PlannerError(
                f"Row {wrong[0].number - table.header} of {table.name} has {wrong[0].actual_columns} values, not "
                f"{wrong[0].expected_columns}: correct this row."
            ) from None
        if "UTF8" in str(error):
            raise PlannerError(
                f"{table.name} is not UTF-8 text after row {rows}: save it again as CSV in UTF-8."
            ) from None
        if "Empty CSV file" in str(error) or "Could not skip" in str(error):
            return
        raise PlannerError(
            f"{table.name} cannot be read after row {rows}: close its quotation marks and save it again as CSV."
        ) from None


def _ends_quoted(path: Path) -> bool:
    """Return whether the last non-blank character of a text file is a quotation mark."""
    end = b""
    with _stream(path) as file:
        while block := file.read(BLOCK_BYTES):
            end = block.rstrip()[-1:] or end
    return end == b'"'
