"""Conversion of the times of runs to dates in UTC without a time zone."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any


def from_seconds(seconds: float) -> datetime | None:
    """Return a time in seconds since 1970 as a date in UTC, or None if there is no such date."""
    with suppress(ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    return None


def from_text(text: Any) -> datetime | None:
    """Return a time in ISO format as a date, or None if it is not valid. A time with a zone is converted to UTC."""
    with suppress(ValueError, TypeError, OverflowError):
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo is None else time.astimezone(UTC)).replace(tzinfo=None)
    return None
