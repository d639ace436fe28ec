"""Amounts with a unit, as people type them: 2.5 EUR/h, 24 h, 80GB, 2M samples, 300 g/kWh.

A field has one unit, and a plain number is in this unit. A number in another unit of the same kind is converted. A unit
of another kind is an error. Currencies are never converted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import LONGEST, PREFIXES, SECONDS, SUFFIXES, cut, leading, unreadable

Words = Mapping[str, float]
"""Names of units (lower case, singular), and the size of each unit in units of the field."""


@dataclass(frozen=True)
class Unit:
    """The unit of a field.

    ``name`` is its name in sentences. ``words`` are the units that a user may type. ``per`` are the words that may
    follow "per" or "/", such as "hour". ``examples`` shows how to type an amount; error messages use it.
    """

    name: str
    words: Words
    examples: str
    per: tuple[str, ...] = ()


_BYTES = {
    f"{prefix}{i}b": factor**power
    for power, prefix in enumerate(("", "k", "m", "g", "t", "p"))
    for i, factor in (("", 1e3), ("i", 1024.0))
    if prefix or not i
} | {"byte": 1.0}
A_SAMPLE = ("sample", "jet", "event", "token", "point", "image", "sequence")
AN_HOUR = ("hour", "h", "hr", "gpu hour", "gpu h", "device hour", "cpu hour", "cpu h", "core hour")
"""Words for one hour of a device in a price, after "per" or "/"."""
MONEY: Mapping[str, Words] = {
    "EUR": dict.fromkeys(("eur", "euro", "€"), 1.0),
    "USD": dict.fromkeys(("usd", "us dollar", "dollar", "us$", "$"), 1.0),
}
"""Accepted names of each currency. A currency is never converted into another one."""
HOURS = Unit("hours", {word: seconds / 3600 for word, seconds in SECONDS.items()}, "24 or 24 h")
CPU_SECONDS = Unit("seconds", {**SECONDS, "cpu s": 1.0, "cpu second": 1.0, "ms": 1e-3}, "0.5 or 0.5 s", A_SAMPLE)
GIGABYTES = Unit(
    "GB", {word: x / 1e9 for word, x in _BYTES.items()} | {"m": 1e-3, "g": 1.0, "t": 1e3}, "80 or 80 GB", ("device",)
)
BYTES = Unit("bytes", _BYTES, "4000 or 4 kB", A_SAMPLE)
WATTS = Unit("W", {"w": 1.0, "watt": 1.0, "kw": 1e3}, "700 or 700 W", ("device",))
_CO2 = {f"{mass}{gas}": x for mass, x in (("g", 1.0), ("gram", 1.0), ("kg", 1e3)) for gas in ("", " co2", " co₂")}
GRID = Unit("g CO2/kWh", _CO2, "300 or 300 g/kWh", ("kwh",))
SAMPLES = Unit("samples", dict.fromkeys(A_SAMPLE, 1.0), "2e6 or 2 M")
PARAMETERS = Unit("parameters", dict.fromkeys(("parameter", "param"), 1.0), "1e8 or 100 M")
EPOCHS = Unit("epochs", dict.fromkeys(("epoch", "pass", "passe"), 1.0), "4 or 4 epochs")
QUERIES = Unit("queries", dict.fromkeys(("query", "querie", "request"), 1.0), "1e9 or 1 B")
TOKENS = Unit("tokens", {"token": 1.0}, "500 or 500 tokens", ("query",))
FLOPS = Unit("FLOPs", {f"{prefix}flop": x for prefix, x in PREFIXES.items()}, "1e9 or 1 GFLOP", ("query",))
KINDS = (HOURS, GIGABYTES, BYTES, WATTS, GRID, SAMPLES, PARAMETERS, EPOCHS, QUERIES, FLOPS)
"""Units that an error can name. If the typed unit is, for example, a unit of time, the error contains "is in hours"."""
_SIGN = re.compile(r"\s*(?P<sign>[+\-\u2212]?)\s*(?P<unit>us\$|[€$]|eur|usd)\s*(?=[\d.,])", re.IGNORECASE)
_WORDS = "|".join(re.escape(word) for word in sorted({w for words in MONEY.values() for w in words}, key=len)[::-1])
_MONEY = re.compile(rf"(?:{_WORDS})s?\s*[\d.,].*|.*\d.*?(?:{_WORDS})s?\s*", re.IGNORECASE | re.DOTALL)
_PER = re.compile(r"\s*(?:/|\bper\b)\s*(?P<per>.*)")


def money(currency: str, *per: str) -> Unit:
    """Return the unit of an amount of money in ``currency``.

    ``per`` are the words that may follow "/", such as "hour".
    """
    return Unit(currency, MONEY.get(currency, {currency.lower(): 1.0}), f"2.5 or 2.5 {currency}", per)


def is_money(text: str) -> bool:
    """Return whether a typed amount is money, such as "500 EUR", "$1.5k" or "2 M€"."""
    return len(text) <= LONGEST and _MONEY.fullmatch(text.strip()) is not None


def currency_of(text: str) -> str:
    """Return the currency that a typed amount of money names, such as "EUR"; "" if it names no currency."""
    return next((currency for currency, words in MONEY.items() if any(word in text.lower() for word in words)), "")


def is_time(text: str) -> bool:
    """Return whether a typed amount is a number with a unit of time, such as "2 h" or "90 minutes"."""
    try:
        _, rest = leading(text, "", "")
    except PlannerError:
        return False
    return _singular(rest.strip().lower(), HOURS.words) is not None


def parse_amount(text: str, what: str, unit: Unit) -> float:
    """Read ``text`` as an amount and return its value in ``unit``.

    A plain number, with or without a suffix k, M, B or T, is read as in ``parse_number``. Raises PlannerError if
    ``text`` is not a number or has another unit; ``what`` names the field in the error message.
    """
    if len(text) > LONGEST:  # checked first, because a regular expression can be slow on a long text
        raise unreadable(text, what, unit.examples)
    sign = _SIGN.match(text)
    bare = f"{sign['sign']}{text[sign.end() :]}" if sign else text
    value, rest = leading(bare, what, unit.examples)
    said = _without_per(rest.strip().lower(), unit)
    said = f"{said} {sign['unit'].lower()}".strip() if sign else said
    factor = _factor(said, unit.words)
    if factor is None:
        raise _refused(text, what, unit, said)
    if not math.isfinite(value * factor):
        raise unreadable(text, what, unit.examples)
    return value * factor


def _without_per(said: str, unit: Unit) -> str:
    """Return the typed unit ``said`` without "per ..." if the word after "per" is one of ``unit.per``."""
    found = _PER.search(said)
    return said[: found.start()] if found and _singular(found["per"], dict.fromkeys(unit.per, 1.0)) else said


def _factor(said: str, words: Words) -> float | None:
    """Return the size of the typed unit in units of the field.

    The typed unit ``said`` is a word in ``words``, a suffix such as "m", or a suffix followed by a word. The result is
    None if it has none of these forms.
    """
    if not said:
        return 1.0
    found = _singular(said, words)
    if found is not None:
        return found
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        counted = said.removeprefix(suffix)
        if counted != said and (one := _singular(counted.strip(), {"": 1.0, **words})) is not None:
            return SUFFIXES[suffix] * one
    return None


def _singular(word: str, words: Words) -> float | None:
    found = words.get(word)
    if found is None and len(word) > 2:  # words of two letters are not plurals: "ms" does not mean several "m"
        return words.get(word.removesuffix("s"))
    return found


def _refused(text: str, what: str, unit: Unit, said: str) -> PlannerError:
    """Return the error for an amount in a wrong unit.

    If the typed unit ``said`` is a currency or can be converted to a unit in ``KINDS``, the error names that unit.
    """
    kinds = (*map(money, MONEY), *KINDS)
    bare = _PER.split(said)[0]
    other = next((kind.name for kind in kinds if kind.name != unit.name and _singular(bare, kind.words)), "")
    wrong = f"is in {other}, not in" if other else "is not in"
    return PlannerError(f"The {what} {cut(text)!r} {wrong} {unit.name}: write it like {unit.examples}.")
