"""Cost of a sweep: its cap as typed (50 EUR at 2 EUR an hour, or 20 h), and training times of bundled cells."""

from __future__ import annotations

from functools import cache

from isoplan.data.files import listed, records
from isoplan.engine.amounts import AN_HOUR, HOURS, MONEY, money, parse_amount
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import parse_number
from isoplan.trainers.backend.estimate.calibration import Earlier
from isoplan.trainers.backend.queue.sweep import Cap

ON_PAGES = ("cap of the sweep", "price of a device hour")
"""Names of the two fields of a page in messages."""
DEVICE_HOURS = ("device hour", "device h", "gpu hour", "gpu h", "core hour", "core h", "cpu hour", "cpu h")
BUNDLED = ("grids", "grids/games")
"""Folders of bundled cells."""


def read_cap(cap: str, hour_price: str, called: tuple[str, str] = ("option --cap", "option --hour-price")) -> Cap:
    """Return the cap in device hours from the typed cap and the typed price per hour; either can be empty.

    ``called`` contains the names of the two fields for messages. Raises PlannerError if a text cannot be read.
    """
    currency = _currency(cap) or _currency(hour_price) or "EUR"
    price = _positive(parse_amount(hour_price, called[1], money(currency, *AN_HOUR)), called[1]) if hour_price else None
    if not cap.strip():
        return Cap(None, price, currency if price else "")
    if _currency(cap):
        amount = _positive(parse_amount(cap, called[0], money(currency)), called[0])
        if price is None:
            raise PlannerError(
                f"The {called[0]} is in {currency}: give the {called[1]} too, or write hours, as in 20 h."
            )
        return Cap(amount / price, price, currency)
    if _bare(cap):
        raise PlannerError(f"The {called[0]} {cap.strip()!r} has no unit: write it like 50 EUR or 20 h.")
    return Cap(_positive(parse_amount(_hours(cap), called[0], HOURS), called[0]), price, currency if price else "")


def _currency(text: str) -> str:
    """Return the currency named in ``text``, or "" if there is none."""
    return next((currency for currency, words in MONEY.items() if any(word in text.lower() for word in words)), "")


def _bare(text: str) -> bool:
    """Return whether ``text`` is a number without a unit."""
    try:
        parse_number(text)
    except PlannerError:
        return False
    return True


def _hours(text: str) -> str:
    """Replace a unit of device hours by hours."""
    bare = text.strip().lower().removesuffix("s")
    return next((f"{bare.removesuffix(word)} h" for word in DEVICE_HOURS if bare.endswith(word)), text)


def _positive(value: float, what: str) -> float:
    if value <= 0:
        raise PlannerError(f"The {what} must be above 0.")
    return value


@cache
def bundled_cells(family: str) -> tuple[Earlier, ...]:
    """Return N, C and the training time in seconds of the bundled cells of a family; empty if there are none."""
    prefix = f"{family.replace('-', '_')}_"
    rows = [row for folder in BUNDLED for name in listed(folder, prefix, ".csv") for row in records(name)]
    found = [[_number(row.get(key)) for key in ("N", "C", "seconds")] for row in rows]
    return tuple(Earlier(*values) for values in found if all(value > 0 for value in values))


def _number(text: object) -> float:
    """Return a table cell as a number; 0 if it is empty or not a number."""
    try:
        return float(str(text))
    except ValueError:
        return 0.0
