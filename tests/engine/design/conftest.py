"""Fixtures for the tests of the advice on the next cells."""

from __future__ import annotations

from tests.compiled import compiled as compiled
