"""Values of one field of a grid: single values, and ranges such as ``8..512 x 7``, from a file or typed into a form."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import as_typed, cut, parse_number
from isoplan.trainers.cell import ZERO

Value = int | float | str | bool
Kind = Literal["integer", "number", "boolean", "text"]
Scale = Literal["", "log", "linear"]

MOST_VALUES = 20_000
"""Maximum number of values of a range, because a workspace cannot contain a grid with more cells."""
DIGITS = 10
"""Number of significant digits of the inner values of a range. The range 0.001..1 x 4 then contains exactly 0.01."""
EXAMPLE = "8..512 x 7"
_RANGE = re.compile(r"(?P<low>.+?)\.\.(?P<high>.+?)\s*[x×*]\s*(?P<count>\d{1,9})\s*(?P<scale>log|linear)?")
_GROUPS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
_ONE_COMMA = re.compile(r"[+-]?\d+,\d+")
_TRUTH = {"yes": True, "true": True, "no": False, "false": False}


@dataclass(frozen=True)
class Range:
    """``count`` values from ``low`` to ``high``.

    The values are evenly spaced on a logarithmic scale if ``scale`` is "log", or if ``scale`` is empty and ``low`` is
    positive. Otherwise, the values are evenly spaced on a linear scale.
    """

    low: float
    high: float
    count: int
    scale: Scale = ""

    @property
    def text(self) -> str:
        """The range as a text that ``read_typed`` reads as the same range."""
        return " ".join(f"{as_typed(self.low)}..{as_typed(self.high)} x {self.count} {self.scale}".split())

    @property
    def logarithmic(self) -> bool:
        """Whether the values are evenly spaced on a logarithmic scale."""
        return self.scale == "log" or (not self.scale and self.low > 0)

    def values(self, whole: bool) -> tuple[Value, ...]:
        """Return the distinct values in increasing order. They are rounded to whole numbers if ``whole`` is true."""
        inner = (self._at(i / (self.count - 1)) for i in range(1, self.count - 1))
        points = (self.low, *(min(max(x, self.low), self.high) for x in inner), self.high)
        return tuple(dict.fromkeys(round(x) for x in points) if whole else dict.fromkeys(points))

    def _at(self, share: float) -> float:
        if self.logarithmic:
            x = math.exp(math.log(self.low) * (1 - share) + math.log(self.high) * share)
        else:
            x = self.low * (1 - share) + self.high * share
        return float(f"{x:.{DIGITS}g}")


Asked = tuple[Value | Range, ...]
"""Input of a field: a tuple with one value for all cells of the grid, or with several values and ranges."""


def kind_of(field: FieldInfo) -> Kind:
    """Return the kind of values that a field of a cell accepts: integer, number, boolean or text."""
    kinds: dict[object, Kind] = {bool: "boolean", int: "integer", float: "number"}
    found = field.annotation
    if get_origin(found) is Literal and all(type(choice) is int for choice in get_args(found)):
        return "integer"
    return kinds.get(found, "text")


def zero_word(field: FieldInfo) -> str:
    """Return the word that stands for 0 in this field of a form, such as ``automatic``, or "" if there is none."""
    extra = field.json_schema_extra
    return str(extra.get(ZERO, "")) if isinstance(extra, dict) else ""


def expand(asked: Asked, kind: Kind) -> tuple[Value, ...]:
    """Return all distinct values of a field, in the given order."""
    listed = (part.values(kind == "integer") if isinstance(part, Range) else (part,) for part in asked)
    return tuple(dict.fromkeys(value for values in listed for value in values))


def read_entry(raw: object, kind: Kind, where: str, zero: str = "") -> Asked:
    """Return the input of a field from a file. ``raw`` is a value, a list, a table that describes a range, or a text.

    Raises PlannerError if ``raw`` is invalid. ``where`` names the field in the error. The word ``zero`` means the
    number 0.
    """
    if isinstance(raw, list | tuple):
        if not raw:
            raise PlannerError(f"{where} has an empty list: give it a value.")
        return tuple(part for one in raw for part in _one(one, kind, where, zero))
    return _one(raw, kind, where, zero)


def _one(raw: object, kind: Kind, where: str, zero: str) -> Asked:
    if isinstance(raw, Range):
        return (_checked(raw, kind, where),)
    if isinstance(raw, Mapping):
        return (_table(raw, kind, where),)
    if isinstance(raw, str):
        return (raw,) if kind == "text" else read_typed(raw, kind, where, zero)
    if isinstance(raw, bool) != (kind == "boolean") or not isinstance(raw, int | float):
        raise PlannerError(f"{where} cannot be {cut(str(raw))!r}: give it {_examples(kind)}.")
    return (raw,)


def read_typed(text: str, kind: Kind, where: str, zero: str = "") -> Asked:
    """Return the input of a field from typed text: values such as ``8, 16, 32``, and ranges such as ``8..512 x 7``.

    Values are separated by commas or semicolons. Numbers can be written as 2k or 10^6. A text that contains a comma
    must be in double quotes. The word ``zero``, if it is not empty, means the number 0. Raises PlannerError if the text
    is invalid; ``where`` names the field in the error.
    """
    if kind == "text":
        try:
            return tuple(next(csv.reader([text], skipinitialspace=True), ()))
        except csv.Error:  # raised for a line break, and for a text of more than 128 kB
            raise PlannerError(f"{where} cannot read {cut(text)!r}: write {_examples(kind)} in one line.") from None
    parts = [part.strip() for part in _parts(text, kind, where)]
    if not all(parts):
        raise PlannerError(f"{where} has nothing between two commas: give it {_examples(kind)}.")
    return tuple(0 if zero and part.lower() == zero else _typed(part, kind, where) for part in parts)


def _parts(text: str, kind: Kind, where: str) -> Iterable[str]:
    if ";" in text:
        return text.strip().removesuffix(";").split(";")
    bare = text.strip()
    unclear = _GROUPS.fullmatch(bare) or (kind == "number" and _ONE_COMMA.fullmatch(bare))
    if unclear and kind in ("integer", "number"):
        raise PlannerError(
            f"{where} has {cut(bare)!r}, which can be one number or several: write a space after each comma between "
            "numbers, and no comma inside a number."
        )
    return bare.removesuffix(",").split(",")


def _typed(part: str, kind: Kind, where: str) -> Value | Range:
    if kind == "boolean":
        if part.lower() not in _TRUTH:
            raise PlannerError(f"{where} cannot be {cut(part)!r}: give it yes or no.")
        return _TRUTH[part.lower()]
    if ".." in part:
        found = _RANGE.fullmatch(part)
        if found is None:
            raise PlannerError(f"{where} cannot read the range {cut(part)!r}: write it like {EXAMPLE}.")
        low, high = _number(found["low"], where), _number(found["high"], where)
        scale: Scale = "log" if found["scale"] == "log" else "linear" if found["scale"] else ""
        return _checked(Range(low, high, int(found["count"]), scale), kind, where)
    return _number(part, where)


def _number(text: str, where: str) -> int | float:
    bare = text.strip()
    if re.fullmatch(r"[+-]?\d{1,18}", bare):
        return int(bare)
    try:
        value = parse_number(bare)
    except PlannerError:
        raise PlannerError(
            f"{where} cannot read {cut(bare)!r} as a number: write values like 8, 16, 32 or a range like {EXAMPLE}."
        ) from None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _table(raw: Mapping[object, object], kind: Kind, where: str) -> Range:
    """Return the range that a table describes, such as ``{ from = 8, to = 512, count = 7, scale = "linear" }``."""
    wrong = PlannerError(f'{where} cannot read its range: write {{ from = 8, to = 512, count = 7 }} or "{EXAMPLE}".')
    low, high, count, scale = raw.get("from"), raw.get("to"), raw.get("count"), raw.get("scale", "")
    if set(raw) - {"from", "to", "count", "scale"} or scale not in ("", "log", "linear"):
        raise wrong
    if not isinstance(low, int | float) or not isinstance(high, int | float) or not isinstance(count, int):
        raise wrong
    if any(isinstance(x, bool) for x in (low, high, count)):
        raise wrong
    known: Scale = "log" if scale == "log" else "linear" if scale else ""
    return _checked(Range(low, high, count, known), kind, where)


def _checked(found: Range, kind: Kind, where: str) -> Range:
    """Return the range ``found``. Raises PlannerError if the range is invalid or not allowed for the field."""
    if kind not in ("integer", "number"):
        raise PlannerError(f"{where} cannot have a range: give it {_examples(kind)}.")
    low, high = found.low, found.high
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise PlannerError(f"{where} has a range from {low:g} to {high:g}: its start must be below its end.")
    if not 2 <= found.count <= MOST_VALUES:
        raise PlannerError(f"{where} has a range of {found.count} values: give it 2 to {MOST_VALUES:,}.")
    if found.scale == "log" and low <= 0:
        raise PlannerError(f"{where} has a range from {low:g}, which has no logarithm: start above 0, or use linear.")
    if kind == "integer" and not (float(low).is_integer() and float(high).is_integer()):
        raise PlannerError(f"{where} requires whole numbers: start and end the range {found.text} with whole numbers.")
    return found


def _examples(kind: Kind) -> str:
    return {
        "integer": f"a whole number, a list, or a range like {EXAMPLE}",
        "number": f"a number, a list, or a range like {EXAMPLE}",
        "boolean": "yes or no (true or false in a file)",
        "text": "words or a list of them",
    }[kind]
