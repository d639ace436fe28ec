"""Columns that are read in batches and stored as arrays: categories, numbers and words of texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Ints
from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.logs.columns import Kind
from isoplan.trainers.behavior.logs.convert import (
    Coder,
    Words,
    is_number,
    numbers,
    parses,
    refuse_infinite,
    refuse_number,
    refuse_text,
    texts,
)
from isoplan.trainers.behavior.logs.log import UNKNOWN, Codes, Features
from isoplan.trainers.behavior.logs.table_files import Batch, Table

MOST_CATEGORIES = 2**16
"""Maximum number of distinct texts in a column of categories."""
MOST_WORDS = 64
"""Maximum number of words that are kept of an item's text."""
VOCABULARY = 2**15
"""Maximum number of word numbers. The rarest words beyond it share ``RARE``."""
RARE = 1
"""Number of all words without their own number."""


class Column:
    """One column of features while it is read. Without a given kind, its first cells determine the kind."""

    def __init__(self, table: Table, name: str, kind: Kind | None) -> None:
        self.table, self.name, self.kind, self.said = table, name, kind, kind is not None
        self.coder = Coder(first=UNKNOWN + 1)
        self.parts: list[NDArray[Any]] = []

    def add(self, batch: Batch) -> None:
        """Add the cells of one batch. Raises PlannerError if their kind differs from that of earlier cells."""
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
            refuse_number(self.table, batch, self.name)
        if len(self.coder.codes) > MOST_CATEGORIES:
            raise PlannerError(
                f"Column {self.name} of {self.table.name} has more than {MOST_CATEGORIES:,} different texts: name it "
                f"as text, or leave it out."
            )
        self.parts.append(np.maximum(codes, UNKNOWN))

    def _told(self, batch: Batch) -> Kind | None:
        """Return the kind from the first number or text of a batch, or None if all values are NaN or infinite."""
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
        """Raise PlannerError for row 1 of a column of numbers that starts with an empty or infinite cell."""
        if self.parts[0][0] == UNKNOWN:
            raise PlannerError(
                f"Column {self.name} of {self.table.name} is empty in row 1: fill it in, or leave the row out."
            )
        refuse_infinite(self.table, self.name, float(next(iter(self.coder.codes))), 1)

    def finish(self) -> NDArray[Any]:
        """Return all cells, (rows,), and free the parts."""
        whole = np.concatenate(self.parts)
        self.parts.clear()
        return whole


def gathered(columns: Sequence[Column], rows: int) -> Features:
    """Return the features of ``rows`` rows from their columns."""
    categories = [column for column in columns if column.kind != "number"]
    values = [column for column in columns if column.kind == "number"]
    codes = _stacked(categories, np.zeros((rows, len(categories)), np.int32))
    sizes = tuple(len(column.coder.codes) + 1 for column in categories)
    found = _stacked(values, np.zeros((rows, len(values)), np.float32))
    return Features(codes, sizes, found, tuple(c.name for c in categories), tuple(c.name for c in values))


def _stacked(columns: Sequence[Column], whole: NDArray[Any]) -> NDArray[Any]:
    """Write the columns into ``whole`` and return it. Only one column at a time is in memory twice."""
    for place, column in enumerate(columns):
        whole[:, place] = column.finish()
    return whole


class Texts:
    """The words of rows while they are read."""

    def __init__(self, table: Table, columns: Sequence[str]) -> None:
        self.table, self.columns = table, columns
        self.words, self.lengths, self.parts = Words(), list[int](), list[Codes]()

    def add(self, batch: Batch, rows: Ints | None = None) -> None:
        """Add the words of all rows of a batch, or of the given ``rows``."""
        import pyarrow as pa

        found = [texts(self.table, batch, name) for name in self.columns]
        if rows is not None:
            found = [cells.take(pa.array(rows)) for cells in found]
        lists = [
            self.words.split(" ".join(filter(None, row)), MOST_WORDS)
            for row in zip(*(cells.to_pylist() for cells in found), strict=True)
        ]
        self.lengths.extend(map(len, lists))
        self.parts.append(np.fromiter(chain.from_iterable(lists), np.int32))

    def finish(self, rows: int) -> tuple[Codes, Ints, int]:
        """Return the tokens (words,), starts (rows + 1,) and the vocabulary size. Frequent words have small numbers."""
        if not self.columns:
            return np.zeros(0, np.int32), np.zeros(rows + 1, np.int64), 1
        whole = np.concatenate(self.parts)
        counts = np.bincount(whole, minlength=len(self.words.codes))
        numbers_ = np.empty(len(counts), np.int32)
        numbers_[np.argsort(-counts, kind="stable")] = np.arange(len(counts)) + RARE + 1
        numbers_[numbers_ >= VOCABULARY] = RARE
        starts = np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)])
        return numbers_[whole], starts, int(min(len(counts) + RARE + 1, VOCABULARY))


def gather(table: Table, features: Mapping[str, Kind | None]) -> list[Column]:
    """Return an empty column for each of the ``features``."""
    return [Column(table, name, kind) for name, kind in features.items()]


def add_all(columns: Iterable[Column], batch: Batch) -> None:
    """Add one batch to every column."""
    for column in columns:
        column.add(batch)
