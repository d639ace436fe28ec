"""Run tables to which finished cells are added, and the index of all cells."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.schema import Metric, Roles
from isoplan.engine.store.database import cell_index
from isoplan.engine.store.database.cell_index import CellRow, Indexed
from isoplan.engine.store.database.database import Database, memory, open_workspace
from isoplan.engine.store.files.text import MAX_COLUMNS
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import cell_tables, snapshots, tables

FAMILY = "teacher"
KEY = cell_index.table_of(FAMILY)
E, A, B, ALPHA, BETA = 0.5, 30.0, 60.0, 0.4, 0.3


def cell(i: int, **changes: Any) -> CellRow:
    """Return the ``i``-th cell (training run) of a grid of widths and samples, with the loss of a known law."""
    width, samples = 2 ** (4 + i % 4), 4000 * 4 ** (i // 4 % 4)
    N, D = float(width**2), float(samples)
    loss = E + A / N**ALPHA + B / D**BETA
    row = CellRow(
        f"{i:020x}",
        FAMILY,
        {"seed": i // 16, "threads": 1, "deterministic": True, "width": width, "samples": samples, "rate": 0.01},
        {"loss": loss, "clean": loss - E},
        {"N": N, "D": D, "U": D, "C": 6 * N * D},
        directions={"clean": "min"},
        version="v1",
        seconds=2.5,
        begun=datetime(2026, 3, 4, 5, 6),
        host="here",
        device="cpu",
        attempts=2,
    )
    return replace(row, **changes)


def grow(db: Database, *rows: CellRow) -> int:
    """Add finished cells to the index and to the run table, and return the number of new rows."""
    there = {**cell_index.index(db), **{row.name: Indexed(row.name, row.family, "done", 1) for row in rows}}
    return cell_index.grow(db, list(there.values()), rows)


def test_a_row_holds_everything_and_can_be_fitted_at_once(db: Database) -> None:
    assert grow(db, *(cell(i) for i in range(16))) == 16
    (table,) = tables.all(db)
    assert (table.id, table.name, table.rows, table.kind) == (KEY, "teacher cells", 16, "runs")
    assert cell_index.family_of(table) == FAMILY
    frame = tables.frame(db, KEY)
    first = cell(5)
    assert frame.iloc[5].to_dict() == {
        "row id": 5, "run": first.name, "seed": 0, "threads": 1, "deterministic": True, "width": 32, "samples": 16000,
        "rate": 0.01, "N": 1024, "D": 16000, "U": 16000, "C": 6 * 1024 * 16000, "loss": first.metrics["loss"],
        "clean": first.metrics["clean"], "seconds": 2.5, "begun": datetime(2026, 3, 4, 5, 6), "host": "here",
        "device": "cpu", "attempts": 2, "family": FAMILY, "version": "v1",
    }  # fmt: skip
    assert tables.roles(db, KEY) == Roles(
        N="N", D="D", U="U", C="C", loss="loss", seed="seed", run="run", hyper=("width", "samples"),
        metrics=(Metric(column="clean", direction="min"),),
    )  # fmt: skip
    found = fit(FitSpec(law="chinchilla", bootstrap=0), snapshots.runs(db, snapshots.take(db, KEY)))
    known = {"E": E, "A": A, "B": B, "alpha": ALPHA, "beta": BETA}
    assert dict(zip(found.law.names, found.theta, strict=True)) == pytest.approx(known, rel=1e-4)


def test_rows_that_are_there_stay_as_they_are(db: Database) -> None:
    assert grow(db, cell(0), cell(1)) == 2
    assert grow(db, cell(1, metrics={"loss": 9.0}), cell(2), cell(2)) == 1
    assert grow(db, cell(0), cell(1), cell(2)) == 0
    assert tables.frame(db, KEY)["run"].tolist() == [cell(i).name for i in range(3)]
    assert tables.frame(db, KEY)["loss"].tolist() == [cell(i).metrics["loss"] for i in range(3)]
    assert {c.name: c.row for c in cell_index.index(db).values()} == {cell(i).name: i for i in range(3)}


@pytest.mark.parametrize("metrics", [{"loss": np.nan}, {"loss": np.inf}, {"clean": 1.0}, {}])
def test_a_cell_without_a_finite_loss_is_no_row(db: Database, metrics: dict[str, float]) -> None:
    assert grow(db, cell(0, metrics=metrics)) == 0
    assert tables.all(db) == []
    assert cell_index.counts(db, FAMILY) == {"done": 1}
    assert cell_index.index(db)[cell(0).name].row is None


def test_a_saved_fit_is_reproducible_while_its_table_grows(db: Database) -> None:
    grow(db, *(cell(i) for i in range(16)))
    snapshot = snapshots.take(db, KEY)
    made = fit(FitSpec(law="chinchilla", bootstrap=20), snapshots.runs(db, snapshot), snapshot=snapshot.hash)
    key = results.save_fit(db, made, table_id=KEY)
    assert snapshots.newer(db, snapshot) == 0
    grow(db, *(cell(i) for i in range(16, 24)), cell(24, fields={"width": "wide", "depth": 3, "seed": 1}))
    assert snapshots.newer(db, snapshot) == 9
    assert "the same parameters and intervals to the last digit" in results.rebuild(db, key)
    assert snapshots.take(db, KEY, snapshot.roles, snapshots.Filter(where="rate < 1")).n == 24
    again = snapshots.take(db, KEY)
    assert (again.n, snapshots.newer(db, again)) == (25, 0)


def test_rows_that_the_filter_of_a_fit_leaves_out_are_not_new_to_it(db: Database) -> None:
    grow(db, *(cell(i) for i in range(8)))
    small = snapshots.take(db, KEY, filter=snapshots.Filter(where="width < 64"))
    grow(db, *(cell(i) for i in range(8, 12)))
    assert snapshots.newer(db, small) == 2
    tables.withdraw(db, KEY, [8], "diverged")
    assert snapshots.newer(db, small) == 1


def test_new_columns_come_beside_the_old_ones_and_nothing_stored_changes(db: Database) -> None:
    grow(db, cell(0))
    before = tables.frame(db, KEY)
    fields = {"seed": 3, "width": "wide", "depth": 2, "heads": [1, 2], "N": 5, "host": "x", "nothing": None}
    grow(db, cell(1, fields=fields, metrics={"loss": 1.0, "seconds": 3.0, "depth": 0.5, "D": 7.0}, sizes={"D": 1.0}))
    frame = tables.frame(db, KEY)
    assert frame.iloc[0][before.columns].to_dict() == before.iloc[0].to_dict()
    new = frame.iloc[1].drop(before.columns).to_dict()
    assert new == {
        "width (text)": "wide", "depth": 2, "heads": "[1, 2]", "N (cell)": 5, "host (cell)": "x",
        "seconds (measured)": 3, "depth (measured)": 0.5,
    }  # fmt: skip
    assert frame["D"].tolist() == [4000, 7]
    assert frame["N"].isna().tolist() == [False, True]


def test_what_somebody_mapped_stays(db: Database) -> None:
    grow(db, *(cell(i) for i in range(4)))
    assert tables.roles(db, KEY).hyper == ("width",)
    mine = tables.roles(db, KEY).model_copy(update={"hyper": (), "U": None, "group": "version", "loss": "clean"})
    mine = mine.model_copy(update={"metrics": (Metric(column="loss", direction="min"),)})
    tables.set_roles(db, KEY, mine)
    tables.rename(db, KEY, "Mine")
    text = {**cell(16).fields, "optimizer": "adam"}
    grow(db, *(cell(i) for i in range(4, 8)), cell(16, fields=text), cell(17, fields={**text, "optimizer": "sgd"}))
    assert tables.roles(db, KEY) == mine.model_copy(update={"hyper": ("samples",)})
    assert tables.get(db, KEY).name == "Mine"


def test_a_text_that_varies_is_the_group(db: Database) -> None:
    grow(db, *(cell(i, fields={**cell(i).fields, "optimizer": "adam"}) for i in range(3)))
    assert tables.roles(db, KEY).group is None
    grow(db, cell(3, fields={**cell(3).fields, "optimizer": "sgd"}))
    assert tables.roles(db, KEY).group == "optimizer"


def test_a_deleted_cell_loses_its_row_and_may_come_again(db: Database) -> None:
    grow(db, *(cell(i) for i in range(3)))
    whole = snapshots.take(db, KEY)
    cell_index.delete(db, [cell(1).name, "unknown"])
    assert list(cell_index.index(db)) == [cell(0).name, cell(2).name]
    assert [(row, why) for row, why, _ in tables.withdrawn(db, KEY)] == [(1, "its cell was deleted")]
    assert snapshots.take(db, KEY).ids.tolist() == [0, 2]
    assert len(snapshots.runs(db, whole)) == 3
    assert grow(db, cell(1, metrics={"loss": 4.0})) == 1
    assert snapshots.runs(db, snapshots.take(db, KEY))["loss"].tolist()[-1] == 4.0
    assert cell_index.index(db)[cell(1).name].row == 3


def test_a_row_that_somebody_withdrew_does_not_come_back(db: Database) -> None:
    grow(db, cell(0), cell(1))
    tables.withdraw(db, KEY, [1], "diverged")
    assert grow(db, cell(0), cell(1)) == 0
    assert snapshots.take(db, KEY).ids.tolist() == [0]


def test_a_table_that_was_put_away_comes_back_with_the_next_row(db: Database) -> None:
    grow(db, cell(0))
    tables.delete(db, KEY)
    assert grow(db, cell(0)) == 0
    assert tables.all(db) == []
    assert grow(db, cell(1)) == 1
    assert [t.rows for t in tables.all(db)] == [2]


def test_the_index_is_made_again_from_the_folder(db: Database) -> None:
    rows = [cell(i) for i in range(4)]
    states = [Indexed(row.name, FAMILY, "done", 1, "2026", "sweep") for row in rows]
    states += [Indexed("f" * 20, FAMILY, "failed", 3), Indexed("e" * 20, "other", "queued")]
    assert cell_index.grow(db, states, rows) == 4
    before = cell_index.index(db)
    db.write(lambda cursor: cursor.execute("DELETE FROM cells").fetchall())
    assert cell_index.grow(db, states, rows) == 0
    assert cell_index.index(db) == before
    assert cell_index.counts(db, FAMILY) == {"done": 4, "failed": 1}
    assert cell_index.grow(db, states[:2], []) == 0
    assert sorted(cell_index.index(db)) == [row.name for row in rows[:2]]
    assert tables.get(db, KEY).rows == 4


def test_all_or_nothing(db: Database) -> None:
    def full() -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        cell_index.grow(db, [Indexed(cell(0).name, FAMILY, "done")], [cell(0)], full)
    assert cell_index.index(db) == {}
    assert tables.all(db) == []
    assert grow(db, cell(0)) == 1


def test_a_metric_too_many_is_left_out_and_the_table_says_so(db: Database) -> None:
    many = {"loss": 1.0, **{f"m{i:04}": float(i) for i in range(1200)}}
    assert grow(db, cell(0, metrics=many)) == 1
    assert len(tables.columns(db, KEY)) == MAX_COLUMNS
    assert tables.get(db, KEY).notes == ("The table is full: columns beyond 1,000 are left out.",)
    assert snapshots.runs(db, snapshots.take(db, KEY))["loss"].tolist() == [1.0]


def test_the_cells_of_a_workspace_of_the_layout_before_are_indexed(tmp_path: Path) -> None:
    with open_workspace(tmp_path) as db:
        db.write(lambda cursor: cursor.execute("DROP TABLE cells; DROP TABLE logged; DROP TABLE imports").fetchall())
        db.write(lambda cursor: cursor.execute("UPDATE meta SET value = '5' WHERE key = 'schema'").fetchall())
    with open_workspace(tmp_path) as db:
        assert grow(db, cell(0)) == 1
    with open_workspace(tmp_path) as db:
        assert grow(db, cell(0), cell(1)) == 1
        assert len(cell_index.index(db)) == 2


@settings(max_examples=15)
@given(st.lists(st.lists(st.integers(0, 30), max_size=8), max_size=4))
def test_in_whatever_parts_cells_come_each_is_one_row(parts: list[list[int]]) -> None:
    with memory() as db:
        new = sum(grow(db, *(cell(i) for i in part)) for part in parts)
        wanted = {cell(i).name: cell(i).metrics["loss"] for part in parts for i in part}
        assert new == len(wanted)
        if wanted:
            frame = tables.frame(db, KEY)
            assert dict(zip(frame["run"], frame["loss"], strict=True)) == wanted
            assert frame["row id"].tolist() == list(range(len(wanted)))
            assert cell_tables.HOW_IT_RAN[0] == tables.roles(db, KEY).seed
