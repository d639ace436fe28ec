"""Import of runs from any source: recognition, marks, limits, and damaged stores."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers import reading
from isoplan.engine.trackers.formats.folders import natural, read_yaml
from isoplan.engine.trackers.formats.nested import flat, number
from isoplan.engine.trackers.reading import import_runs
from isoplan.engine.trackers.run import History, TrackedRun
from isoplan.engine.trackers.tables import as_tables


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a folder with three runs in the files of Lightning."""
    for i in range(3):
        folder = tmp_path / f"store/version_{i + 8}"
        folder.mkdir(parents=True)
        (folder / "hparams.yaml").write_text(f"params: {10 ** (i + 6)}\ntokens: 1.0e+9\n")
        (folder / "metrics.csv").write_text("step,val_loss,lr\n0,4.5,\n0,,0.1\n1,3.5,\n" + f"2,{3 - i / 10},0.05\n")
    return tmp_path / "store"


def test_runs_become_two_tables(store: Path) -> None:
    """A run is a row, and a step is a point. Numbers in names are sorted by value."""
    imported = import_runs(str(store))
    assert imported.tables.rows.to_pydict() | {"created": None} == {
        "run_id": ["version_8", "version_9", "version_10"],
        "run": ["version_8", "version_9", "version_10"],
        "status": ["unknown"] * 3,
        "created": None,
        "config.params": [1e6, 1e7, 1e8],
        "config.tokens": [1e9] * 3,
        "summary.val_loss": [3.0, 2.9, 2.8],
        "summary.lr": [0.05] * 3,
    }
    points = imported.tables.points.to_pandas()
    assert points["step"].tolist() == [0, 1, 2] * 3
    np.testing.assert_array_equal(points["lr"][:3], [0.1, np.nan, 0.05])


def test_only_new_and_changed_runs_are_read_again(store: Path) -> None:
    """Marks of an earlier import select the runs that have changed since."""
    first = import_runs(str(store))
    assert len(import_runs(str(store), known=first.marks).tables.rows) == 0
    with (store / "version_9/metrics.csv").open("a") as file:
        file.write("3,2.5,0.05\n")
    again = import_runs(str(store), known=first.marks)
    assert again.tables.rows["summary.val_loss"].to_pylist() == [2.5]
    assert again.marks.keys() == first.marks.keys()


def test_archives_are_read_like_folders(store: Path, tmp_path: Path) -> None:
    """The ids of runs do not depend on the temporary folder."""
    for kind in ("zip", "gztar"):
        path = shutil.make_archive(str(tmp_path / kind), kind, store.parent, "store")
        assert import_runs(path).tables.rows["run"].to_pylist() == ["version_8", "version_9", "version_10"]


def test_messages_name_the_place_and_the_way_out(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each problem is one sentence that names what to do."""
    with pytest.raises(PlannerError, match="There is no file or folder"):
        import_runs(str(tmp_path / "nothing"))
    with pytest.raises(PlannerError, match=r"--as comet: there is no such source\. Use one of "):
        import_runs(str(store), "comet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(PlannerError, match="contains no runs of a known tracker"):
        import_runs(str(tmp_path / "empty"))
    (store / "version_8/hparams.yaml").write_text("a: [1, 2")
    with pytest.raises(PlannerError, match=r"version_8/hparams\.yaml is not valid YAML .*: correct it\."):
        import_runs(str(store))
    monkeypatch.setattr(reading, "MEGABYTES", 40)
    with pytest.raises(PlannerError, match="cannot be read: it is damaged, or too large for memory"):
        import_runs(str(store))


def test_an_import_can_be_cancelled(store: Path) -> None:
    """An error in the function that follows the progress ends the import with this error."""
    for i in range(30):
        shutil.copytree(store / "version_8", store / f"version_{100 + i}")

    def stop(done: int, whole: int) -> None:
        raise KeyboardInterrupt(f"{done} of {whole}")

    with pytest.raises(KeyboardInterrupt, match="20 of 33"):
        import_runs(str(store), follow=stop)


def test_yaml_is_never_executed(tmp_path: Path) -> None:
    """A tag becomes plain data, and a file whose aliases repeat values without end is refused."""
    file = tmp_path / "x.yaml"
    file.write_text("a: !!python/tuple [1, 2]\nb: !!python/object/apply:os.system ['touch gone']\nc: !Own {x: 1}\n")
    assert read_yaml(file) == {"a": [1, 2], "b": ["touch gone"], "c": {"x": 1}}
    bomb = "a0: &a0 [1,1]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9))
    file.write_text(bomb)
    with pytest.raises(PlannerError, match="more than 20 aliases"):
        read_yaml(file)


def test_values_and_names() -> None:
    """Nested settings become flat, texts become numbers where they are numbers, and equal names are extended."""
    nested = {"model": {"N": 3, "act": "relu", "none": None, "empty": {}}, "betas": [0.9, 0.95], "amp": True}
    assert flat(nested) == {"model.N": 3.0, "model.act": "relu", "betas": "[0.9, 0.95]", "amp": True}
    assert [number(text) for text in ("1e-3", "true", "1_000", "adam")] == [1e-3, True, "1_000", "adam"]
    assert sorted(["v10", "v2", "v1a"], key=natural) == ["v1a", "v2", "v10"]
    history = {"loss": History(np.array([2.0, 1.0]), np.array([5.0, 6.0]))}
    runs = [TrackedRun("1", "same", histories=history), TrackedRun("2", "same"), TrackedRun("3", "")]
    rows = as_tables(runs).rows
    assert rows["run"].to_pylist() == ["same 1", "same 2", "3"]
    assert rows["summary.loss"].to_pylist() == [5.0, None, None]
    assert len(as_tables([]).rows) == len(as_tables([]).points) == 0
