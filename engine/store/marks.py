"""Decimal commas or points: what the cells of a text file say of the point in numbers such as 100.000."""

from __future__ import annotations

from dataclasses import replace

from engine.store import sql
from engine.store.database import Cursor, first
from engine.store.text import Relation

_SAMPLE = 1000
_AT_ONCE = 50
_GROUPED = r"^\s*[+-]?[1-9]\d{0,2}\.\d{3}\s*$"
_WHOLE = r"^\s*[+-]?\d+\s*$"
_POINT = r"^\s*[+-]?\d*\.\d+(?:[eE][+-]?\d+)?\s*$"
_COMMA = r"^\s*[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)?,\d+(?:[eE][+-]?\d+)?\s*$"
_THREE = r"^\s*[+-]?[1-9]\d{0,2}(?:,\d{3})+\s*$"


def decided(cursor: Cursor, relation: Relation) -> Relation:
    """The relation of a text file with what its cells say of commas and points.

    Commas are decimal where a column has them, and where ";" separates the cells and no number has a point that is
    clearly a decimal one. The points of a column whose numbers have three digits after each of them are then in doubt.
    """
    points = commas = False
    candidates = []
    for start in range(0, len(relation.names), _AT_ONCE):
        some = range(start, min(start + _AT_ONCE, len(relation.names)))
        fields = ", ".join(_evidence(f"c{i}") for i in some)
        row = first(cursor, f"SELECT {fields} FROM (SELECT * FROM ({relation.query}) LIMIT {_SAMPLE})") or ()
        for i, (cells, grouped, whole, point, comma, three) in zip(some, row, strict=True):
            clear = point - grouped
            points |= clear > 0 and (whole + point) * 2 >= cells
            found = comma if relation.semicolons else comma - three
            commas |= found > 0 and (whole + grouped + comma) * 2 >= cells
            if grouped and not clear and (whole + grouped + comma) * 2 >= cells:
                candidates.append(i)
    commas |= relation.semicolons and not points
    doubtful = (i for i in candidates if commas and _all_grouped(cursor, relation, f"c{i}"))
    return replace(relation, commas=commas, doubtful=frozenset(doubtful))


def in_doubt(cursor: Cursor, table: str, column: str) -> bool:
    """Whether every point in the numbers of a stored column of text has three digits after it, and one is there."""
    return _grouped_alone(cursor, f"SELECT {column} FROM {table}", column)


def _all_grouped(cursor: Cursor, relation: Relation, column: str) -> bool:
    return _grouped_alone(cursor, f"SELECT {column} FROM ({relation.query})", column)


def _grouped_alone(cursor: Cursor, query: str, column: str) -> bool:
    grouped, point = (_count(column, pattern, ".") for pattern in (_GROUPED, _POINT))
    row = first(cursor, f"SELECT {grouped}, {point} FROM ({query})")
    return row is not None and row[0] == row[1] > 0


def _evidence(column: str) -> str:
    """Cells; those of a point and three digits, of digits alone, with any point, with a comma, with groups of three."""
    cells = f"count(CASE WHEN NOT {sql.missing(column)} THEN 1 END)"
    points = ", ".join((_count(column, _GROUPED, "."), _count(column, _WHOLE, ""), _count(column, _POINT, ".")))
    commas = ", ".join((_count(column, _COMMA, ","), _count(column, _THREE, ",")))
    return f"[{cells}, {points}, {commas}]"


def _count(column: str, pattern: str, mark: str) -> str:
    """How many cells fit a pattern; a cell without its ``mark`` is not compared, which is slow."""
    with_mark = f"contains({column}, {sql.text(mark)}) AND " if mark else ""
    return f"count(CASE WHEN {with_mark}regexp_matches({column}, {sql.text(pattern)}) THEN 1 END)"
