"""Tests which trained cells (training runs) of a workspace become rows of a run table and which do not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from isoplan.app.cell_service import LEAST_DISK, as_row, delete, ingest, ingest_if_free
from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database import cell_index
from isoplan.engine.store.database.database import FILE, Database, open_workspace
from isoplan.engine.store.tables import tables
from isoplan.trainers.backend.queue import sweep
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import make_grid
from tests.trainers.conftest import ROOT, add, run_all, workspace

KEY = cell_index.table_of("counter")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the folder of a new workspace."""
    return workspace(tmp_path / "space")


@pytest.fixture
def db(root: Path) -> Iterator[Database]:
    """Open the database of ``root``."""
    with open_workspace(root) as database:
        yield database


def finish(root: Path, name: str, **more: Any) -> int:
    """End a new attempt to train the cell ``name``, as a worker does, and return the number of the attempt."""
    queue = Queue(root)
    number = queue.lease(name, "test")
    said = {
        "metrics": {"loss": 1.5}, "begun": "2026-01-02T03:04:05.000+00:00", "seconds": 2.0, "host": "here",
        "device": "cpu", "version": "v1", "sizes": {"N": 10.0, "D": 5.0}, "loss": "loss", "directions": {},
    }  # fmt: skip
    queue.end(name, number, "done", "", **{**said, **more})
    return number


def rows(db: Database) -> list[dict[str, Any]]:
    """Return the rows of the run table of the cell family "counter", or [] if there is no such table."""
    if KEY not in {table.id for table in tables.all(db)}:
        return []
    found = tables.frame(db, KEY).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in found]


def test_real_cells_become_rows_with_all_that_is_known_of_them(root: Path) -> None:
    names = add(root, {"size": 10, "steps": 3}, {"size": 20, "steps": 4, "seed": 1}, {"how": "fails"}, {"how": "nan"})
    found = run_all(root)
    with open_workspace(root) as db:
        assert ingest(db, Queue(root))[1] == 2
        by_name = {row["run"]: row for row in rows(db)}
        row = by_name[names[1]]
        assert (row["N"], row["D"], row["C"], row["size"], row["steps"], row["seed"]) == (20, 4, 480, 20, 4, 1)
        assert row["loss"] == 1.25
        assert row["sum"] == pytest.approx(1 + 1 / 4 + 1 / 9 + 1 / 16)
        assert row["seconds"] == pytest.approx(found[names[1]].results[1]["seconds"])
        assert row["host"] == found[names[1]].results[1]["host"]
        assert (row["device"], row["attempts"], row["family"]) == ("cpu", 1, "counter")
        assert row["version"] == found[names[1]].version != ""
        assert set(by_name) == {*names[:2]}
        assert cell_index.counts(db, "counter") == {"done": 2, "failed": 2}
        assert tables.roles(db, KEY).hyper == ("size", "steps")


def test_only_the_result_of_the_lease_counts(root: Path, db: Database) -> None:
    (name,) = add(root, {"size": 3})
    finish(root, name)
    queue = Queue(root)
    queue.lease(name, "another")
    assert ingest(db, queue)[1] == 0
    queue.end(name, 3, "done", "", metrics={"loss": 7.0})
    assert ingest(db, queue)[1] == 0
    assert rows(db) == []
    queue.end(name, 2, "done", "", metrics={"loss": 2.0}, seconds=4.0)
    assert ingest(db, queue)[1] == 1
    (row,) = rows(db)
    assert (row["loss"], row["attempts"], row["seconds"]) == (2.0, 2, 6.0)
    assert row["begun"] == datetime(2026, 1, 2, 3, 4, 5)


def test_half_written_and_foreign_results_are_passed_over(root: Path, db: Database) -> None:
    names = add(root, *({"size": n} for n in range(1, 8)))
    for name in names:
        finish(root, name)
    texts = [
        '{"number": 1, "state": "done", "metr', "", "[]", '{"state": "done", "metrics": {"loss": NaN}}',
        '{"state": "done", "metrics": {"loss": "low"}}', '{"state": "done"}',
    ]  # fmt: skip
    for name, text in zip(names, texts, strict=False):
        (root / "cells" / name / "result-1.json").write_text(text)
    assert ingest(db, Queue(root))[1] == 1
    assert [row["run"] for row in rows(db)] == names[6:]
    (root / "cells" / names[0] / "result-1.json").write_text('{"state": "done", "metrics": {"loss": 3, "x": true}}')
    assert ingest(db, Queue(root))[1] == 1
    assert rows(db)[1]["loss"] == 3
    assert rows(db)[1]["N"] is None


