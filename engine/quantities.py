"""Read numbers as people type them (2M, 10^20, 3 ZFLOP, 200 H200 hours), and format numbers for display.

The functions that read a number raise PlannerError with one sentence that quotes the text and gives examples.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal

from isoplan.engine.errors import PlannerError
from isoplan.engine.hardware import CHECKED, DEVICES, UTILISATION, device

SUFFIXES = {
    **{"k": 1e3, "thousand": 1e3},
    **{"m": 1e6, "mn": 1e6, "mio": 1e6, "million": 1e6},
    **{"b": 1e9, "bn": 1e9, "g": 1e9, "billion": 1e9},
    **{"t": 1e12, "tn": 1e12, "trillion": 1e12},
}
PREFIXES = {
    **{"": 1.0, "k": 1e3, "kilo": 1e3, "m": 1e6, "mega": 1e6, "g": 1e9, "giga": 1e9, "t": 1e12, "tera": 1e12},
    **{"p": 1e15, "peta": 1e15, "e": 1e18, "exa": 1e18, "z": 1e21, "zetta": 1e21, "y": 1e24, "yotta": 1e24},
    **{"r": 1e27, "ronna": 1e27},
}
SECONDS = {
    **{"s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hr": 3600.0, "hour": 3600.0},
    **{"d": 86400.0, "day": 86400.0, "week": 604800.0, "month": 2629800.0, "year": 31557600.0},
}
NUMBER_EXAMPLES = "2M, 1.5k, 3,000,000, 1e6 or 10^6"
FLOP_EXAMPLES = "1e20, 10^20, 3 ZFLOP, 5 PFLOP/s-days or 200 H200 hours"
LONGEST = 100
PLAIN = 6
"""Maximum number of characters of a number that ``as_typed`` writes without an exponent."""

_TO_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_COMMAS = r"\d{1,3}(?:,\d{3})+\.\d*|\d{1,3}(?:,\d{3}){2,}"
_POINTS = r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}"
_DIGITS = rf"(?:{_COMMAS}|{_POINTS}|(?:\d{{1,3}}(?:[ _']\d{{3}})+|\d+)(?:\.\d*|,\d+)?|[.,]\d+)"
_THOUSAND = re.compile(r"[1-9]\d{0,2},\d{3}")
_NUMBER = re.compile(
    rf"\s*(?P<sign>[+-]?)(?:(?:(?P<mantissa>{_DIGITS})\s*[×x*·]\s*)?10\s*(?:\^|\*\*)\s*\(?(?P<power>[+-]?\d{{1,3}})\)?"
    rf"|(?P<plain>(?:{_DIGITS})(?:[eE][+-]?\d{{1,3}})?))(?![\d^.,])\s*"
)
_FLOP = re.compile(r"(?P<prefix>[a-z]*?)[\s-]*flops?(?P<rate>\s*(?:/|per)\s*s(?:ec(?:ond)?)?|ps)?(?P<rest>.*)")
_SHORT_RATE = re.compile(r"(?P<prefix>[mgtpez])f(?:s|/s)?[\s-]+(?P<rest>[a-z]+)")
_DEVICE = re.compile(
    r"(?:(?P<suffix>k|m|b|thousand|million)\s+)?(?:[x×*]\s*)?(?P<device>[a-z][a-z0-9 -]*?)"
    r"(?:\s*(?:\bfor\b|\bx\b|[×*,])\s*(?P<time>\d+\.?\d*)\s*|[\s-]+)(?P<unit>[a-z]+)"
    r"(?:\s*(?:at|@)\s*(?P<share>\d+\.?\d*)\s*%(?:\s*(?:utili[sz]ation|mfu))?)?"
)


@dataclass(frozen=True)
class Reading:
    """A typed number as read: its value, and a note on the assumption about its meaning (empty without assumption)."""

    value: float
    note: str

    def notes(self, text: str) -> list[str]:
        """Return one sentence on how ``text`` was read; an empty list if no assumption was needed."""
        return [f"{text} is read as {self.value:.4g} FLOPs: {self.note}."] if self.note else []


def parse_number(text: str, what: str = "number") -> float:
    """Read ``text`` as a number, such as "2M", "1.5k", "1e6", "10^6", "2 × 10^6", "3,000,000" or "2,5".

    A suffix is k, M, B or T, in upper or lower case. A comma is a decimal or a thousands separator, depending on the
    digits around it. Raises PlannerError; ``what`` names the field in the error message.
    """
    value, rest = leading(text, what, NUMBER_EXAMPLES)
    unit = rest.strip().lower()
    if unit and unit not in SUFFIXES:
        raise unreadable(text, what, NUMBER_EXAMPLES)
    return _finite(value * SUFFIXES.get(unit, 1.0), text, what, NUMBER_EXAMPLES)


def parse_share(text: str, what: str = "share") -> float:
    """Read a share such as ``0.4`` or ``40 %`` and return it as a fraction (0.4).

    The number is read as in ``parse_number``.
    """
    typed = text.strip()
    return parse_number(typed.removesuffix("%"), what) * (0.01 if typed.endswith("%") else 1.0)


def share_or_column(text: str) -> float | str | None:
    """Return a share from ``0.1`` or ``10%``. Other text names a column and is returned; empty text gives None."""
    try:
        return parse_share(text)
    except PlannerError:
        return text or None


def parse_flops(text: str, what: str = "budget") -> Reading:
    """Read FLOPs from ``text``: a number, a number with a unit (kFLOP to RFLOP), PFLOP/s-days, or accelerator hours.

    Hours of a known accelerator are converted with its dense peak (FLOP/s) and its utilisation. The utilisation is 40 %
    unless the text contains another one ("at 35 %"). The note of the result states peak and utilisation.
    """
    value, rest = leading(text, what, FLOP_EXAMPLES)
    reading = _read_compute(value, rest.strip().lower(), text, what)
    return Reading(_finite(reading.value, text, what, FLOP_EXAMPLES), reading.note)


def leading(text: str, what: str, examples: str) -> tuple[float, str]:
    """Return the number at the start of ``text``, and the text after the number.

    Raises PlannerError if the text does not start with a number, or if the number is ambiguous, such as 1,000.
    """
    plain = re.sub("[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda m: "^" + m[0].translate(_SUPERSCRIPTS), text[:LONGEST])
    plain = plain.replace("\u2212", "-").replace("\u00a0", " ").replace("\u202f", " ")
    found = _NUMBER.match(plain)
    if not found or len(text) > LONGEST:
        raise unreadable(text, what, examples)
    digits, _, power = (found["plain"] or f"{found['mantissa'] or 1}e{found['power']}").lower().partition("e")
    if _THOUSAND.fullmatch(digits):
        whole, _, part = digits.partition(",")
        raise PlannerError(
            f"The {what} {cut(text)!r} may mean {whole}{part} or {float(f'{whole}.{part}'):g}: write it without the "
            "comma."
        )
    return float(f"{found['sign']}{_decimal(digits)}e{power or 0}"), plain[found.end() :]


def _decimal(digits: str) -> str:
    """Return the digits with a decimal point and without thousands separators: "3,000,000" is 3000000, "2,5" is 2.5."""
    plain = re.sub(r"[ _']", "", digits)
    if re.fullmatch(_COMMAS, plain):
        return plain.replace(",", "")
    if re.fullmatch(_POINTS, plain):
        plain = plain.replace(".", "")
    return plain.replace(",", ".")


def _read_compute(value: float, unit: str, text: str, what: str) -> Reading:
    if not unit or unit in SUFFIXES:
        return Reading(value * SUFFIXES.get(unit, 1.0), "")
    if found := _FLOP.fullmatch(unit) or _SHORT_RATE.fullmatch(unit):
        return _read_flop(value, found, text, what)
    if found := _DEVICE.fullmatch(unit):
        return _read_hours(value, found, text, what)
    raise unreadable(text, what, FLOP_EXAMPLES)


def _read_flop(value: float, found: re.Match[str], text: str, what: str) -> Reading:
    prefix, rest = found["prefix"], found["rest"].strip(" -·*x")
    if prefix not in PREFIXES:
        raise unreadable(text, what, FLOP_EXAMPLES)
    if "rate" in found.re.groupindex and not found["rate"] and not rest:
        return Reading(value * PREFIXES[prefix], "")
    seconds = _seconds(rest)
    if seconds is None:
        raise PlannerError(f"The {what} {text!r} is a rate, not an amount: add a time, as in 5 PFLOP/s-days.")
    return Reading(
        value * PREFIXES[prefix] * seconds, f"{power10(value * PREFIXES[prefix])} FLOP/s for one {rest.rstrip('s')}"
    )


def _read_hours(value: float, found: re.Match[str], text: str, what: str) -> Reading:
    seconds, used = _seconds(found["unit"]), device(found["device"])
    if seconds is None:
        raise unreadable(text, what, FLOP_EXAMPLES)
    if used is None:
        known = ", ".join(d.name for d in DEVICES)
        raise PlannerError(f"The {what} {text!r} names a device that is not in the catalogue: use one of {known}.")
    share = float(found["share"]) / 100 if found["share"] else UTILISATION
    if not 0 < share <= 1:
        raise PlannerError(f"The {what} {text!r} needs a utilisation above 0 % and at most 100 %.")
    devices = value * SUFFIXES.get(found["suffix"] or "", 1.0)
    assumed = "" if found["share"] else ", assumed"
    return Reading(
        devices * float(found["time"] or 1.0) * seconds * used.peak * share,
        f"{si(used.peak)}FLOP/s dense {used.training} peak of {used.name} ({used.sheet}, {CHECKED}) "
        f"at {100 * share:.3g} % utilisation{assumed}",
    )


def _seconds(unit: str) -> float | None:
    """Return the number of seconds in a unit of time, such as "hour" or "days"; None if ``unit`` is not a time."""
    return SECONDS.get(unit) or SECONDS.get(unit.removesuffix("s"))


def _finite(value: float, text: str, what: str, examples: str) -> float:
    if not math.isfinite(value):
        raise unreadable(text, what, examples)
    return value


def unreadable(text: str, what: str, examples: str) -> PlannerError:
    """Return the error for a text that is not a number."""
    return PlannerError(f"The {what} {cut(text)!r} cannot be read as a number: write it like {examples}.")


def cut(text: str) -> str:
    """Cut typed text to forty characters, to quote it in an error message."""
    return text[:40] + ("..." if len(text) > 40 else "")


def as_typed(x: float) -> str:
    """Return a number as people type it, without rounding: 5000, 0.4, 1e-5, 2.5e9. ``parse_number`` is the inverse."""
    exact = Decimal(repr(float(x)))
    plain = f"{exact:f}".removesuffix(".0")
    if len(plain) <= PLAIN:
        return plain
    mantissa, _, power = f"{exact.normalize():e}".lower().partition("e")
    return min(plain, f"{mantissa}e{int(power or 0)}", key=len)


def digits(value: float, interval: tuple[float, float] | None) -> int:
    """Return the number of decimals to show for ``value``.

    The smaller finite distance from ``value`` to an end of ``interval`` is shown with two significant digits. Without
    an interval, ``value`` is shown with three. At most seven significant digits of ``value`` are shown. A negative
    result means rounding to tens (-1), hundreds (-2), ...
    """
    halves = [abs(end - value) for end in interval or () if math.isfinite(end) and end != value]
    size, keep = (min(halves), 2) if halves else (abs(value), 3)
    if not (math.isfinite(size) and size > 0):
        return 2
    places = keep - 1 - math.floor(math.log10(float(f"{size:.2e}")))
    return min(places, 6 - math.floor(math.log10(abs(value)))) if math.isfinite(value) and value else places


def rounded(value: float, interval: tuple[float, float] | None = None) -> str:
    """Format ``value`` with the decimals that its interval justifies.

    For example, 0.34731 with the interval (0.331, 0.363) gives 0.347.
    """
    return to_places(value, digits(value, interval))


def to_places(value: float, places: int) -> str:
    """Format ``value`` with ``places`` decimals; negative ``places`` mean rounding to tens, hundreds, ...

    Very small and very large values are written as powers of ten. Numbers of 10,000 and above have thousands
    separators: 402,000.
    """
    if not math.isfinite(value):
        return "∞" if value > 0 else "-∞" if value < 0 else "unknown"
    if abs(value) >= 1e6 or 0 < abs(value) < 1e-4:
        exponent = math.floor(math.log10(abs(value)))
        return power10(value, max(1, min(places + exponent + 1, 15)))
    return f"{round(value, places):{',' if abs(value) >= 1e4 else ''}.{max(0, min(places, 15))}f}"


def si(value: float, significant: int = 3) -> str:
    """Format ``value`` with an SI prefix, to be followed by a unit: "1.23 G" for 1.23e9, "1.00 " without a prefix."""
    scale, prefix = _scale(value, significant, ("", "k", "M", "G", "T", "P", "E", "Z", "Y", "R"))
    return f"{_significant(scale, significant)} {prefix}"


def count(value: float, significant: int = 2) -> str:
    """Format a count: 950, 1.9 k, 2.0 M, 70 B, 8.8 T. Counts above 10^15 are written as powers of ten."""
    if not math.isfinite(value) or abs(value) >= 1e15 or 0 < abs(value) < 0.01:
        return power10(value, significant)
    if value == round(value) and abs(value) < 1000:
        return f"{value:.0f}"
    scale, prefix = _scale(value, significant, ("", "k", "M", "B", "T"))
    return f"{_significant(scale, significant)} {prefix}".rstrip()


def _scale(value: float, significant: int, prefixes: tuple[str, ...]) -> tuple[float, str]:
    """Divide ``value`` by its largest fitting SI prefix and return the quotient and the prefix.

    The value is rounded first: 999.9 at three digits becomes 1.00 k.
    """
    if not math.isfinite(value) or value == 0:
        return value, ""
    value = float(f"{value:.{significant - 1}e}")
    step = min(max(math.floor(math.log10(abs(value)) / 3 + 1e-12), 0), len(prefixes) - 1)
    return value / 10.0 ** (3 * step), prefixes[step]


def _significant(value: float, significant: int) -> str:
    """Format ``value`` with ``significant`` digits and without an exponent: 1.9, 70, 950 (never 9.5e+02)."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    places = significant - 1 - math.floor(math.log10(abs(value)) + 1e-12)
    return f"{round(value, places):.{max(places, 0)}f}"


