"""Import of runs of TensorBoard."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from isoplan.engine.trackers.reading import import_runs
from isoplan.engine.trackers.tensorboard.source import SOURCE
from tests.engine.trackers.conftest import MakeStore
from tests.engine.trackers.known import KNOWN, check_known, check_law


def test_runs_of_torch(make_store: MakeStore) -> None:
    """A restart continues a run, its last value at a step counts, and ``add_hparams`` adds settings to the run."""
    place = str(make_store("write_tensorboard.py", "torch"))
    imported = import_runs(place)
    assert imported.title == "TensorBoard"
    rows, points = imported.tables.rows, imported.tables.points
    check_known(rows, points, states=False)
    check_law(rows)
    assert points.column_names == ["run", "step", "val/loss"]
    assert set(rows["config.optimizer"].to_pylist()) == {"adam"}
    best = rows["summary.best"].to_numpy()
    np.testing.assert_allclose(best, [run["losses"][-1] - 0.5 for run in KNOWN], rtol=1e-6)


def test_runs_of_the_plugin(make_store: MakeStore) -> None:
    """Scalars are tensors, and states are those of the sessions. One more byte changes the mark of one run."""
    folder = make_store("write_tensorboard.py", "plugin")
    imported = import_runs(str(folder))
    check_known(imported.tables.rows, imported.tables.points, states=True)
    check_law(imported.tables.rows)
    assert set(imported.tables.rows["config.cosine"].to_pylist()) == {True}
    assert str(imported.tables.rows["created"][0].as_py()).startswith("20")
    assert SOURCE.marks(str(folder)) == imported.marks
    (file,) = (folder / KNOWN[5]["name"]).iterdir()
    content = file.read_bytes()
    file.write_bytes(content + content[-40:-20])
    changed = import_runs(str(folder), known=imported.marks)
    assert changed.tables.rows["run"].to_pylist() == [KNOWN[5]["name"]]
    assert changed.tables.points.num_rows == 100
    one = import_runs(str(file))
    assert one.tables.rows["run"].to_pylist() == [Path(KNOWN[5]["name"]).name]
