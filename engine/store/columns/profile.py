"""Profiles of stored columns: range, missing cells, examples, and the proposed conversion of text."""

from __future__ import annotations

from typing import Any

from isoplan.engine.store.columns.column import Column, Conversion, Kind, TextKind, text_kind
from isoplan.engine.store.database import sql
from isoplan.engine.store.database.database import Cursor, first
from isoplan.engine.store.files.text import has_doubtful_points

KINDS: dict[str, Kind] = {"DOUBLE": "number", "BOOLEAN": "bool", "TIMESTAMP": "date", "VARCHAR": "text"}
_SAMPLE = 10_000
_AT_ONCE = 50
_TYPES_ORDER: tuple[TextKind, ...] = ("suffix", "thousands", "comma")


def profile(
    cursor: Cursor,
    table: str,
    names: tuple[str, ...],
    types: tuple[str, ...],
    semicolons: bool = False,
    commas: bool = False,
) -> tuple[Column, ...]:
    """Return the columns of a data table (``c0``, ``c1``, ...) with their statistics but without suggested roles.

    ``semicolons`` is true if ";" separates the cells of the file; a comma between digits is then a decimal comma.
    ``commas`` is true if the file has decimal commas; a point may then be a thousands separator.
    """
    counted = _statistics(cursor, table, types)
    head = cursor.execute(f"SELECT * EXCLUDE (rid) FROM {table} WHERE rid < 50 ORDER BY rid").fetchall()
    columns = []
    for i, (name, kind, statistics) in enumerate(zip(names, types, counted, strict=True)):
        examples = tuple(dict.fromkeys(_shown(r[i]) for r in head if r[i] is not None))[:3]
        conversion = propose(cursor, table, f"c{i}", semicolons, commas) if kind == "VARCHAR" else None
        unread = _unread(cursor, table, f"c{i}", conversion) if kind == "VARCHAR" else None
        columns.append(Column(name, KINDS[kind], examples=examples, conversion=conversion, unread=unread, **statistics))
    return tuple(columns)


def propose(
    cursor: Cursor, table: str, column: str, semicolons: bool = False, commas: bool = False
) -> Conversion | None:
    """Return the conversion that can read more cells of a text ``column`` as numbers than any other conversion.

    Returns None if less than half of the cells can be read. ``semicolons`` is true if ";" separates the cells of the
    file. Commas that may be decimal commas or thousands separators are then read as decimal commas, unless other cells
    have a decimal point. ``commas`` is true if the file has decimal commas; a point may then be a thousands separator.
    """
    sample = f"(SELECT {column} FROM {table} WHERE {_there(column)} LIMIT {_SAMPLE})"
    cells, counts = _readable(cursor, sample, column)
    if not cells or max(counts.values()) * 2 < cells:
        return None
    cells, counts = _readable(cursor, table, column)
    kind = max(_TYPES_ORDER, key=lambda k: counts[k])
    if counts[kind] * 2 < cells:
        return None
    alike = (
        kind == "thousands" and counts["comma"] == counts["thousands"] and _any(cursor, table, f"{column} LIKE '%,%'")
    )
    point = alike and _any(cursor, table, f"{column} LIKE '%.%' AND {column} NOT LIKE '%,%'")
    if alike and semicolons and not point:
        kind, alike = "comma", False
    # If all cells are plain numbers, the column was stored as text because its points may be decimal or thousands
    # separators.
    commas = commas or not _any(cursor, table, f"{_there(column)} AND {sql.number(column)} IS NULL")
    every = kind == "suffix" and counts["comma"] == counts["suffix"]
    if commas and every and has_doubtful_points(cursor, table, column):
        kind, alike = "comma", True
    value = sql.number(column, kind)
    changes = f"{value} IS NOT NULL AND {value} IS DISTINCT FROM {sql.number(column)}"
    failing = f"{_there(column)} AND {value} IS NULL"
    found = first(
        cursor,
        f"""SELECT count(*) FILTER ({changes}), count(*) FILTER ({failing}),
            (SELECT list(v) FROM (SELECT DISTINCT {column} AS v FROM {table} WHERE {failing} ORDER BY v LIMIT 3))
            FROM {table}""",
    )
    assert found is not None
    return Conversion(kind, found[0], found[1], tuple(_shown(v) for v in found[2] or ()), alike)


def _there(column: str) -> str:
    """Return the SQL condition that a text cell has a value: the cell is not empty and not a marker such as "NA"."""
    return f"{column} IS NOT NULL AND NOT {sql.missing(column)}"


def _any(cursor: Cursor, table: str, condition: str) -> bool:
    """Return whether at least one row of the table fulfils the SQL condition."""
    return first(cursor, f"SELECT 1 FROM {table} WHERE {condition} LIMIT 1") is not None


def _unread(cursor: Cursor, table: str, column: str, conversion: Conversion | None) -> tuple[int, str] | None:
    """Return the row id and the text of the first cell that is not a number; None if there is none.

    Without a conversion, only the first rows are searched.
    """
    if conversion is not None and not conversion.fails:
        return None
    value = sql.number(column, text_kind(conversion.kind) if conversion else "suffix")
    near = "" if conversion else f"AND rid < {_SAMPLE}"
    query = f"SELECT rid, {column} FROM {table} WHERE {_there(column)} AND {value} IS NULL {near}"
    found = first(cursor, f"{query} ORDER BY rid LIMIT 1")
    return (int(found[0]), _shown(found[1])) if found else None


def _readable(cursor: Cursor, relation: str, column: str) -> tuple[int, dict[TextKind, int]]:
    """Return the number of cells with a value, and the number of cells that each number format can read."""
    fields = ", ".join(f"count({sql.number(column, kind)})" for kind in _TYPES_ORDER)
    row = first(cursor, f"SELECT count(CASE WHEN {_there(column)} THEN 1 END), {fields} FROM {relation}")
    assert row is not None
    return row[0], dict(zip(_TYPES_ORDER, row[1:], strict=True))


def _statistics(cursor: Cursor, table: str, types: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the statistics of each column: missing cells, range, different values.

    Each query has a limited number of columns, because DuckDB is slow to plan a query with thousands of aggregates.
    """
    found: list[dict[str, Any]] = []
    for start in range(0, len(types), _AT_ONCE):
        fields = (_counted(i, types[i]) for i in range(start, min(start + _AT_ONCE, len(types))))
        found += first(cursor, f"SELECT {', '.join(fields)} FROM {table}") or ()
    return found


def _counted(position: int, kind: str) -> str:
    c = f"c{position}"
    distinct = f"approx_count_distinct({c})"
    if kind != "DOUBLE":
        return f"{{'missing': count(*) - count({c}), 'distinct': {distinct}}}"
    # CASE is used because FILTER is many times slower on tables with many columns.
    finite = f"CASE WHEN isfinite({c}) THEN {c} END"
    return f"""{{'missing': count(*) - count(CASE WHEN NOT isnan({c}) THEN 1 END), 'distinct': {distinct},
        'minimum': min({finite}), 'maximum': max({finite}), 'infinite': count(CASE WHEN isinf({c}) THEN 1 END),
        'whole': coalesce(bool_and({finite} = floor({finite})), false)}}"""


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    shown = str(value)
    return shown if len(shown) <= 40 else shown[:39] + "…"
