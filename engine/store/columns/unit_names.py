"""Units that the name or the values of a column suggest. Pure: a suggestion does not convert anything."""

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
"""More parameters or samples than in any run. If a unit gives larger numbers, it is not accepted."""
FEWEST = 1e5
"""Counts below this value that are not whole numbers are in a larger unit."""
MANY = 1e5
"""More samples per parameter than the mean of any sweep."""
LARGEST_LOG = 100.0
"""Upper limit of a logarithm in any base: the binary logarithm of more FLOPs than any run uses."""
SIZES_LOG10 = (7.0, 13.0)
"""Range of the decimal logarithms of N and D for most runs."""
FEWEST_LN = 7.0
"""Natural logarithm of the smallest N or D."""
LARGEST_LOG10, LARGEST_LOG10_COMPUTE = 16.0, 28.0
"""Upper limits of the decimal logarithms of D (samples) and of C (FLOPs)."""
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
_SHORT |= {"thousand": "1e3"}  # the conversion "thousands" reads text with separators
_BITS = re.compile(r"(?:^|_)(?:bpb|bpc|bpt|bits_(?:per_)?(?:byte|token|char|character|word))(?=_|$)")

_RIGHT = frozenset(
    {"accuracy", "acc", "top1", "recall", "precision", "f1", "auc", "auroc", "hit", "hits", "hr", "ndcg"}
)
_WRONG = frozenset({"rate", "wer", "cer", "top1", "top5"})
"""Words for a share that is in percent if it exceeds 1."""


@dataclass(frozen=True)
class NamedUnit:
    """A unit in a column name: the conversion, the name without the unit, and the roles that it fits."""

    how: str
    bare: str
    roles: tuple[Role, ...]


def named_unit(column: Column) -> NamedUnit | None:
    """Return the unit in the name of ``column`` if its values are plausible in that unit; None for most columns."""
    name, top = plain(column.name), _top(column)
    if found := _PF_DAYS.search(name):
        return NamedUnit("pf-days", _without(name, found), COMPUTE)
    if found := _HOURS.search(name):
        hours = found[1] if any(c.isdigit() for c in found[1]) else ""
        return NamedUnit(hours.upper() or GPU_HOURS, _without(name, found), COMPUTE)
    if (found := _FLOP.search(name)) and not words(name) & (NOT_A_SIZE - {"budget"}):
        prefix = _LETTERS.get(found[1], found[1])
        bare = _without(name, found)
        if bare or prefix not in ("giga", "tera"):  # "tflops" alone is usually a rate
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
    """Return the base that fits the values ``low`` to ``high`` of a logarithm, or LOGARITHM if several bases fit."""
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
    """Return role -> unit that the values of a column suggest although its name has no unit.

    Parameters and samples are whole numbers: fractions below 1e5 are logarithms (a narrow range) or counts in millions
    or billions. Small values of N are also in a larger unit if D is in a larger unit, or if there are more than 1e5
    samples per parameter.
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
    """Return the geometric mean of the minimum and maximum of a column; 0 if it is not defined."""
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
    """Return whether a column is a share of right or of wrong answers in percent."""
    low, high = column.minimum, column.maximum
    return column.kind == "number" and low is not None and high is not None and in_percent(column.name, low, high)


def in_percent(name: str, low: float, high: float) -> bool:
    """Return whether a column of that name with values from ``low`` to ``high`` is a share of answers in percent."""
    own = words(name)
    fraction = _RIGHT if own & LARGER else _WRONG if own & ERRORS else frozenset()
    if not fraction or not 0 <= low <= high <= 100:
        return False
    return bool(own & {"percent", "pct"}) or "%" in name or (high > 1.5 and bool(own & fraction))


def _top(column: Column) -> float | None:
    """Return the largest number of a column; for text the largest number in its examples, None without any."""
    if column.maximum is not None or column.kind != "text":
        return column.maximum
    numbers = [re.sub(r"[^0-9.eE+-]", "", text.replace(",", "")) for text in column.examples]
    return max((float(n) for n in numbers if re.fullmatch(r"[+-]?\d+\.?\d*(?:[eE][+-]?\d+)?", n)), default=None)


def _without(name: str, found: re.Match[str]) -> str:
    return re.sub(r"_+", "_", name[: found.start()] + "_" + name[found.end() :]).strip("_")
