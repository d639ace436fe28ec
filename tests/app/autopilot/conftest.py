"""Fixtures: fits with the compiled kernels, and a workspace with a small grid of real cells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.terminal.conftest import run as run
from tests.compiled import compiled as compiled
from tests.trainers.conftest import end_runner

GRID = """family = "teacher-student"

[cell]
width = [4, 8, 16]
samples = "2048..32768 x 5"
"""


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """Return the folder of a workspace and, after the test, terminate its runner."""
    space = tmp_path / "space"
    space.mkdir()
    (space / "grid.toml").write_text(GRID)
    yield space
    end_runner(space)
