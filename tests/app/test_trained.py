"""Trained amplitude cells of a workspace are anchors of plans, unless the user withdrew their rows from the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoplan.app import amplitude_cells
from isoplan.app.cell_service import ingest
from isoplan.engine.planning.amplitude.cells import anchors_of, most_anchors
from isoplan.engine.store.database.database import memory
from isoplan.engine.store.tables import tables
from isoplan.trainers.amplitudes.cell import AmplitudeCell
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.families import find_family
from tests.app.test_cells import finish
from tests.engine.planning.amplitude.trained import table


def test_finished_cells_of_the_workspace_are_anchors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amplitude_cells, "trained_cells", lambda: ())
    family, queue = find_family("amplitudes", tmp_path), Queue(tmp_path)
    rows = [row for row in table(points=(1000, 3000)).to_dict("records") if row["seed"] == 0]
    for row in rows:
        cell = AmplitudeCell(process="Zgg", points=row["D"], parameters=1e5, iterations=row["updates"])
        (name,) = queue.add(family, [cell])
        said = ("loss", "spread", "N", "D", "C", "d", "seen", "width_used", "layers_used", "rate_used")
        finish(tmp_path, name, metrics={key: float(row[key]) for key in said}, sizes={})
    with memory() as db:
        assert ingest(db, queue)[1] == len(rows) == 4
        found = amplitude_cells.of_workspace(db)
        assert {a.x for a in anchors_of(most_anchors(found, "Zgg"))} == {1000, 3000}
        (there,) = tables.all(db)
        tables.withdraw(db, there.id, [int(i) for i in tables.frame(db, there.id)["row id"][:2]], "wrong")
        assert len(amplitude_cells.of_workspace(db)) == 2
