"""Imported tables: the first import, and imports of new and changed runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database.database import Database, memory, open_workspace
from isoplan.engine.store.tables import snapshots, tables
from isoplan.engine.store.tables.imported_tables import add_runs, is_imported, read_record, renew
from isoplan.engine.trackers.reading import import_runs
from isoplan.engine.trackers.run import TrackedRun
from isoplan.engine.trackers.tables import as_tables


def write_run(place: Path, i: int, loss: float, steps: int = 3, name: str = "") -> None:
    folder = place / (name or f"version_{i}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hparams.yaml").write_text(f"params: {10**6 * (i + 1)}\ntokens: {10**8 * (i + 1)}\nnote: x\n")
    rows = "".join(f"{step},{loss + steps - 1 - step}\n" for step in range(steps))
    (folder / "metrics.csv").write_text(f"step,val_loss\n{rows}")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for i in range(4):
        write_run(tmp_path / "logs", i, 4 - i / 10)
    return tmp_path / "logs"


def losses(db: Database, table_id: str) -> list[float]:
    runs = snapshots.runs(db, snapshots.take(db, table_id, tables.roles(db, table_id)))
    return sorted(runs["loss"].tolist())


def test_new_and_changed_runs_are_added(place: Path, tmp_path: Path) -> None:
    with open_workspace(tmp_path / "ws") as db:
        table, many = renew(db, str(place))
        assert (table.name, many, table.rows) == ("Lightning logs", 4, 4)
        assert is_imported(table)
        assert table.provenance == f"Lightning: {place}"
        before = snapshots.take(db, table.id, tables.roles(db, table.id))
        assert losses(db, table.id) == pytest.approx([3.7, 3.8, 3.9, 4.0])
        assert renew(db, str(place)) == (table, 0), "nothing has changed"
        write_run(place, 1, 3.5, steps=5)
        write_run(place, 7, 3.0)
        renewed, many = renew(db, str(place))
        assert (renewed.id, many) == (table.id, 2)
        assert losses(db, table.id) == pytest.approx([3.0, 3.5, 3.7, 3.8, 4.0])
        assert sorted(snapshots.runs(db, before)["loss"]) == pytest.approx([3.7, 3.8, 3.9, 4.0])
        (curves,) = tables.curves_of(db, table.id)
        assert curves.rows == 3 * 3 + 5 + 3
        points = tables.frame(db, curves.id)
        assert points[points["run"] == "version_1"]["val_loss"].tolist() == pytest.approx([7.5, 6.5, 5.5, 4.5, 3.5])


def test_a_run_keeps_its_name_and_another_run_with_this_name_gets_its_id(tmp_path: Path) -> None:
    """Names are compared with those of all stored runs, not only with those of the last import."""
    write_run(tmp_path / "logs", 0, 4.0)
    first = import_runs(str(tmp_path / "logs"))
    with memory() as db:
        one = replace(first, tables=as_tables([TrackedRun("a", "same", config={"N": 1.0})]), marks={"a": "1"})
        table = add_runs(db, "place", one)
        two = [TrackedRun("b", "same", config={"N": 2.0}), TrackedRun("a", "renamed", config={"N": 3.0})]
        add_runs(db, "place", replace(first, tables=as_tables(two), marks={"a": "2", "b": "1"}))
        frame = tables.frame(db, table.id)
        assert frame["run"].tolist() == ["same", "same b", "same"]
        assert frame["config.N"].tolist() == [1.0, 2.0, 3.0]
        assert (frame["withdrawn"] != "").tolist() == [True, False, False]
        record = read_record(db, table.id)
        assert record is not None
        assert record.marks == {"a": "2", "b": "1"}


def test_columns_that_are_left_out_stay_out(place: Path) -> None:
    with memory() as db:
        table = add_runs(db, str(place), import_runs(str(place)), left_out=["config.note"])
        write_run(place, 9, 2.0)
        renew(db, str(place))
        assert "config.note" not in [column.name for column in tables.columns(db, table.id)]


def test_a_place_without_runs_is_one_sentence(tmp_path: Path) -> None:
    with memory() as db:
        with pytest.raises(PlannerError, match="contains no runs of a known tracker"):
            renew(db, str(tmp_path))
        assert read_record(db, "none") is None


def test_a_fit_of_the_imported_table_uses_its_roles(place: Path) -> None:
    with memory() as db:
        table, _ = renew(db, str(place))
        roles = tables.roles(db, table.id)
        assert (roles.N, roles.D, roles.loss, roles.run) == (
            "config.params",
            "config.tokens",
            "summary.val_loss",
            "run",
        )
