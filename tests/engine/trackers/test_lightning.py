"""Import of runs of Lightning."""

from __future__ import annotations

from isoplan.engine.trackers.reading import import_runs
from tests.engine.trackers.conftest import MakeStore
from tests.engine.trackers.known import check_known, check_law


def test_runs_of_the_csv_logger(make_store: MakeStore) -> None:
    """Settings, losses and curves are those that were logged. Lightning records no states."""
    imported = import_runs(str(make_store("write_lightning.py")))
    assert imported.title == "Lightning"
    check_known(imported.tables.rows, imported.tables.points, states=False, names=False)
    check_law(imported.tables.rows)
