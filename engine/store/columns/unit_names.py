"""Suggest the unit of a column from its name or its values. A suggestion does not convert anything."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from isoplan.engine.schema import Role
from isoplan.engine.store.columns.column import FACTORS, GPU_HOURS, LOGARITHM, Column
from isoplan.engine.store.columns.names import ERRORS, LARGER, NOT_A_SIZE, plain, words

COUNTS = (Role.N, Role.D, Role.U)
COMPUTE = (Role.C, Role.BUDGET)
MOST = {Role.N: 1e15, Role.D: 1e19, Role.U: 1e19}
"""Numbers of parameters and samples that no real run exceeds. A unit that gives larger numbers is rejected."""
FEWEST = 1e5
"""A number of parameters or samples that is below this value and not whole is in a larger unit, such as millions."""
MANY = 1e5
"""Upper limit of the samples per parameter of a real sweep. A larger ratio means that N is in a larger unit."""
LARGEST_LOG = 100.0
"""Upper limit of a logarithm in any base. Base 2 gives the largest logarithms, and 2^100 exceeds the FLOPs of any
run.
"""
SIZES_LOG10 = (7.0, 13.0)
"""Range of log10 N and log10 D in most runs."""
FEWEST_LN = 7.0
"""Natural logarithm of the smallest N or D of real runs. Smaller values are decimal logarithms."""
LARGEST_LOG10, LARGEST_LOG10_COMPUTE = 16.0, 28.0
"""Upper limits of log10 D (samples) and of log10 C (FLOPs). Larger values are natural logarithms."""
_COMPUTE_WORDS = {"c", "flop", "flops", "compute", "budget"}
_PREFIXES = {"giga": "gigaflop", "tera": "teraflop", "peta": "petaflop", "exa": "exaflop", "zetta": "zettaflop"}
_LETTERS = {"g": "giga", "t": "tera", "p": "peta", "e": "exa", "z": "zetta", "y": "yotta"}
_PF_DAYS = re.compile(r"(?:^|_)(?:p|peta)_?f(?:lops?|s)?_?(?:s|per_s|per_sec)?_?days?(?=_|$)")
_FLOP = re.compile(r"(?:^|_)(giga|tera|peta|exa|zetta|yotta|[gtpezy])_?flops?(?=_|$)(?!_s(?:_|$)|_per)")
_HOURS = re.compile(r"(?:^|_)(gpu|accelerator|device|tpu|[habv]\d{2,3}|mi300x|l40s)_?(?:hours?|hrs?|h)(?=_|$)")
_WORDS = re.compile(r"(?:^|_)(?:in_)?(thousand|million|billion|trillion|mil|bn)s?(?=_|$)")
_LETTER = re.compile(r"_(k|m|b|t)$")
_POWER = re.compile(r"(?:^|_)(?:1e|10_|x10_)_?(\d{1,2})(?=_|$)")
_LOG = re.compile(r"(?:^|_)(log_?10|log_?2|log|lg|ln)(?=_|$|[ndcu](?:_|$))")
_BASES = {"log10": "log10", "log_10": "log10", "log2": "log2", "log_2": "log2", "ln": "ln"}
_SHORT = {"k": "1e3", "m": "millions", "b": "billions", "t": "trillions", "mil": "millions", "bn": "billions"}
_SHORT |= {"thousand": "1e3"}  # not "thousands", which is the number format with thousands separators
_BITS = re.compile(r"(?:^|_)(?:bpb|bpc|bpt|bits_(?:per_)?(?:byte|token|char|character|word))(?=_|$)")

_RIGHT = frozenset(
    {"accuracy", "acc", "top1", "recall", "precision", "f1", "auc", "auroc", "hit", "hits", "hr", "ndcg"}
)
_WRONG = frozenset({"rate", "wer", "cer", "top1", "top5"})
"""Words in the name of an error rate. Such a column is in percent if its maximum exceeds 1.5."""


@dataclass(frozen=True)
class NamedUnit:
    """A unit in a column name: the conversion ``how``, the name without the unit, and the roles that have this unit."""

    how: str
    bare: str
    roles: tuple[Role, ...]


def named_unit(column: Column) -> NamedUnit | None:
    """Return the unit in the name of ``column``.

    Returns None if the name contains no unit, or if the values are not plausible in this unit.
    """
    name, top = plain(column.name), _top(column)
    if found := _PF_DAYS.search(name):
        return NamedUnit("pf-days", _without(name, found), COMPUTE)
    if found := _HOURS.search(name):
        hours = found[1] if any(c.isdigit() for c in found[1]) else ""
        return NamedUnit(hours.upper() or GPU_HOURS, _without(name, found), COMPUTE)
    if (found := _FLOP.search(name)) and not words(name) & (NOT_A_SIZE - {"budget"}):
        prefix = _LETTERS.get(found[1], found[1])
        bare = _without(name, found)
        if bare or prefix not in ("giga", "tera"):  # the name "tflops" alone usually means a rate
            return NamedUnit(_PREFIXES.get(prefix, "yottaflop"), bare or "flops", COMPUTE)
    if words(name) & {"ppl", "perplexity"}:
        return NamedUnit("perplexity", "", (Role.LOSS,))
    if is_bits(name):
        return NamedUnit("bits", "", (Role.LOSS,))
    return _logarithm(column, name) or _multiple(name, top)


def _logarithm(column: Column, name: str) -> NamedUnit | None:
    found = _LOG.search(name)
    if not found or column.minimum is None or column.maximum is None:
        return None
    if not 0 < column.minimum <= column.maximum <= LARGEST_LOG:
        return None
    bare = _without(name, found)
    base = _BASES.get(found[1]) or _likely_base(bare, column.minimum, column.maximum)
    return NamedUnit(base, bare, (*COUNTS, *COMPUTE))


def _likely_base(bare: str, low: float, high: float) -> str:
    """Return the base of logarithms that range from ``low`` to ``high``; LOGARITHM if several bases are plausible.

    ``bare`` is the column name without the word for the logarithm.
    """
    if words(bare) & _COMPUTE_WORDS:
        return "ln" if high > LARGEST_LOG10_COMPUTE else "log10"
    if high > LARGEST_LOG10:
        return "ln"
    usual = SIZES_LOG10[0] <= low and high <= SIZES_LOG10[1]
    return "log10" if usual or high < FEWEST_LN else LOGARITHM


def _multiple(name: str, top: float | None) -> NamedUnit | None:
    if found := _WORDS.search(name):
        how = _SHORT.get(found[1], f"{found[1]}s")
    elif found := _POWER.search(name):
        how = f"1e{int(found[1])}"
    elif found := _LETTER.search(name):
        how = _SHORT[found[1]]
    else:
        return None
    roles = (*COUNTS, *COMPUTE) if found.re is _POWER else COUNTS
    factor = FACTORS.get(how) or float(how)
    if top is None or (how not in ("1e15", "1e18", "1e21") and top * factor > 1e19):
        return None
    return NamedUnit(how, _without(name, found), roles)


def suspected(columns: Mapping[Role, Column]) -> dict[Role, str]:
    """Return the units that are not in the names of columns but that the values suggest: role -> unit.

    Numbers of parameters (N) and samples (D, U) are whole. Values below 1e5 that are not whole are decimal logarithms
    (if their range is narrow) or counts in millions or billions. Small values of N are also in a larger unit if D is in
    a larger unit, or if N in units of 1 would give more than 1e5 samples per parameter.
    """
    found = {role: _of_values(c) for role, c in columns.items() if role in COUNTS}
    units = {role: how for role, how in found.items() if how}
    n, d = columns.get(Role.N), columns.get(Role.D)
    if n is not None and d is not None and units.get(Role.N) != "log10" and 0 < (n.maximum or 0.0) < FEWEST:
        many = 0 < MANY * _middle(n) < _middle(d) and units.get(Role.D) != "log10"
        if many or units.get(Role.D) not in (None, "log10"):
            small = (n.maximum or 0.0) < 50 or (n.minimum or 0.0) < 1
            units[Role.N] = "billions" if small else "millions"
    if d is not None and units.get(Role.D) == "billions" and not words(d.name) & {"tokens", "d"}:
        units[Role.D] = "millions"
    return units


def _middle(column: Column) -> float:
    """Return the geometric mean of the minimum and the maximum of a column; 0 if they are not positive."""
    low, high = column.minimum or 0.0, column.maximum or 0.0
    return math.sqrt(low) * math.sqrt(high) if 0 < low <= high else 0.0


def _of_values(column: Column) -> str:
    low, high = column.minimum, column.maximum
    if column.kind != "number" or column.whole or low is None or high is None or not 0 < low <= high < FEWEST:
        return ""
    if 4 <= low and high <= 16 and high < 3 * low:
        return "log10"
    return "billions" if low < 5 else "millions"


def is_bits(name: str) -> bool:
    """Return whether the name of a column denotes a loss in bits."""
    return bool(_BITS.search(plain(name)))


def is_percent(column: Column) -> bool:
    """Return whether a column is an accuracy or an error rate in percent."""
    low, high = column.minimum, column.maximum
    return column.kind == "number" and low is not None and high is not None and in_percent(column.name, low, high)


def in_percent(name: str, low: float, high: float) -> bool:
    """Return whether a column is an accuracy or an error rate in percent.

    ``name`` is the name of the column, and its values are from ``low`` to ``high``.
    """
    own = words(name)
    fraction = _RIGHT if own & LARGER else _WRONG if own & ERRORS else frozenset()
    if not fraction or not 0 <= low <= high <= 100:
        return False
    return bool(own & {"percent", "pct"}) or "%" in name or (high > 1.5 and bool(own & fraction))


def _top(column: Column) -> float | None:
    """Return the largest number of a column; None if the column contains no number.

    For a column of text, it is the largest number in the examples of the column.
    """
    if column.maximum is not None or column.kind != "text":
        return column.maximum
    numbers = [re.sub(r"[^0-9.eE+-]", "", text.replace(",", "")) for text in column.examples]
    return max((float(n) for n in numbers if re.fullmatch(r"[+-]?\d+\.?\d*(?:[eE][+-]?\d+)?", n)), default=None)


def _without(name: str, found: re.Match[str]) -> str:
    return re.sub(r"_+", "_", name[: found.start()] + "_" + name[found.end() :]).strip("_")
