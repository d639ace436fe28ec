"""Columns whose cells are dictionaries, in Python or JSON, such as ``{'lr': 0.001, 'params': 70000000}``."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from isoplan.engine.schema import NUMERIC_ROLES
from isoplan.engine.store.files.layouts.grid import Grid, Layout, refuse, roles_of
from isoplan.engine.trackers.formats.nested import as_text, flat
from isoplan.engine.trackers.run import Scalar

MAX_LENGTH = 100_000
"""Maximum length of a dictionary in characters."""
MAX_DEPTH = 20
MAX_KEYS = 1000
"""Maximum number of keys of all dictionary columns of a table. Each key becomes a column."""
# A string without a closing quotation mark ends at the end of the cell. This keeps the time of a search linear.
_STRING = r"'(?s:\\.|[^'\\])*(?:'|\\?\Z)|\"(?s:\\.|[^\"\\])*(?:\"|\\?\Z)"
_NO_LITERAL = re.compile(rf"({_STRING})|([+-]?)\b(nan|inf|NaN|Infinity)\b")
_NUMBER = re.compile(r"[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def read_dictionaries(grid: Grid) -> tuple[Grid, str] | None:
    """Replace each column of dictionaries by one column for each key, with names such as ``config.lr``.

    A column whose name suggests a size or a loss is unchanged, because its keys are other quantities.
    """
    columns = [i for i in range(len(grid.header)) if _is_column(grid.column(i))]
    numbers = roles_of([grid.header[i] for i in columns])
    columns = [i for i in columns if grid.header[i] not in {numbers.get(role) for role in NUMERIC_ROLES}]
    if not columns:
        return None
    parsed = {i: [as_dictionary(cell) for cell in grid.column(i)] for i in columns}
    keys = {i: list(dict.fromkeys(key for one in parsed[i] if one for key in one)) for i in columns}
    if sum(map(len, keys.values())) > MAX_KEYS:
        raise refuse(
            grid,
            f"a table with dictionaries in cells, which have more than {MAX_KEYS:,} keys",
            "Keep those that a law needs.",
        )
    header: list[str] = []
    rows: list[list[str]] = [[] for _ in grid.body]
    for i, name in enumerate(grid.header):
        header += [f"{name}.{key}" for key in keys[i]] if i in keys else [name]
        for row, cells, k in zip(rows, grid.body, range(len(rows)), strict=True):
            row += [_text((parsed[i][k] or {}).get(key)) for key in keys[i]] if i in keys else [cells[i]]
    listed = ", ".join(repr(grid.header[i]) for i in columns)
    unread = sum(grid.column(i)[k] != "" and one is None for i in columns for k, one in enumerate(parsed[i]))
    cells_of = "1 cell is not readable and stays" if unread == 1 else f"{unread:,} cells are not readable and stay"
    lost = f"; {cells_of} empty" if unread else ""
    many = "s" if len(columns) > 1 else ""
    return grid.with_rows([header, *rows]), f"each key of the column{many} {listed} is a column{lost}"


def _is_column(cells: list[str]) -> bool:
    """Return whether all filled cells are in braces, and at least one of the first 20 is a readable dictionary."""
    found = [cell for cell in cells if cell]
    braced = bool(found) and all(cell[0] == "{" and cell[-1] == "}" for cell in found)
    return braced and any(as_dictionary(cell) for cell in found[:20])


def as_dictionary(cell: str) -> Mapping[str, Scalar] | None:
    """Parse a cell as a dictionary (key -> value, nested keys are joined by dots); return None if it is not one.

    Only literals are read, and nothing is executed. Long and deeply nested texts are not read.
    """
    if not 2 <= len(cell) <= MAX_LENGTH or not (found := _literal(cell)):
        return None
    return flat({str(key): value for key, value in found.items()})


def _literal(cell: str) -> Mapping[Any, Any] | None:
    if _depth(cell) > MAX_DEPTH:
        return None
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        found = _python(cell)
    return found if isinstance(found, dict) else None


def _depth(cell: str) -> int:
    depth = most = 0
    for character in re.sub(_STRING, "", cell):
        depth += (character in "{[(") - (character in "}])")
        most = max(most, depth)
    return most


def _python(cell: str) -> Any:
    """Return the value of a Python literal; None if the text is not a literal. The words nan and inf are numbers."""
    plain = _NO_LITERAL.sub(lambda m: m[1] or (f"{m[2]}1e999" if m[3].lower() != "nan" else "None"), cell)
    outside = _NUMBER.sub("0", re.sub(_STRING, "0", plain))
    if not re.fullmatch(r"[\w\s{}\[\](),:.]*", outside):  # without operators, the syntax tree stays shallow
        return None
    try:
        return ast.literal_eval(plain)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _text(value: Scalar | None) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return as_text(value)


DICTIONARIES = Layout("a table with dictionaries in cells", read_dictionaries)
