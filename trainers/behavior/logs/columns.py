"""Columns of a table as arrays, read in batches of rows: names, numbers, times, categories and words of texts.

Each function converts one column of a batch of rows and checks each entry. The PlannerError for an invalid entry
contains its column and row. ``Column`` and ``Texts`` collect the converted batches of a column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.logs.log import UNKNOWN, Codes, Features
from isoplan.trainers.behavior.logs.table_files import Batch, Table

Kind = Literal["category", "number"]
Clock = Literal["number", "date", "zoned date"]
"""Format of a column of times: numbers, dates, or dates with a time zone."""
WRITTEN = {"date": "date like 2024-05-31 12:30:00", "zoned date": "date with a zone like 2024-05-31 12:30:00+02:00"}

AS_CATEGORY = "declare the column as a category"
LARGEST = float(np.finfo(np.float32).max)
"""Largest accepted number. Features are stored in single precision, which has no larger numbers."""
WORD = re.compile(r"\w+")


def names(table: Table, batch: Batch, column: str) -> Any:
    """Return the names of users or items in a column as an Arrow array of strings.

    Whole numbers become strings without a decimal point. Raises PlannerError for empty cells and for fractional
    numbers.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = batch.columns[column]
    if cells.null_count:
        _refuse_empty(table, batch, column)
    if pa.types.is_floating(cells.type):
        values = cells.to_numpy(zero_copy_only=False).astype(np.float64)
        bad = ~(np.abs(values) < 2**53) | (values != np.floor(values))
        if bad.any():
            row = int(bad.argmax())
            raise PlannerError(
                f"Column {column} of {table.name} has {values[row]:g} in row {batch.first + row}, which is not a name: "
                f"use texts or whole numbers."
            )
        cells = pc.cast(cells, pa.int64())
    return texts(table, batch, column, cells)


def texts(table: Table, batch: Batch, column: str, cells: Any = None) -> Any:
    """Return a column of any scalar type as an Arrow array of strings. Empty cells stay empty.

    If ``cells`` is given, these values are used in place of the column.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = batch.columns[column] if cells is None else cells
    try:
        return pc.cast(cells, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise PlannerError(
            f"Column {column} of {table.name} holds {cells.type}, not texts or numbers: leave the column out."
        ) from None


def numbers(table: Table, batch: Batch, column: str, instead: str = AS_CATEGORY) -> Floats:
    """Return the numbers of a column, (rows,).

    ``instead`` is the advice in the error for a cell with text. Raises PlannerError for empty cells and for cells that
    are not finite numbers.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = batch.columns[column]
    if cells.null_count:
        _refuse_empty(table, batch, column)
    try:
        if pa.types.is_string(cells.type):
            cells = pc.utf8_trim_whitespace(cells)
        found = pc.cast(cells, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        refuse_text(table, batch, column, instead)
    bad = ~(np.abs(found) <= LARGEST)
    if bad.any():
        row = int(bad.argmax())
        refuse_infinite(table, column, found[row], batch.first + row)
    return np.asarray(found)


def clock(batch: Batch, column: str) -> Clock:
    """Return the format of a column of times, determined from the type of the column and from its first cell."""
    import pyarrow as pa

    cells = batch.columns[column]
    if pa.types.is_timestamp(cells.type):
        return "zoned date" if cells.type.tz else "date"
    if pa.types.is_date(cells.type):
        return "date"
    first = str(cells[0].as_py())
    if not pa.types.is_string(cells.type) or parses(first):
        return "number"
    return "zoned date" if re.search(r"(Z|UTC|[+-]\d\d(:?\d\d)?)$", first[10:].strip()) else "date"


def moments(table: Table, batch: Batch, column: str, how: Clock) -> Floats:
    """Return the times of a column, (rows,).

    Numbers are returned without change, and dates as seconds since 1970. Dates without a time zone are interpreted as
    UTC. Digits of a second beyond the sixth decimal are ignored.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if how == "number":
        return numbers(table, batch, column, "write all times as dates")
    cells = batch.columns[column]
    if cells.null_count:
        _refuse_empty(table, batch, column)
    kind = pa.timestamp("us", "UTC" if how == "zoned date" else None)

    def cast(some: Any) -> Any:
        fine = pa.types.is_timestamp(some.type) and some.type.unit == "ns"
        return pc.cast(pc.cast(_written(some), kind, safe=not fine), pa.int64())

    try:
        found = cast(cells)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        row = _first_that(cells, cast)
        raise PlannerError(
            f"Column {column} of {table.name} has {cells[row].as_py()!r} in row {batch.first + row}, which is not a "
            f"{WRITTEN[how]}: write all times in this form, or all as numbers."
        ) from None
    return np.asarray(found.to_numpy(zero_copy_only=False) / 1e6)


def _written(cells: Any) -> Any:
    """Shorten the seconds of dates to six decimals, and replace the time zone "UTC" by "Z".

    Only cells with text are changed.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(cells.type):
        return cells
    return pc.replace_substring_regex(pc.replace_substring_regex(cells, r"(\.\d{6})\d+", r"\1"), r"\s*UTC$", "Z")


def parses(text: str | None) -> bool:
    """Return whether ``text`` is a number. NaN and infinity count as numbers."""
    try:
        float(text or "")
    except ValueError:
        return False
    return "_" not in (text or "")


def is_number(text: str | None) -> bool:
    """Return whether ``text`` is a finite number."""
    return parses(text) and math.isfinite(float(text or ""))


def refuse_infinite(table: Table, column: str, number: float, row: int) -> NoReturn:
    """Raise a PlannerError about a ``number`` in row ``row`` that is not finite."""
    raise PlannerError(
        f"Column {column} of {table.name} has {number:g} in row {row}, which is not a finite number: correct "
        f"the row, or "
        f"leave the column out."
    )


def refuse_text(table: Table, batch: Batch, column: str, instead: str = AS_CATEGORY) -> NoReturn:
    """Raise a PlannerError about the first text in a column of numbers. ``instead`` is the advice in the message."""
    _refuse_mixed(table, batch, column, lambda text: not parses(text), instead)


class Coder:
    """Integer codes of strings. New strings get the next code, counted from ``first``."""

    def __init__(self, known: Iterable[str] = (), first: int = 0) -> None:
        self.first = first
        self.codes = {text: code for code, text in enumerate(known, first)}

    def code(self, cells: Any, grow: bool = True) -> tuple[Codes, list[str]]:
        """Return the code of each cell, (rows,), and the list of strings that had no code before.

        If ``grow`` is True, these strings get new codes. Otherwise, the code of their cells is -1. Empty cells always
        have the code -1.
        """
        held = cells.dictionary_encode()
        distinct = held.dictionary.to_pylist()
        new = [text for text in distinct if text not in self.codes]
        if grow:
            start = self.first + len(self.codes)
            self.codes.update({text: code for code, text in enumerate(new, start)})
        places = np.array([*(self.codes.get(text, -1) for text in distinct), -1], np.int32)
        return places[held.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)], new


