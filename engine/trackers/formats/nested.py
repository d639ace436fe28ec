"""Conversion of nested settings to one level of names, and of their values to values of a run table."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from isoplan.engine.trackers.run import Scalar

MAX_VALUES = 2000
"""Largest number of settings of a run. Further settings are left out."""
MAX_LENGTH = 500
"""Largest number of characters of a text value. Longer texts are cut."""
MAX_LEVELS = 20
"""Largest number of levels of nested settings. Deeper settings are left out."""


def flat(settings: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return nested settings as one level, with names joined by points.

    Lists become text in JSON. Values without content (None, empty dictionaries and lists) are left out.
    """
    return dict(pair for pair, _ in zip(_pairs(settings, ""), range(MAX_VALUES), strict=False))


def _pairs(settings: Mapping[str, Any], prefix: str, level: int = 1) -> Iterator[tuple[str, Scalar]]:
    for key, value in settings.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            if level < MAX_LEVELS:
                yield from _pairs(value, f"{name}.", level + 1)
        elif (one := scalar(value)) is not None:
            yield name, one


def scalar(value: Any) -> Scalar | None:
    """Return ``value`` as a value of a run table, or None if it has no content."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return as_float(value)
    if isinstance(value, list | tuple):
        try:
            return json.dumps(value, default=str)[:MAX_LENGTH] if value else None
        except (RecursionError, TypeError, ValueError):
            return None
    return None if value is None or value == "" else str(value)[:MAX_LENGTH]


def as_float(value: float) -> float:
    """Return a number as a float. An integer that is too large for a float becomes infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def as_text(value: Scalar) -> str:
    """Return a value as text. A whole number below 1e15 has no decimal point."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return str(int(value)) if whole else str(value)


def number(text: str) -> Scalar:
    """Return a text as a number or truth value, if possible. Otherwise, cut it to ``MAX_LENGTH`` characters."""
    if text in ("True", "true", "False", "false"):
        return text in ("True", "true")
    try:
        return float(text) if "_" not in text else text
    except ValueError:
        return text[:MAX_LENGTH]
