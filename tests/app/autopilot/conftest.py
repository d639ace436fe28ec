"""Fixtures: a simulated grid of cells with known losses, and fits with the compiled kernels."""

from __future__ import annotations

from tests.app.terminal.conftest import run as run
from tests.compiled import compiled as compiled
