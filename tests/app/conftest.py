"""Fixtures for the tests of pages, commands and reports."""

from __future__ import annotations

from tests.compiled import compiled as compiled
