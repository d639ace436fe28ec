"""Fixtures for the tests of the bundled data."""

from __future__ import annotations

from tests.compiled import compiled as compiled
