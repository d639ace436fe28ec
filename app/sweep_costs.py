"""Costs of a sweep: the cap that a user typed, and training times of bundled cells.

A cap limits the cost of a sweep. The cap is a number of device hours ("20 h"), or an amount of money ("50 EUR"). An
amount of money also needs the price of a device hour ("2 EUR").
"""

from __future__ import annotations

import math
import re
from functools import cache

from isoplan.data.files import listed, records
from isoplan.engine.amounts import AN_HOUR as PER_HOUR
from isoplan.engine.amounts import HOURS, currency_of, money, parse_amount
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import leading, parse_number
from isoplan.trainers.backend.estimate.calibration import Earlier
from isoplan.trainers.backend.queue.sweep import AN_HOUR, Cap, TimeUnit

ON_PAGES = ("cap of the sweep", "price of a device hour")
"""Names that error messages on a page use for the two fields: the cap, and the price per device hour."""
NO_LIMIT, NO_PRICE = "no limit", "none"
"""Words for "no cap" and "no price". A user can type them instead of leaving the fields empty."""
OF_DEVICE = re.compile(r"\b(?:device|gpu|core|cpu)\s+", re.IGNORECASE)
"""Pattern of a word before a unit of time, such as "GPU" in "GPU hours"."""
BUNDLED = ("grids", "grids/games")
"""Folders of ``data`` with the tables of bundled cells."""


def read_cap(cap: str, hour_price: str, called: tuple[str, str] = ("option --cap", "option --hour-price")) -> Cap:
    """Return the cap of a sweep in device hours, from two typed texts: the cap and the price per device hour.

    Either text can be empty; ``NO_LIMIT`` and ``NO_PRICE`` also mean empty. Error messages use ``called`` as the names
    of the two fields. Raises PlannerError if a text cannot be read, or if the cap is money and no price is given.
    """
    cap = "" if cap.strip().lower() == NO_LIMIT else cap
    hour_price = "" if hour_price.strip().lower() == NO_PRICE else hour_price
    currency = currency_of(cap) or currency_of(hour_price) or "EUR"
    price = (
        _positive(parse_amount(hour_price, called[1], money(currency, *PER_HOUR)), called[1]) if hour_price else None
    )
    if not cap.strip():
        return Cap(None, price, currency if price else "")
    if currency_of(cap):
        amount = _positive(parse_amount(cap, called[0], money(currency)), called[0])
        if price is None:
            raise PlannerError(
                f"The {called[0]} is in {currency}: give the {called[1]} too, or write hours, as in 20 h."
            )
        return Cap(amount / price, price, currency)
    if _bare(cap):
        raise PlannerError(f"The {called[0]} {cap.strip()!r} has no unit: write it like 50 EUR or 20 h.")
    typed = OF_DEVICE.sub("", cap)
    hours = _positive(parse_amount(typed, called[0], HOURS), called[0])
    return Cap(hours, price, currency if price else "", _unit(typed, hours))


def _unit(typed: str, hours: float) -> TimeUnit:
    """Return the unit of the time in the text ``typed``, such as "minute".

    ``hours`` is the same time in hours.
    """
    number, _ = leading(typed, "", "")
    return next((unit for unit, size in AN_HOUR.items() if math.isclose(hours * size, number)), "hour")


def is_money(cap: str) -> bool:
    """Return whether a typed cap is an amount of money, which needs a price."""
    return bool(currency_of(cap))


def _bare(text: str) -> bool:
    """Return whether ``text`` is a number without a unit."""
    try:
        parse_number(text)
    except PlannerError:
        return False
    return True


def _positive(value: float, what: str) -> float:
    if value <= 0:
        raise PlannerError(f"The {what} must be above 0.")
    return value


@cache
def bundled_cells(family: str) -> tuple[Earlier, ...]:
    """Return N, C and the training time in seconds of each bundled cell of a family; () if there are none."""
    prefix = f"{family.replace('-', '_')}_"
    rows = [row for folder in BUNDLED for name in listed(folder, prefix, ".csv") for row in records(name)]
    found = [[_number(row.get(key)) for key in ("N", "C", "seconds")] for row in rows]
    return tuple(Earlier(*values) for values in found if all(value > 0 for value in values))


def _number(text: object) -> float:
    """Return the value of a table cell as a number; 0 if the value is empty or not a number."""
    try:
        return float(str(text))
    except ValueError:
        return 0.0