def power10(value: float, significant: int = 3) -> str:
    """Format ``value`` as a power of ten in plain text: 5.76 × 10²³, or 10²⁰ if the factor is 1."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "-∞" if value < 0 else "unknown"
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{value:.{significant - 1}e}".partition("e")
    power = f"10{str(int(exponent)).translate(_TO_SUPERSCRIPT)}"
    return power if float(mantissa) == 1 else f"{mantissa} × {power}"


def number(value: float, significant: int = 3) -> str:
    """Return a number as text: plain between 0.001 and 10,000, otherwise as a power of ten."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else power10(value)
    if 1e-3 <= abs(value) < 1e4:
        return f"{value:.{significant}g}" if abs(value) < 1000 else f"{value:,.0f}"
    return power10(value, significant)


def flops(value: float) -> str:
    """Format a number of FLOPs as a power of ten, such as "10²⁰ FLOPs"."""
    return f"{power10(value)} FLOPs"


def duration(seconds: float) -> str:
    """Format a time in a suitable unit: 85 s, 14 min, 3.2 h, 12 days, 2.1 years."""
    if not math.isfinite(seconds):
        return "∞" if seconds > 0 else "unknown"
    for limit, unit, name in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h"), (63_115_200, 86_400, "days")):
        if seconds < limit:
            return f"{seconds / unit:.2g} {name}" if seconds < 10 * unit else f"{seconds / unit:.0f} {name}"
    years = seconds / SECONDS["year"]
    return f"{years:.1f} years" if years < 100 else f"{power10(years, 2)} years"
