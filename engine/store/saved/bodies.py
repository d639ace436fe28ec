"""What is kept as JSON: its text, the hash that names it, and the moment it was kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any


def as_text(body: Mapping[str, Any]) -> str:
    """The one text of a JSON object, so that equal objects have equal hashes."""
    return json.dumps(body, allow_nan=False, sort_keys=True, separators=(",", ":"))


def short_hash(text: str) -> str:
    """The first twelve digits of the SHA-256 of ``text``."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def now() -> datetime:
    """The moment, in UTC and without a zone, as the store keeps it."""
    return datetime.now(UTC).replace(tzinfo=None)
