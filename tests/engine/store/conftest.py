"""Fixtures for tests of the store: databases in memory and on disk, and the import of small tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from isoplan.engine.store.database.database import Database, memory, open_workspace
from isoplan.engine.store.tables import tables
from tests.compiled import compiled as compiled

GRID = "run,N,D,loss\n" + "".join(
    f"r{i}{j},{N},{D},{1.7 + 400 / N**0.34 + 2000 / D**0.37:.6f}\n"
    for i, N in enumerate((1e6, 4e6, 1.6e7, 6.4e7))
    for j, D in enumerate((2e7, 1e8, 5e8, 2.5e9))
)


@pytest.fixture
def db() -> Iterator[Database]:
    with memory() as database:
        yield database


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Database]:
    with open_workspace(tmp_path / "workspace", url="http://localhost:8501") as database:
        yield database


@pytest.fixture
def add(db: Database) -> Callable[..., tables.TableInfo]:
    """Return a function that imports text (or bytes) under a name into ``db``."""

    def import_(text: str | bytes, name: str = "runs.csv", **options: str) -> tables.TableInfo:
        return tables.add(db, text.encode() if isinstance(text, str) else text, name, **options)  # type: ignore[arg-type]

    return import_