def _refuse_empty(table: Table, batch: Batch, column: str) -> NoReturn:
    row = int(np.argmax(batch.columns[column].is_null().to_numpy(zero_copy_only=False)))
    raise PlannerError(
        f"Column {column} of {table.name} is empty in row {batch.first + row}: fill it in, or leave the row out."
    )


def _refuse_mixed(table: Table, batch: Batch, column: str, odd: Callable[[str | None], bool], instead: str) -> NoReturn:
    for row, text in enumerate(batch.columns[column].to_pylist()):
        if text is not None and odd(str(text)):
            others = "texts" if odd is is_number else "numbers"
            raise PlannerError(
                f"Column {column} of {table.name} has {text!r} in row {batch.first + row}, but other rows contain "
                f"{others}: correct the row, or {instead}."
            )
    raise PlannerError(
        f"Column {column} of {table.name} holds {batch.columns[column].type}, not numbers: leave the column out."
    )


def _first_that(cells: Any, cast: Callable[[Any], Any]) -> int:
    """Return the index of the first cell for which ``cast`` raises an error, found by bisection."""
    import pyarrow as pa

    low, high = 0, len(cells)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            cast(cells.slice(low, middle - low))
            low = middle
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            high = middle
    return low


MOST_CATEGORIES = 2**16
"""Maximum number of distinct strings in a column of categories."""
MOST_WORDS = 64
"""Maximum number of words that are stored for the text of an item."""
VOCABULARY = 2**15
"""Upper limit of word numbers. All words whose number would reach this limit have the number ``RARE``."""
RARE = 1
"""The common number of all words that have no number of their own."""


