"""Runs read directly from a file, and files for download."""

from __future__ import annotations

import io
import os
import threading
from pathlib import Path

import pandas as pd
import pytest

from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.schema import Metric
from isoplan.engine.store.database.database import Database, open_workspace
from isoplan.engine.store.files import export
from isoplan.engine.store.files.table_files import read_runs
from isoplan.engine.store.tables import snapshots, tables
from tests.engine.store.conftest import GRID

TABLE = "size,tokens,val_loss,acc,ppl,text\n70M,1e8,3.5,0.5,33,a\n1B,1e9,3.0,0.6,20,b\n2B,1e9,,0.7,18,c\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "runs [1]*.csv"
    path.write_text(TABLE)
    return path


def test_a_file_is_read_under_its_mapping(file: Path) -> None:
    runs = read_runs(file, {"N": "size", "metric": "acc+ppl"}, compute=ComputeRule(rule="6npND", n_p=40))
    assert runs["N"].tolist() == [7e7, 1e9]
    assert runs["C"].tolist() == [6 * 40 * 7e15, 6 * 40 * 1e18]
    assert runs.roles.metrics == (Metric(column="acc"), Metric(column="ppl", direction="min"))
    assert runs.roles.conversions == {"size": "suffix"}
    assert runs.notes == ("1 row without a loss was left out.",)
    assert runs.source == str(file)
    assert len(runs.sha256) == 64


def test_a_column_moves_to_the_role_that_names_it(file: Path) -> None:
    runs = read_runs(file, {"U": "tokens", "loss": "ppl", "D": ""})
    assert (runs.roles.D, runs.roles.U, runs.roles.loss) == (None, "tokens", "ppl")
    assert [m.column for m in runs.roles.metrics] == ["acc"]


def test_rows_are_chosen_by_a_condition(file: Path) -> None:
    assert read_runs(file, {"N": "size"}, "size >= 1e9 AND text = 'b'").ids.tolist() == [1]


@pytest.mark.parametrize(
    ("mapping", "where", "expected"),
    [
        ({"N": "sise"}, "", "Column 'sise' for N is not in the table: did you mean size?"),
        ({"N": "qqq"}, "", "the columns are size, tokens, val_loss, acc, ppl, text."),
        ({"M": "size"}, "", "--map: there is no role 'M'"),
        ({"N": "text"}, "", "Column 'text' holds text such as 'a' in row 0 and N needs numbers"),
        ({"N": "tokens", "D": "tokens"}, "", "Column 'tokens' is mapped to both N and D"),
        ({}, "tokens > (SELECT 1)", "a subquery or UNION, which is not allowed"),
        ({}, "tokens > 1e99", "leaves no runs"),
    ],
)
def test_bad_options_are_one_sentence(file: Path, mapping: dict[str, str], where: str, expected: str) -> None:
    with pytest.raises(PlannerError) as error:
        read_runs(file, mapping, where)
    assert expected in str(error.value)


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(PlannerError, match="There is no file"):
        read_runs(tmp_path / "none.csv")
    with pytest.raises(PlannerError, match="is a folder: name a table file in it"):
        read_runs(tmp_path)


def test_an_unsure_conversion_is_not_made_silently(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("N\tloss\n1,234\t3\n5,678\t2\n")
    with pytest.raises(PlannerError, match=r"'1,234' may be 1\.234 or 1234"):
        read_runs(path, {"N": "N"})
    assert read_runs(path, {"N": "N"}, agreed=("N:thousands",))["N"].tolist() == [1234, 5678]


def test_a_file_is_read_while_the_workspace_is_open(tmp_path: Path, file: Path) -> None:
    with open_workspace(tmp_path / "workspace"):
        assert len(read_runs(file, {"N": "size"})) == 2


def test_the_example_file_is_a_table_that_is_read_whole_and_that_a_law_fits(db: Database) -> None:
    info = tables.add(db, export.template(), "example-runs.csv")
    roles = tables.roles(db, info.id)
    assert (roles.N, roles.D, roles.loss, roles.run) == ("params", "tokens", "loss", "name")
    runs = snapshots.runs(db, snapshots.take(db, info.id))
    assert (len(runs), runs.notes) == (25, ())
    made = fit(FitSpec(bootstrap=0), runs)
    assert float(made.values["E"]) == pytest.approx(1.7, abs=0.05)


def test_tables_are_exported_with_what_was_decided(db: Database) -> None:
    info = tables.add(db, b"N,n,params,loss\n1,2,3e6,1.5\n2,3,4e6,\n", "runs.csv")
    roles = tables.roles(db, info.id).model_copy(update={"N": "params"})
    tables.set_roles(db, info.id, roles)
    tables.withdraw(db, info.id, [1], "diverged")
    text = export.table(db, info.id).decode()
    assert text.splitlines() == [
        "row id,withdrawn,N,n,params [N],loss", "0,,1,2,3000000,1.5", "1,diverged,2,3,4000000,",
    ]  # fmt: skip
    back = pd.read_parquet(io.BytesIO(export.table(db, info.id, "parquet")))
    assert list(back.columns) == ["row id", "withdrawn", "N", "n", "params", "loss"]
    assert back["params"].tolist() == [3e6, 4e6]


def test_no_cell_of_a_csv_file_begins_like_a_formula(db: Database) -> None:
    """Numbers with a sign are unchanged. Text that looks like a formula gets an apostrophe.

    This includes headers and the reasons for withdrawn rows.
    """
    names = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "plain"]
    frame = pd.DataFrame({"N": [1e6, 2e6, 3e6, 4e6, 5e6], "D": 1e8, "loss": [-0.5, 3, 2, 2, 2], "=run": names})
    info = tables.add(db, frame.to_csv(index=False).encode(), "runs.csv")
    tables.set_roles(db, info.id, tables.roles(db, info.id).model_copy(update={"run": "=run", "hyper": ()}))
    tables.withdraw(db, info.id, [4], "=HYPERLINK(1)")
    text = export.table(db, info.id).decode()
    assert [line.partition(",")[2] for line in text.splitlines()] == [
        "withdrawn,N,D,loss,'=run [run]", ",1000000,100000000,-0.5,'=1+1", ",2000000,100000000,3.0,'+cmd",
        ",3000000,100000000,2.0,'-2+3", ",4000000,100000000,2.0,'@SUM(A1)",
        "'=HYPERLINK(1),5000000,100000000,2.0,plain",
    ]  # fmt: skip
    lines = export.runs(snapshots.runs(db, snapshots.take(db, info.id))).decode().splitlines()
    assert [line.split(",")[1] for line in lines] == ["run", "'=1+1", "'+cmd", "'-2+3", "'@SUM(A1)"]


def test_runs_are_exported_in_full_precision(db: Database) -> None:
    info = tables.add(db, GRID.encode(), "runs.csv")
    runs = snapshots.runs(db, snapshots.take(db, info.id))
    back = pd.read_csv(io.BytesIO(export.runs(runs)))
    assert list(back.columns) == ["row id", "run", "N", "D", "loss", "C", "budget"]
    for role in ("N", "D", "loss", "C"):
        assert back[role].tolist() == runs[role].tolist()


def test_a_table_comes_from_standard_input_or_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(GRID.encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    runs = read_runs(Path("-"))
    assert (len(runs), runs.source) == (16, "standard input")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(GRID,))
    writer.start()
    assert len(read_runs(pipe)) == 16
    writer.join()
    with pytest.raises(PlannerError, match="is a folder: name a table file in it"):
        read_runs(tmp_path)
