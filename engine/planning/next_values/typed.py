"""Typed values of a swept setting: a range or a list. No numpy is imported."""

from __future__ import annotations

from dataclasses import dataclass

from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import parse_number


@dataclass(frozen=True)
class TypedValues:
    """Values to choose from: a range from the first to the second of ``ends``, or the ``listed`` values.

    If neither is given, the values are those of the default range.
    """

    ends: tuple[float, float] | None = None
    listed: tuple[float, ...] = ()


def parse_values(text: str, what: str) -> TypedValues:
    """Read a range such as "0.01..0.5", or a list such as "0.02, 0.05, 0.1".

    An empty text is the default range. Raises PlannerError if a number is not positive, or if a range does not
    increase.
    """
    if not text.strip():
        return TypedValues()
    ranged = ".." in text
    values = tuple(parse_number(part, what) for part in text.split(".." if ranged else ","))
    if not all(value > 0 for value in values) or (ranged and not (len(values) == 2 and values[0] < values[1])):
        raise PlannerError(
            f"The {what}: {text.strip()} is not valid. Values must be positive, and a range must increase. Write a "
            "range such as 0.01..0.5, or a list such as 0.02, 0.05, 0.1."
        )
    return TypedValues(values[:2]) if ranged else TypedValues(listed=values)  # type: ignore[arg-type]
