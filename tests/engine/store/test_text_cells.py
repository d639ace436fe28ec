"""Text in a column of numbers: the error names the first such cell and its row, and says how to correct the column."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.store.columns.column import leaves_out_runs
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.files.table_files import open_table, read_runs
from isoplan.engine.store.tables import snapshots, tables
from tests.engine.store.conftest import GRID

ROWS = GRID.splitlines()
SPEC = FitSpec(bootstrap=0)


def with_cell(row: int, text: str) -> str:
    """Return the grid with ``text`` as the loss of the row with id ``row``."""
    lines = list(ROWS)
    lines[row + 1] = lines[row + 1].rpartition(",")[0] + "," + text
    return "\n".join(lines) + "\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "runs.csv"
    path.write_text(with_cell(5, "abc"))
    return path


def test_a_loss_that_was_not_guessed_says_which_cell_is_in_the_way(file: Path) -> None:
    with pytest.raises(PlannerError) as error:
        fit(SPEC, read_runs(file))
    assert str(error.value) == (
        "The loss is missing: 1 cell of column 'loss' is not a number ('abc' in row 5); correct it, or leave out 1 run "
        "on the Data page (--convert loss in the terminal)."
    )


@pytest.mark.parametrize(("head", "way"), [("N,D,C", "leave 1 cell empty"), ("N,D,k", "leave out 1 run")])
def test_a_word_in_d_costs_a_run_only_if_no_compute_gives_d(tmp_path: Path, head: str, way: str) -> None:
    file = tmp_path / "runs.csv"
    cells = ("1e8", "?", *("1e8",) * 10)
    rows = (f"{i + 1}e6,{D},{6 * (i + 1)}e14,{3 - i / 10}" for i, D in enumerate(cells))
    file.write_text("\n".join((f"{head},loss", *rows)))
    with open_table(file) as table:
        assert f"correct it, or {way} on the Data page (--convert D in the terminal)" in table.waiting({})["D"]
        assert leaves_out_runs("D", table.roles) == (way == "leave out 1 run")
        assert not leaves_out_runs("D", table.roles, "curves")
    with pytest.raises(PlannerError, match=f"D: 1 cell of column 'D' is not a number .* or {way} on the Data page"):
        read_runs(file, {"D": "D"})
    assert len(read_runs(file, agreed=("D",))) == (12 if way == "leave 1 cell empty" else 11)


def test_a_mapping_to_it_names_the_bad_cell_and_no_good_one(file: Path) -> None:
    with pytest.raises(
        PlannerError, match=r"loss: 1 cell of column 'loss' is not a number \('abc' in row 5\). Correct it"
    ):
        read_runs(file, {"loss": "loss"})


def test_what_the_sentence_asks_for_helps(file: Path) -> None:
    assert len(read_runs(file, agreed=("loss",))) == len(ROWS) - 2


def test_decimal_commas_that_were_not_agreed_to_are_named(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    file.write_text("N;D;loss\n" + "".join(f"{i}e6;1e8;2,{i}\n" for i in range(1, 9)))
    with pytest.raises(PlannerError, match=r"'loss' holds text such as '2,1'; tick its conversion .*--convert loss"):
        fit(SPEC, read_runs(file))


def test_a_size_that_was_not_guessed_is_named_too(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    file.write_text(GRID.replace("1000000.0", "1M"))
    with pytest.raises(PlannerError, match=r"Law isoflop needs C and N and budget: column 'N' holds text such as '1M'"):
        fit(FitSpec(law="isoflop", objective="ols", bootstrap=0), read_runs(file))


def test_the_row_is_what_the_rows_table_shows(db: Database) -> None:
    info = tables.add(db, with_cell(9, "n/a?").encode(), "runs.csv")
    shown = tables.frame(db, info.id)
    (column,) = (c for c in tables.columns(db, info.id) if c.name == "loss")
    assert column.unread == (9, "n/a?")
    assert shown.loc[shown["loss"] == "n/a?", "row id"].tolist() == [9]


def test_a_formula_that_fails_names_the_row_by_its_id(db: Database) -> None:
    info = tables.add(db, b"N,D,loss,k\n1e6,1e8,3,2\n1e7,1e8,2.9,2\n1e8,1e9,2.5,0\n1e8,1e8,2.5,0\n", "runs.csv")
    roles = tables.roles(db, info.id).model_copy(update={"compute": ComputeRule(rule="formula", formula="N * D / k")})
    tables.set_roles(db, info.id, roles)
    tables.withdraw(db, info.id, [0], "a test")
    with pytest.raises(PlannerError, match="divides by zero in row 2"):
        snapshots.runs(db, snapshots.take(db, info.id))
