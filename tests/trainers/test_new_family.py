"""A new family in a single file: its commands in the terminal, and its fields on the Train page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from isoplan import app, trainers
from isoplan.app import workspace
from isoplan.engine.store.database.cell_index import table_of
from isoplan.engine.store.database.database import open_workspace
from isoplan.engine.store.tables import tables
from isoplan.trainers.cell import Stopped
from isoplan.trainers.families import _folders
from tests import progress
from tests.trainers import series
from tests.trainers.conftest import ROOT, end_runner
from tests.trainers.jets.stream import Silent

FILE = Path(series.__file__)


def put_family(folder: Path) -> None:
    """Write the package ``series`` into ``folder``, like a user who adds a family to ``trainers``."""
    (folder / "series").mkdir(parents=True)
    (folder / "series" / "__init__.py").write_bytes(FILE.read_bytes())


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return a folder with a package ``isoplan``.

    The package contains links to the files of this checkout and one additional family.
    """
    package = tmp_path / "path" / "isoplan"
    put_family(package / "trainers")
    for part in ("app", "engine", "data"):
        (package / part).symlink_to(ROOT / part)
    for source in [*(ROOT / "isoplan").glob("*.py"), ROOT / "isoplan" / "py.typed"]:
        (package / source.name).symlink_to(source)
    for source in (ROOT / "trainers").iterdir():
        (package / "trainers" / source.name).symlink_to(source)
    return package.parent


@pytest.fixture
def on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Add the new family to the families of this process."""
    put_family(tmp_path / "more")
    monkeypatch.setattr(trainers, "__path__", [*trainers.__path__, str(tmp_path / "more")])
    _folders.cache_clear()
    yield
    _folders.cache_clear()
    sys.modules.pop("isoplan.trainers.series", None)
    if hasattr(trainers, "series"):
        del trainers.series


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """Return a workspace and terminate its runner after the test."""
    space = tmp_path / "space"
    yield space
    end_runner(space)


def run(installed: Path, *arguments: object) -> str:
    """Run ``isoplan`` from the folder ``installed`` and return its standard output."""
    command = [sys.executable, "-P", "-c", "from isoplan.app.cli import main; main()", *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(command, env=env, cwd=installed, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_file_is_short() -> None:
    assert len(FILE.read_text().splitlines()) <= 40


def test_it_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    cell = series.Series(size=9, terms=50)
    with pytest.raises(Stopped):
        series.train(cell, Silent(tmp_path, end=20))
    rest = Silent(tmp_path, resume=tmp_path / "checkpoint")
    assert series.train(cell, rest) == series.train(cell, Silent(tmp_path / "whole"))
    assert rest.said[0][0] == 21


def test_its_cells_are_trained_and_a_law_is_fitted_to_them(installed: Path, root: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs.csv"
    shown = run(installed, "train", "series/example", "--workspace", root, "--yes")
    assert "16 cells" in shown
    assert "16 of 16 cells are done." in shown

    with open_workspace(root) as db:
        rows = tables.frame(db, table_of("series"))
    assert sorted(zip(rows["N"], rows["D"], strict=True)) == [
        (size, terms) for size in (4, 16, 64, 256) for terms in (8, 32, 128, 512)
    ]
    assert list(rows["C"]) == pytest.approx(list(6 * rows["N"] * rows["D"]))
    assert list(rows["loss"]) == pytest.approx(
        list(series.E + rows["N"] ** -series.ALPHA + rows["D"] ** -series.BETA), rel=1e-9
    )

    rows[["N", "D", "loss"]].to_csv(runs, index=False)
    fit = json.loads(run(installed, "fit", runs, "--law", "chinchilla", "--bootstrap", 0, "--json"))
    values = {name: fit["parameters"][name]["value"] for name in ("E", "alpha", "beta")}
    assert values == pytest.approx({"E": series.E, "alpha": series.ALPHA, "beta": series.BETA}, rel=1e-3)


@pytest.mark.usefixtures("on_the_path")
def test_the_train_page_lists_it_with_its_fields(tmp_path: Path) -> None:
    st.cache_data.clear()
    st.cache_resource.clear()
    with open_workspace(tmp_path / "space") as db, workspace.registered(db):
        at = AppTest.from_file(Path(app.__file__).with_name("main.py"), default_timeout=progress.LAST)
        at.query_params["family"] = "series"
        at.switch_page("views/train.py").run()
    assert not at.exception
    assert not at.error
    choice = at.selectbox(key="family_choice")
    assert "Sum of a series" in choice.options
    assert choice.value == "series"
    assert {box.label for box in at.text_input} >= {"Size", "Terms"}
    assert any(button.label == "Example" for button in at.button)
