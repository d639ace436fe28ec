"""Import of trials of Optuna."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoplan.engine.trackers.optuna import source as optuna
from isoplan.engine.trackers.reading import import_runs
from tests.engine.trackers.conftest import MakeStore
from tests.engine.trackers.known import check_known, check_law


@pytest.fixture(scope="module", params=["sqlite", "journal"])
def folder(make_store: MakeStore, request: pytest.FixtureRequest) -> Path:
    """Return a folder with a storage of the known runs."""
    return make_store("write_optuna.py", request.param)


def test_trials_of_a_storage(folder: Path) -> None:
    """Parameters, attributes, values, states and curves are those that were told."""
    imported = import_runs(str(folder))
    assert imported.title == "Optuna"
    rows = imported.tables.rows.to_pandas()
    assert list(rows["run"][-2:]) == ["pareto 0", "pareto 1"]
    assert list(rows["status"][-2:]) == ["finished", "pruned"]
    assert list(rows.loc[40, ["summary.value_0", "summary.value_1"]]) == [0.5, np.inf]
    assert set(rows["config.optimizer"][:40]) == {"adam"}
    assert set(rows["config.layers"][:40]) == {3.0}
    assert set(rows["config.model.widths"][:40]) == {"[1, 2]"}
    assert list(rows["tags.study"].unique()) == ["sizes a/b", "pareto"]
    assert rows["created"].notna().all()
    sizes = imported.tables.rows.slice(0, 40)
    check_known(sizes, imported.tables.points, states=True, names=False)
    check_law(sizes)


def test_a_new_value_changes_one_mark(make_store: MakeStore, folder: Path) -> None:
    """The second import reads nothing. After one more report, it reads only this trial."""
    (file,) = folder.iterdir()
    marks = optuna.marks(str(file))
    assert len(marks) == 42
    assert len(import_runs(f"sqlite:///{file}", known=marks).tables.rows) == 0
    make_store("report_optuna.py", str(file))
    changed = import_runs(str(file), known=marks)
    assert changed.tables.rows["run"].to_pylist() == ["sizes a/b 39"]
    assert changed.tables.points["val_loss"].to_pylist()[-1] == 1.0
