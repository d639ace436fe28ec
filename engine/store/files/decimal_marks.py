"""Decimal marks of a text file: whether the point in numbers such as 100.000 is decimal or separates thousands."""

from __future__ import annotations

from dataclasses import replace

from isoplan.engine.store.database import sql
from isoplan.engine.store.database.database import Cursor, first
from isoplan.engine.store.files.text import Relation

_SAMPLE = 1000
_AT_ONCE = 50
_GROUPED = r"^\s*[+-]?[1-9]\d{0,2}\.\d{3}\s*$"
_WHOLE = r"^\s*[+-]?\d+\s*$"
_POINT = r"^\s*[+-]?\d*\.\d+(?:[eE][+-]?\d+)?\s*$"
_COMMA = r"^\s*[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)?,\d+(?:[eE][+-]?\d+)?\s*$"
_THREE = r"^\s*[+-]?[1-9]\d{0,2}(?:,\d{3})+\s*$"


def decided(cursor: Cursor, relation: Relation) -> Relation:
    """Return the relation of a text file with ``commas`` and ``doubtful`` set from its cells.

    Commas are decimal if a column has decimal commas, or if ";" separates the cells and no point is clearly decimal.
    A column is then doubtful if each of its points has exactly three digits after it.
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
    doubtful = (i for i in candidates if commas and _is_all_grouped(cursor, relation, f"c{i}"))
    return replace(relation, commas=commas, doubtful=frozenset(doubtful))


def in_doubt(cursor: Cursor, table: str, column: str) -> bool:
    """Return whether a stored text column has points, each with exactly three digits after it."""
    return _has_only_grouped_points(cursor, f"SELECT {column} FROM {table}", column)


def _is_all_grouped(cursor: Cursor, relation: Relation, column: str) -> bool:
    return _has_only_grouped_points(cursor, f"SELECT {column} FROM ({relation.query})", column)


def _has_only_grouped_points(cursor: Cursor, query: str, column: str) -> bool:
    grouped, point = (_count(column, pattern, ".") for pattern in (_GROUPED, _POINT))
    row = first(cursor, f"SELECT {grouped}, {point} FROM ({query})")
    return row is not None and row[0] == row[1] > 0


def _count_numbers(column: str) -> str:
    """Return an SQL list of six counts of a column.

    They count the cells, the numbers with a point and three digits, the numbers of digits only, the numbers with a
    point, the numbers with a comma, and the numbers with comma-separated groups of three digits.
    """
    cells = f"count(CASE WHEN NOT {sql.missing(column)} THEN 1 END)"
    points = ", ".join((_count(column, _GROUPED, "."), _count(column, _WHOLE, ""), _count(column, _POINT, ".")))
    commas = ", ".join((_count(column, _COMMA, ","), _count(column, _THREE, ",")))
    return f"[{cells}, {points}, {commas}]"


def _count(column: str, pattern: str, mark: str) -> str:
    """Return SQL that counts the cells that match a pattern; the fast test for ``mark`` precedes the slow match."""
    with_mark = f"contains({column}, {sql.text(mark)}) AND " if mark else ""
    return f"count(CASE WHEN {with_mark}regexp_matches({column}, {sql.text(pattern)}) THEN 1 END)"
