"""SQL that several modules of the store use: quoting, column names, conversion of text to numbers, column arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection

from isoplan.engine.arrays import Ints
from isoplan.engine.store.columns.column import Column, TextKind, text_kind

NO_NUMBER = ("NA", "N/A", "n/a", "None", "none")
"""Words that mean a missing number. In a column that is used as text, these words are values: a group may
be called "None".
"""
_POWERS = {"k": 3, "m": 6, "b": 9, "g": 9, "t": 12, "p": 15}
_SUFFIXED = r"^\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([kKmMbBgGtTpP])\s*$"
_TEN_TO = r"^\s*(?:([+-]?(?:\d+\.?\d*|\.\d+))\s*[*x×]\s*)?10\^([+-]?\d+)\s*$"
_LETTERS = "kKmMbBgGtTpP"
# In a number with a suffix, points separate thousands only if a decimal comma follows: 1.500,5k matches. In 1.500k, the
# point is a decimal point, so 1.500k does not match.
_COMMA = (
    r"^\s*[+-]?(?:(?:\d{1,3}(?:\.\d{3})+|\d+)?(?:,\d+)?(?:[eE][+-]?\d+)?"
    rf"|(?:\d+|(?:\d{{1,3}}(?:\.\d{{3}})+|\d*),\d+)\s*[{_LETTERS}])\s*$"
)
_GROUPED = (
    r"^\s*[+-]?(?:\d+|\d{1,3}(?:[,'’_ \x{00A0}\x{202F}]\d{3})+)"
    rf"(?:\.\d+)?(?:(?:[eE][+-]?\d+)?|\s*[{_LETTERS}])\s*$"
)
_SEPARATORS = ",'’_ \u00a0\u202f"


def text(value: str) -> str:
    """Return ``value`` as an SQL string literal."""
    return "'" + value.replace("'", "''") + "'"


def path(file: Path) -> str:
    """Return the path ``file`` as an SQL string literal for a function such as read_csv, with escaped wildcards."""
    return text("".join(f"[{c}]" if c in "*?[" else c for c in str(file.resolve())))


def data(table_id: str) -> str:
    """Return the name of the SQL table that contains the rows of a run table."""
    return f"t_{table_id}"


def number(column: str, kind: TextKind | None = None) -> str:
    """Return an SQL expression that converts a text column to numbers, or to NULL where a cell is not a number.

    ``kind`` is the number format of the text, such as "comma" for a decimal comma.
    """
    # Without this condition, TRY_CAST would read 3_5 as 35 and +-3 as -3.
    accepted = f"NOT contains({column}, '_') AND NOT contains({column}, '+-')"
    plain = f"CASE WHEN {accepted} THEN TRY_CAST({column} AS DOUBLE) END"
    if kind is None or kind == "point":
        return plain
    if kind == "comma":
        return _read_scaled(column, _COMMA, lambda cell: f"replace(replace({cell}, '.', ''), ',', '.')")
    if kind == "thousands":
        return _read_scaled(column, _GROUPED, lambda cell: f"translate({cell}, {text(_SEPARATORS)}, '')")
    mantissa, suffix = (f"regexp_extract({column}, {text(_SUFFIXED)}, {i})" for i in (1, 2))
    suffixed = f"TRY_CAST({mantissa} AS DOUBLE) * CASE lower({suffix}) {_powers()} END"
    factor, power = (f"regexp_extract({column}, {text(_TEN_TO)}, {i})" for i in (1, 2))
    ten_to = f"TRY_CAST(coalesce(nullif({factor}, ''), '1') || 'e' || {power} AS DOUBLE)"
    return f"coalesce({plain}, {suffixed}, {ten_to})"


def _read_scaled(column: str, pattern: str, strip: Callable[[str], str]) -> str:
    """Return an SQL expression for cells that match ``pattern``: (number without separators) * (value of the suffix).

    ``strip`` returns the SQL that removes the separators. The expression matches each cell only once. This is many
    times faster than two regular expressions that extract the number and the suffix.
    """
    cell = f"rtrim(trim({column}), {text(_LETTERS + ' ')})"
    power = f"CASE lower(right(rtrim({column}), 1)) {_powers()} ELSE 1 END"
    return f"CASE WHEN regexp_matches({column}, {text(pattern)}) THEN TRY_CAST({strip(cell)} AS DOUBLE) * {power} END"


def _powers() -> str:
    return " ".join(f"WHEN '{letter}' THEN 1e{power}" for letter, power in _POWERS.items())


def missing(column: str) -> str:
    """Return the SQL condition that a text cell contains only spaces or a word for a missing number, such as NA."""
    return f"({column} IN ({', '.join(text(word) for word in NO_NUMBER)}) OR trim({column}) = '')"


def numeric(column: Column, position: int, conversion: str | None = None) -> str:
    """Return an SQL expression for the column at ``position`` as float64 in the unit of the file.

    The expression is NULL for a cell that is not a number. ``conversion`` is the conversion of the column in the
    mapping. Only its number format is applied, not its unit.
    """
    physical = f"c{position}"
    if column.kind == "text":
        return number(physical, text_kind(conversion))
    if column.kind == "date":
        return f"epoch({physical})"
    return f"CAST({physical} AS DOUBLE)"


def label(column: Column, position: int) -> str:
    """Return an SQL expression that converts the values of the column at ``position`` to text.

    Whole numbers have no decimal point: 3, not 3.0.
    """
    physical = f"c{position}"
    if column.kind == "number":
        whole = f"isfinite({physical}) AND {physical} = floor({physical}) AND abs({physical}) < 1e15"
        return (
            f"CASE WHEN {whole} THEN CAST(CAST({physical} AS BIGINT) AS VARCHAR) ELSE CAST({physical} AS VARCHAR) END"
        )
    return f"CAST({physical} AS VARCHAR)"


def read_columns(
    cursor: DuckDBPyConnection, table_id: str, fields: Mapping[str, str], ids: Ints, parameters: Sequence[object] = ()
) -> dict[str, Any]:
    """Evaluate the SQL expressions ``fields`` (alias -> expression) for the rows ``ids``.

    ``ids`` (n,) are ascending row ids, at least one. Returns alias -> array (n,).
    """
    first, last = int(ids[0]), int(ids[-1])
    chosen = ", ".join(["rid", *(f"{expression} AS {alias}" for alias, expression in fields.items())])
    query = f"SELECT {chosen} FROM {data(table_id)} WHERE rid BETWEEN {first} AND {last} ORDER BY rid"
    found = cursor.execute(query, list(parameters)).fetchnumpy()
    at = slice(None) if len(ids) == last - first + 1 else ids - first
    return {alias: found[alias][at] for alias in fields}
