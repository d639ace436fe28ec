"""Texts that a user typed about an autopilot: the target loss, and a share such as the wanted half width."""

from __future__ import annotations

from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import cut, parse_number, parse_share

UNTIL, LAW = 0.05, "chinchilla"
"""Default values of the half width that is small enough, and of the law."""


def read_target(text: str, called: str) -> float:
    """Return a target loss. Raises PlannerError with ``called``, the name of the field, if the loss is not positive."""
    return positive(parse_number(text, called[0].lower() + called[1:]), called)


def positive(value: float, called: str) -> float:
    """Return ``value``. Raises PlannerError with ``called``, the name of the field, if ``value`` is not positive."""
    if value <= 0:
        raise PlannerError(f"{called}: {value:g} is not positive. Give a positive number.")
    return value


def read_share(text: str, called: str) -> float:
    """Return a share as a fraction, such as 0.05 for a wanted half width of 5 % of the answer.

    Raises PlannerError with ``called``, the name of the field, if the share is not between 0 and 100 %.
    """
    share = parse_share(text, called[0].lower() + called[1:])
    if not 0 < share < 1:
        raise PlannerError(f"{called}: {cut(text)!r} is not between 0 and 100 %. Give a share such as 5 %.")
    return share
