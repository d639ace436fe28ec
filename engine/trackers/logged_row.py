"""Reading of rows that a training script logs. A row is one JSON object, and its nested settings become one level."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.formats.nested import MAX_LENGTH, MAX_LEVELS, MAX_VALUES, flat
from isoplan.engine.trackers.run import Scalar

MAX_LINE = 1_000_000
"""Largest length of a line with one row, in characters."""
MAX_NAME = 200
"""Largest length of the name of a table or of a column, in characters."""


def read_line(line: str) -> dict[str, Scalar | None]:
    """Return the row in a line of JSON. Raises PlannerError if the line is not JSON or not a valid row."""
    if len(line) > MAX_LINE:
        raise PlannerError(f"the line has more than {MAX_LINE:,} characters. Shorten its values.")
    try:
        raw = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise PlannerError(f"{_short(line.strip())} is not JSON. Write one JSON object on each line.") from None
    return flat_row(raw)


def flat_row(raw: Any) -> dict[str, Scalar | None]:
    """Return a row with one level of names. Nested names are joined by points, as in ``optimizer.lr``.

    NaN and infinite values become None. Raises PlannerError if ``raw`` is not an object with text keys, if it has no
    value except ``run``, if it has too many values or levels, or if a name or text is invalid or too long.
    """
    if not isinstance(raw, Mapping):
        raise PlannerError(f'{_short(raw)} is not an object. Write names and values, as in {{"run": "a"}}.')
    if not all(isinstance(name, str) for name in raw):
        raise PlannerError("a name is not text. Write every name as text.")
    found: dict[str, Scalar | None] = {name: None for name, value in raw.items() if value is None}
    found |= {n: None if isinstance(x, float) and not math.isfinite(x) else x for n, x in flat(raw).items()}
    if isinstance(run := raw.get("run"), int | float):
        found["run"] = str(run)
    if _levels(raw) > MAX_LEVELS:
        raise PlannerError(f"the row has more than {MAX_LEVELS} levels. Write it with fewer levels.")
    if len(found) >= MAX_VALUES:
        raise PlannerError(f"the row has at least {MAX_VALUES:,} values. Leave some out.")
    if not _is_text("".join([*found, *(value for value in found.values() if isinstance(value, str))])):
        raise PlannerError("a text is not UTF-8. Write it in UTF-8.")
    for name, value in found.items():
        if not name.strip() or len(name) > MAX_NAME:
            raise PlannerError(f"the name {_short(name)} is empty or too long. Use 1 to {MAX_NAME} characters.")
        if isinstance(value, str) and len(value) >= MAX_LENGTH:
            raise PlannerError(f"the value of {_short(name)} has {MAX_LENGTH} characters or more. Shorten it.")
    if all(value is None for name, value in found.items() if name != "run"):
        raise PlannerError("the row has no value. Write at least one value besides the name of the run.")
    return found


def check_table(name: str) -> str:
    """Return the name of a table without spaces at its ends. Raises PlannerError for an invalid name."""
    text = name.strip()
    if not text or len(text) > MAX_NAME or not text.isprintable():
        raise PlannerError(f"Table {_short(name)}: the name is not valid. Use 1 to {MAX_NAME} printable characters.")
    return text


def _levels(raw: Any) -> int:
    """Return the number of levels of nested objects, at most ``MAX_LEVELS`` + 1."""
    level, rest = 0, [raw]
    while rest and level <= MAX_LEVELS:
        level, rest = level + 1, [v for one in rest for v in one.values() if isinstance(v, Mapping)]
    return level


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse(name: str) -> float:
    """Raise PlannerError for NaN and Infinity, which are not JSON."""
    raise PlannerError(f"{name} is not JSON. Write null for a value that is missing.")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
