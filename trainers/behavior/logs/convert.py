"""Conversion of the cells of a table to names, numbers, times and words, in batches of rows.

Each function takes one column of a batch from ``tables``, checks every cell, and raises PlannerError with the column
and the row of the first invalid cell.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.logs.table_files import Batch, Table

Codes = NDArray[np.int32]
Clock = Literal["number", "date", "zoned date"]
"""Format of a column of times: numbers, dates, or dates with a time zone."""
WRITTEN = {"date": "date like 2024-05-31 12:30:00", "zoned date": "date with a zone like 2024-05-31 12:30:00+02:00"}

AS_CATEGORY = "name the column as a category"
LARGEST = float(np.finfo(np.float32).max)
"""Largest accepted number, because features are stored in single precision."""
WORD = re.compile(r"\w+")


def names(table: Table, batch: Batch, column: str) -> Any:
    """Return ids as an Arrow array of texts. Whole numbers have no decimal point; empty cells are invalid."""
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
                f"Column {column} of {table.name} has {values[row]:g} in row {batch.first + row}, which names nothing: "
                f"use texts or whole numbers."
            )
        cells = pc.cast(cells, pa.int64())
    return texts(table, batch, column, cells)


def texts(table: Table, batch: Batch, column: str, cells: Any = None) -> Any:
    """Return cells of any scalar type as an Arrow array of texts. Empty cells stay empty."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = batch.columns[column] if cells is None else cells
    try:
        return pc.cast(cells, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise PlannerError(
            f"Column {column} of {table.name} holds {cells.type} and not texts or numbers: leave it out."
        ) from None


def numbers(table: Table, batch: Batch, column: str, instead: str = AS_CATEGORY) -> Floats:
    """Return finite numbers, (rows,). Empty cells are invalid.

    ``instead`` is the advice in the error if the cells are not numbers.
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
    """Return the format of a column of times, from its first cell."""
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
    """Return times, (rows,): numbers unchanged, dates as seconds since 1970 (UTC if they have no zone).

    Digits below a microsecond are dropped.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if how == "number":
        return numbers(table, batch, column, "write all moments as dates")
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
            f"Column {column} of {table.name} has {cells[row].as_py()!r} in row {batch.first + row}, which is no "
            f"{WRITTEN[how]}: write all moments so, or all as numbers."
        ) from None
    return np.asarray(found.to_numpy(zero_copy_only=False) / 1e6)


def _written(cells: Any) -> Any:
    """Normalise dates in texts: at most six decimals of a second, and "Z" for the zone "UTC"."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(cells.type):
        return cells
    return pc.replace_substring_regex(pc.replace_substring_regex(cells, r"(\.\d{6})\d+", r"\1"), r"\s*UTC$", "Z")


def parses(text: str | None) -> bool:
    """Return whether a cell can be read as a number, finite or not."""
    try:
        float(text or "")
    except ValueError:
        return False
    return "_" not in (text or "")


def is_number(text: str | None) -> bool:
    """Return whether a cell has a finite number."""
    return parses(text) and math.isfinite(float(text or ""))


def refuse_infinite(table: Table, column: str, number: float, row: int) -> NoReturn:
    """Raise PlannerError for a number that is not finite."""
    raise PlannerError(
        f"Column {column} of {table.name} has {number:g} in row {row}, which is no finite number: correct the row, or "
        f"leave the column out."
    )


def refuse_number(table: Table, batch: Batch, column: str) -> NoReturn:
    """Raise PlannerError for the first number in a column of texts."""
    _refuse_mixed(table, batch, column, is_number, AS_CATEGORY)


def refuse_text(table: Table, batch: Batch, column: str, instead: str = AS_CATEGORY) -> NoReturn:
    """Raise PlannerError for the first text in a column of numbers."""
    _refuse_mixed(table, batch, column, lambda text: not parses(text), instead)


class Coder:
    """Integer codes of texts, from ``first`` on, in order of first appearance."""

    def __init__(self, known: Iterable[str] = (), first: int = 0) -> None:
        self.first = first
        self.codes = {text: code for code, text in enumerate(known, first)}

    def code(self, cells: Any, grow: bool = True) -> tuple[Codes, list[str]]:
        """Return the code of each cell, (rows,), and the new texts. New texts get the code -1 unless ``grow``.

        Empty cells have the code -1 too.
        """
        held = cells.dictionary_encode()
        distinct = held.dictionary.to_pylist()
        new = [text for text in distinct if text not in self.codes]
        if grow:
            start = self.first + len(self.codes)
            self.codes.update({text: code for code, text in enumerate(new, start)})
        places = np.array([*(self.codes.get(text, -1) for text in distinct), -1], np.int32)
        return places[held.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)], new


class Words:
    """Word numbers of texts. Words get their final order after all texts are read."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}

    def split(self, text: str | None, most: int) -> list[int]:
        """Return the first ``most`` words of a text, in lower case, as numbers from 0 in order of first appearance."""
        found = WORD.findall(text.lower())[:most] if text else []
        return [self.codes.setdefault(word, len(self.codes)) for word in found]


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
                f"Column {column} of {table.name} has {text!r} in row {batch.first + row} where others are {others}: "
                f"correct the row, or {instead}."
            )
    raise PlannerError(
        f"Column {column} of {table.name} holds {batch.columns[column].type} and not numbers: leave it out."
    )


def _first_that(cells: Any, cast: Callable[[Any], Any]) -> int:
    """Return the index of the first cell for which ``cast`` raises, by bisection."""
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
