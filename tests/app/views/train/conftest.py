"""A workspace without a runner, and helpers that read the page Train and press its buttons."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from isoplan.app import workspace
from isoplan.engine.store.database.database import Database, open_workspace
from isoplan.trainers.backend.store.record import events_of
from isoplan.trainers.families import find_family

EXAMPLE = find_family("teacher-student", Path())
NINE = {"cell_width": "8, 16, 32", "cell_samples": "16384, 65536, 262144"}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """Open a workspace on disk without a runner, and register it as the workspace of the pages."""
    st.cache_data.clear()
    st.cache_resource.clear()
    with open_workspace(tmp_path / "space") as database, workspace.registered(database):
        yield database


@pytest.fixture
def root(db: Database) -> Path:
    assert db.folder is not None
    return db.folder


def flops(width: int, samples: int, dim: int = 32) -> float:
    """Return the training FLOPs of a cell of the example family, teacher and student.

    Training takes 6 FLOPs per weight and sample. The first layer takes only 4, because the gradient with respect to its
    inputs is not computed.
    """
    weights = dim * width + width * width + width
    return 6.0 * samples * weights - 2.0 * samples * width * dim


def words(at: AppTest) -> str:
    return "\n".join(str(m.value) for m in at.markdown)


def press(at: AppTest, label: str) -> AppTest:
    return next(b for b in at.button if b.label == label).click().run()


def bars(at: AppTest) -> str:
    return "\n".join(str(p.proto.text) for p in at.get("progress"))


def say(folder: Path, number: int, step: int, total: int, loss: float, **more: float) -> None:
    values = {"step": step, "total": total, "at": 1.0, "loss": loss, **more}
    with events_of(folder, number).open("a") as file:
        file.write(str(values).replace("'", '"') + "\n")