class Column:
    """A column of features while a table is read. If ``kind`` is None, the first cells determine the kind."""

    def __init__(self, table: Table, name: str, kind: Kind | None) -> None:
        self.table, self.name, self.kind, self.said = table, name, kind, kind is not None
        self.coder = Coder(first=UNKNOWN + 1)
        self.parts: list[NDArray[Any]] = []

    def add(self, batch: Batch) -> None:
        """Add the cells of one batch. Raises PlannerError if a cell does not have the kind of the column."""
        cells = batch.columns[self.name]
        if self.kind is None and cells.null_count < len(cells):
            self.kind = self._told(batch)
            if self.kind == "number" and self.parts:
                self._refuse_first()
        if self.kind == "number":
            self.parts.append(numbers(self.table, batch, self.name).astype(np.float32))
            return
        codes, new = self.coder.code(texts(self.table, batch, self.name))
        if not self.said and any(map(is_number, new)):
            _refuse_mixed(self.table, batch, self.name, is_number, AS_CATEGORY)
        if len(self.coder.codes) > MOST_CATEGORIES:
            raise PlannerError(
                f"Column {self.name} of {self.table.name} has more than {MOST_CATEGORIES:,} different texts: "
                f"declare it as text, or leave the column out."
            )
        self.parts.append(np.maximum(codes, UNKNOWN))

    def _told(self, batch: Batch) -> Kind | None:
        """Return the kind of the column from the first cell that is a text or a finite number.

        The result is None if all cells of the batch are empty, NaN or infinite.
        """
        import pyarrow as pa

        cells = batch.columns[self.name]
        if pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type) or pa.types.is_decimal(cells.type):
            return "number"
        held = texts(self.table, batch, self.name).drop_null().unique().to_pylist()
        first = next((text for text in held if is_number(text) or not parses(text)), None)
        if first is None:
            return None
        if is_number(first) and not all(map(parses, held)):
            refuse_text(self.table, batch, self.name)
        return "number" if is_number(first) else "category"

    def _refuse_first(self) -> NoReturn:
        """Raise a PlannerError about row 1 of a column of numbers.

        Row 1 is empty or infinite. It was accepted because the kind of the column was not known until a later row.
        """
        if self.parts[0][0] == UNKNOWN:
            raise PlannerError(
                f"Column {self.name} of {self.table.name} is empty in row 1: fill it in, or leave the row out."
            )
        refuse_infinite(self.table, self.name, float(next(iter(self.coder.codes))), 1)

    def finish(self) -> NDArray[Any]:
        """Return the values of all rows as one array (rows,), and free the memory of the batches."""
        whole = np.concatenate(self.parts)
        self.parts.clear()
        return whole


def gathered(columns: Sequence[Column], rows: int) -> Features:
    """Return the features of a table with ``rows`` rows from its ``columns``."""
    categories = [column for column in columns if column.kind != "number"]
    values = [column for column in columns if column.kind == "number"]
    codes = _stacked(categories, np.zeros((rows, len(categories)), np.int32))
    sizes = tuple(len(column.coder.codes) + 1 for column in categories)
    found = _stacked(values, np.zeros((rows, len(values)), np.float32))
    return Features(codes, sizes, found, tuple(c.name for c in categories), tuple(c.name for c in values))


def _stacked(columns: Sequence[Column], whole: NDArray[Any]) -> NDArray[Any]:
    """Write the columns into ``whole`` (rows, columns) and return ``whole``.

    The memory of each column is freed after its copy, to limit the peak memory.
    """
    for place, column in enumerate(columns):
        whole[:, place] = column.finish()
    return whole


class Texts:
    """The first words of each text of a table, in lower case, while the table is read.

    Until ``finish``, words are numbered from 0 in the order in which they first appear. ``finish`` renumbers the words
    by frequency.
    """

    def __init__(self, table: Table, columns: Sequence[str]) -> None:
        self.table, self.columns = table, columns
        self.codes, self.lengths, self.parts = dict[str, int](), list[int](), list[Codes]()

    def add(self, batch: Batch, rows: Ints | None = None) -> None:
        """Add the words of all rows of a batch, or only of the given ``rows``."""
        import pyarrow as pa

        found = [texts(self.table, batch, name) for name in self.columns]
        if rows is not None:
            found = [cells.take(pa.array(rows)) for cells in found]
        rows_of_texts = zip(*(cells.to_pylist() for cells in found), strict=True)
        words = (WORD.findall(" ".join(filter(None, row)).lower())[:MOST_WORDS] for row in rows_of_texts)
        lists = [[self.codes.setdefault(word, len(self.codes)) for word in some] for some in words]
        self.lengths.extend(map(len, lists))
        self.parts.append(np.fromiter(chain.from_iterable(lists), np.int32))

    def finish(self, rows: int) -> tuple[Codes, Ints, int]:
        """Return the tokens (words,), the offsets of the rows in the tokens (rows + 1,), and the vocabulary size.

        Frequent words have small numbers.
        """
        if not self.columns:
            return np.zeros(0, np.int32), np.zeros(rows + 1, np.int64), 1
        whole = np.concatenate(self.parts)
        counts = np.bincount(whole, minlength=len(self.codes))
        numbers_ = np.empty(len(counts), np.int32)
        numbers_[np.argsort(-counts, kind="stable")] = np.arange(len(counts)) + RARE + 1
        numbers_[numbers_ >= VOCABULARY] = RARE
        starts = np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)])
        return numbers_[whole], starts, int(min(len(counts) + RARE + 1, VOCABULARY))
