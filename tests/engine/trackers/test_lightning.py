"""Import of runs of Lightning."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.catalogue import find_source
from isoplan.engine.trackers.plain.lightning import SOURCE
from isoplan.engine.trackers.reading import import_runs
from tests.engine.trackers.conftest import MakeStore
from tests.engine.trackers.known import check_known, check_law


def test_runs_of_the_csv_logger(make_store: MakeStore) -> None:
    """Settings, losses, curves and the law are those that were logged. Lightning records no states."""
    place = str(make_store("write_lightning.py"))
    imported = import_runs(place)
    assert imported.title == "Lightning"
    check_known(imported.tables.rows, imported.tables.points, states=False, names=False)
    check_law(imported.tables.rows)
    assert SOURCE.marks(place) == imported.marks


def test_damaged_runs(tmp_path: Path) -> None:
    """A run without settings, a run whose last row is being written, and a run without rows."""
    for name, content in (("version_2", "epoch,step,loss\r\n0,1,3.0\r\n0,2,2."), ("version_10", "step,loss\r\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.csv").write_text(content)
    (tmp_path / "version_10/hparams.yaml").write_text("model: !!python/object/apply:os.system ['touch hacked']\n")
    assert find_source(str(tmp_path)) is SOURCE
    marks = SOURCE.marks(str(tmp_path))
    assert list(marks) == ["version_2", "version_10"]
    first, second = SOURCE.read(str(tmp_path), list(marks))
    assert first.config == {}
    assert first.histories["loss"].values.tolist() == [3.0]
    assert second.config == {"model": '["touch hacked"]'}
    assert second.histories == {}
    with (tmp_path / "version_2/metrics.csv").open("a") as file:
        file.write("5\r\n")
    changed = SOURCE.marks(str(tmp_path))
    assert [key for key in marks if changed[key] != marks[key]] == ["version_2"]


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    """A file metrics.csv without steps is refused, and random bytes are too."""
    for content in (b"name,loss\n1,2\n", bytes(range(256)) * 40):
        (tmp_path / "metrics.csv").write_bytes(content)
        with pytest.raises(PlannerError, match="has no column step"):
            list(SOURCE.read(str(tmp_path), list(SOURCE.marks(str(tmp_path)))))