def test_a_look_at_what_was_seen_changes_nothing(root: Path, db: Database) -> None:
    first, second = add(root, {"size": 1}, {"size": 2})
    queue = Queue(root)
    finish(root, first)
    seen, new = ingest(db, queue)
    assert (new, {name: r.state for name, r in seen.cells.items()}) == (1, {first: "done", second: "queued"})
    assert ingest(db, queue, seen) == (seen, 0)
    finish(root, second)
    assert ingest(db, queue, seen)[1] == 1


def test_a_database_that_was_lost_is_filled_again_from_the_folder(root: Path) -> None:
    names = add(root, *({"size": n} for n in range(1, 6)))
    for name in names:
        finish(root, name)
    assert ingest_if_free(root) == 5
    with open_workspace(root) as db:
        before = rows(db), cell_index.index(db)
    (root / FILE).unlink()
    assert ingest_if_free(root) == 5
    with open_workspace(root) as db:
        assert (rows(db), cell_index.index(db)) == before
    assert ingest_if_free(root) == 0


def test_who_does_not_own_the_workspace_leaves_the_rows_to_the_owner(root: Path, db: Database) -> None:
    (name,) = add(root, {"size": 1})
    finish(root, name)
    command = (
        "import sys, pathlib; from isoplan.app.cell_service import ingest_if_free as f; "
        "print(f(pathlib.Path(sys.argv[1])))"
    )
    other = [sys.executable, "-c", command, str(root)]
    done = subprocess.run(other, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "0\n"
    assert ingest_if_free(root) == 0
    assert ingest(db, Queue(root))[1] == 1


def test_deleting_cells_frees_their_folders_and_withdraws_their_rows(root: Path, db: Database) -> None:
    done, waits, runs = add(root, {"size": 1}, {"size": 2}, {"size": 3})
    finish(root, done)
    queue = Queue(root)
    queue.lease(runs, "somebody")
    ingest(db, queue)
    with pytest.raises(PlannerError, match=f"The cell {runs} is running: cancel it first"):
        delete(db, queue, [done, runs, waits])
    assert not (root / "cells" / done).exists()
    assert [row["withdrawn"] for row in rows(db)] == ["its cell was deleted"]
    assert delete(db, queue, [waits]) > 0
    assert list(cell_index.index(db)) == [runs]
    assert ingest(db, queue)[1] == 0


def test_a_cell_that_vanished_from_the_folder_keeps_its_row(root: Path, db: Database) -> None:
    (name,) = add(root, {"size": 1})
    finish(root, name)
    queue = Queue(root)
    seen, _ = ingest(db, queue)
    queue.delete([name])
    assert ingest(db, queue, seen)[1] == 0
    assert [row["run"] for row in rows(db)] == [name]
    assert cell_index.index(db) == {}


def test_on_a_full_disk_rows_wait(root: Path, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    (name,) = add(root, {"size": 1})
    finish(root, name)
    queue, free = Queue(root), [LEAST_DISK - 1]
    monkeypatch.setattr("isoplan.app.cell_service.shutil.disk_usage", lambda _: type("Usage", (), {"free": free[0]}))
    with pytest.raises(
        PlannerError, match="is full, so finished cells are not added to their run tables: free some space"
    ):
        ingest(db, queue)
    assert rows(db) == []
    free[0] = LEAST_DISK
    assert ingest(db, queue)[1] == 1


def test_sizes_that_the_training_reports_go_before_those_counted(root: Path, db: Database) -> None:
    (name,) = add(root, {"size": 1})
    finish(root, name, metrics={"loss": 1.0, "D": 77.0})
    ingest(db, Queue(root))
    assert (rows(db)[0]["N"], rows(db)[0]["D"]) == (10, 77)


def test_the_first_begin_and_all_the_time_of_a_cell_are_kept(root: Path) -> None:
    (name,) = add(root, {"size": 1})
    queue = Queue(root)
    queue.end(name, queue.lease(name, "x"), "stopped", "runner", begun="2025-01-01T00:00:00+00:00", seconds=10.0)
    finish(root, name)
    row = as_row(queue.find(name))
    assert row is not None
    assert (row.begun, row.seconds, row.attempts) == (datetime(2025, 1, 1), 12.0, 2)


def test_rows_name_their_sweep_and_cells_wait_as_their_sweep_does(root: Path, db: Database) -> None:
    family = find_family("counter", root)
    one = sweep.launch(root, make_grid(family, {"size": [1, 2]}, "first try"), family)
    first, second = one.cells
    finish(root, first)
    queue = Queue(root)
    seen, _ = ingest(db, queue)
    assert rows(db)[0]["sweep"] == "first try"
    assert (cell_index.index(db)[second].state, cell_index.index(db)[second].sweep) == ("queued", "first try")
    sweep.hold(root, one.key)
    ingest(db, queue, seen)
    assert cell_index.index(db)[second].state == "held"
