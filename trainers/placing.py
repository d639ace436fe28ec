"""Cells of a family at given sizes: the values of its main fields, and N, D and C of these cells."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, isfinite, log, sqrt
from types import MappingProxyType
from typing import Any, TypeGuard

from pydantic import ValidationError

from isoplan.engine.errors import PlannerError
from isoplan.trainers.cell import Family, Sizes
from isoplan.trainers.families import main_fields, read_cell
from isoplan.trainers.ranges import Value, kind_of, zero_word

NAMES = ("N", "D")
"""Sizes that the main fields determine."""
LARGEST = 10**9
"""Largest value that is tried for a field without a maximum."""
LIMIT = 10**12
"""Largest value that is tried for a field with a maximum."""
SPACING = 1.08
"""Smallest ratio of two values of a field whose sizes ``reachable`` computes: at most about 30 values per decade."""
COMBINATIONS = 1500
"""Approximate maximum number of combinations whose sizes ``reachable`` computes. It is not exact, because the numbers
of values are rounded."""
NOTHING: Mapping[str, Value] = MappingProxyType({})


@dataclass(frozen=True)
class Axis:
    """The main ``field`` that determines one size, N or D. ``sizes`` maps values of the field to this size."""

    field: str
    sizes: Mapping[int, float]


@dataclass(frozen=True)
class Reachable:
    """A possible cell: the values of its main fields and of the fixed fields, and its N, D, U and C."""

    fields: Mapping[str, Value]
    sizes: Sizes


def reachable(family: Family[Any], fixed: Mapping[str, Value], per_decade: float = 6) -> tuple[Reachable, ...]:
    """Return possible cells of a family between its smallest and its largest N and D.

    The cells are combinations of values of the two main fields, with about ``per_decade`` values per decade of N and of
    D. The other fields have the values ``fixed``, or their defaults. Values of integer main fields in ``fixed`` are not
    used. Cells that the family refuses, and cells whose N, D or C is unknown, are left out. The result is empty if
    no integer main field determines N, or if no integer main field determines D.

    The values of an axis are chosen from at most about 30 values per decade of its field (``SPACING``). If there
    would be more than ``COMBINATIONS`` cells, both axes get fewer values per decade. At most about 2,000 sizes are
    computed, not counting refused values.
    """
    axes = size_axes(family, fixed, SPACING)
    if len(axes) != len(NAMES):
        return ()
    counts = [1 + per_decade * _decades(axes[name].sizes.values()) for name in NAMES]
    factor = min(1.0, sqrt(COMBINATIONS / (counts[0] * counts[1])))
    N, D = (_thinned(axes[name].sizes, round(factor * count)) for name, count in zip(NAMES, counts, strict=True))
    found = []
    for n in N:
        for d in D:
            fields: dict[str, Value] = {axes["N"].field: n, axes["D"].field: d}
            fields |= {field: value for field, value in fixed.items() if field not in fields}
            sizes = _sizes(family, fields)
            if sizes is not None and all(_is_size(size) for size in (sizes.N, sizes.D, sizes.C)):
                found.append(Reachable(fields, sizes))
    return tuple(found)


def size_axes(family: Family[Any], fixed: Mapping[str, Value] = NOTHING, spacing: float = 1.0) -> dict[str, Axis]:
    """Return the main fields that determine N and D, by the name of the size.

    Each integer main field is varied over ``field_values``. Of two values with a ratio below ``spacing``, only one is
    used. The other fields have the values ``fixed`` or their defaults. N is determined by a field that changes N but
    not D, if no other main field changes N. The same rule applies to D. A size is left out if no field determines it,
    or if a larger value gives a smaller size.
    """
    values = {field: field_values(family, field) for field in main_fields(family)}
    known = family.cell.model_fields
    others: dict[str, Value] = {field: value for field, value in fixed.items() if not values.get(field)}
    others |= {field: found[len(found) // 2] for field, found in values.items() if found and known[field].is_required()}
    sizes = {field: _varied(family, others, field, found, spacing) for field, found in values.items()}
    changed = {field: [name for name in NAMES if len(set(of[name].values())) > 1] for field, of in sizes.items()}
    axes = {}
    for name in NAMES:
        fields = [field for field, names in changed.items() if name in names]
        if len(fields) == 1 and changed[fields[0]] == [name]:
            axis = Axis(fields[0], sizes[fields[0]][name])
            if all(a <= b for a, b in pairwise(axis.sizes.values())):
                axes[name] = axis
    return axes


def field_values(family: Family[Any], field: str) -> list[int]:
    """Return the values of an integer field that are tried, in increasing order; none for a field of another kind.

    They are the lowest and the highest allowed value, and the values between them with at most two significant digits.
    A 0 that stands for another value, such as ``automatic``, is left out.
    """
    about = family.cell.model_fields[field]
    if kind_of(about) != "integer":
        return []
    bounds = {key: getattr(part, key) for part in about.metadata for key in ("ge", "le") if hasattr(part, key)}
    low, high = int(bounds.get("ge", 1)), int(min(bounds.get("le", LARGEST), LIMIT))
    low = 1 if low == 0 and zero_word(about) else low
    digits = {n * 10**k for k in range(12) for n in range(1, 100)}
    return sorted({low, high, *(x for x in digits if low < x < high)})


def nearest(sizes: Mapping[int, float], goal: float) -> int:
    """Return the value of a field whose size is nearest to ``goal`` in the logarithm."""
    return min(sizes, key=lambda value: abs(log(sizes[value] / goal)))


def _varied(
    family: Family[Any], others: Mapping[str, Value], field: str, values: Sequence[int], spacing: float
) -> dict[str, dict[int, float]]:
    """Return the sizes of the cells with these ``values`` of ``field``: N or D -> value -> size.

    Of two values with a ratio below ``spacing``, only one is used. The ends, and then values with fewer digits, are
    preferred.
    """
    kept: list[int] = []
    found: dict[int, Sizes] = {}
    for value in dict.fromkeys([*values[:1], *values[-1:], *sorted(values, key=lambda x: len(str(x).rstrip("0")))]):
        place = bisect(kept, value)
        if any(max(x, value) < spacing * min(x, value) for x in kept[max(place - 1, 0) : place + 1]):
            continue
        if (sizes := _sizes(family, {**others, field: value})) is not None:
            kept.insert(place, value)
            found[value] = sizes
    return {name: {x: float(size) for x in kept if _is_size(size := getattr(found[x], name))} for name in NAMES}


def _sizes(family: Family[Any], fields: Mapping[str, Value]) -> Sizes | None:
    """Return the sizes of a cell, or None if the family refuses it."""
    try:
        return family.sizes(read_cell(family, dict(fields)))
    except (PlannerError, ValidationError):
        return None


def _is_size(size: float | None) -> TypeGuard[float]:
    return size is not None and isfinite(size) and size > 0


def _decades(sizes: Iterable[float]) -> float:
    found = tuple(sizes)
    return log(max(found) / min(found)) / log(10)


def _thinned(sizes: Mapping[int, float], count: int) -> list[int]:
    """Return values whose sizes are about evenly spaced in the logarithm: ``count`` values, or fewer if some coincide.

    At least the two ends are returned.
    """
    low, high, steps = log(min(sizes.values())), log(max(sizes.values())), max(count, 2) - 1
    return list(dict.fromkeys(nearest(sizes, exp(low + (high - low) * k / steps)) for k in range(steps + 1)))
