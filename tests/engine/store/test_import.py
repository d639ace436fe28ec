"""Import of tables in all formats and encodings, and with unusual names. The original values are kept."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import openpyxl  # type: ignore[import-untyped]
import pandas as pd
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import Roles
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import snapshots, tables
from tests.engine.store.conftest import GRID

Add = Callable[..., tables.TableInfo]
ROWS = pd.DataFrame({"N": [1e6, 2e6, 4e6], "D": [1e8, 2e8, 1e20], "loss": [3.5, 3.25, 3.0]})


def losses(db: Database, table_id: str) -> list[float]:
    return snapshots.runs(db, snapshots.take(db, table_id))["loss"].tolist()


def excel(sheets: dict[str, list[list[object]]]) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def duck(folder: Path, *statements: str) -> Path:
    file = folder / "runs.duckdb"
    with duckdb.connect(str(file)) as connection:
        for statement in statements:
            connection.execute(statement)
    return file


FORMATS = {
    "runs.csv": ROWS.to_csv(index=False).encode(),
    "runs.tsv": ROWS.to_csv(index=False, sep="\t").encode(),
    "paste.tsv": ROWS.to_csv(index=False, sep="\t", lineterminator="\r\n").encode(),
    "semicolon.csv": ROWS.to_csv(index=False, sep=";").encode(),
    "runs.jsonl": ROWS.to_json(orient="records", lines=True).encode(),
    "runs.json": ROWS.to_json(orient="records").encode(),
    "runs.parquet": parquet(ROWS),
    "runs.xlsx": excel({"Sheet1": [list(ROWS.columns), *ROWS.values.tolist()]}),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_runs(db: Database, add: Add, name: str) -> None:
    info = add(FORMATS[name], name)
    assert info.rows == 3
    runs = snapshots.runs(db, snapshots.take(db, info.id))
    for role in ("N", "D", "loss"):
        assert runs[role].tolist() == ROWS[role].tolist()
    assert runs["C"].tolist() == (6 * ROWS["N"] * ROWS["D"]).tolist()


def test_a_duckdb_file_gives_its_base_table(db: Database, tmp_path: Path) -> None:
    file = duck(tmp_path, "CREATE TABLE runs AS SELECT 1e6 AS N, 1e8 AS D, 3.5::DECIMAL(5,3) AS loss FROM range(3)")
    assert tables.parts(file, "runs.duckdb") == ("runs",)
    info = tables.add(db, file, "runs.duckdb")
    assert losses(db, info.id) == [3.5, 3.5, 3.5]
    assert info.name == "runs.duckdb · runs"


def test_the_same_bytes_are_one_table(workspace: Database, tmp_path: Path) -> None:
    first = tables.add(workspace, GRID.encode(), "runs.csv")
    file = tmp_path / "other name.csv"
    file.write_text(GRID)
    again = tables.add(workspace, file, "other name.csv")
    assert not first.known
    assert again.known
    assert again.id == first.id
    assert workspace.folder is not None
    kept = list((workspace.folder / "uploads").iterdir())
    assert [f.name for f in kept] == [first.sha256]
    assert kept[0].read_text() == GRID
    with pytest.raises(PlannerError):
        tables.add(workspace, b"N,loss\n1,2\n3\n", "ragged.csv")
    assert [f.name for f in (workspace.folder / "uploads").iterdir()] == [first.sha256]
    tables.delete(workspace, first.id)
    assert tables.all(workspace) == []
    assert not tables.add(workspace, GRID.encode(), "runs.csv").deleted


@pytest.mark.parametrize(
    ("encoding", "note"),
    [("utf-8", ""), ("utf-8-sig", ""), ("utf-16", "UTF-16"), ("utf-16-le", "UTF-16"), ("latin-1", "Latin-1")],
)
def test_encodings_are_read_and_named(db: Database, add: Add, encoding: str, note: str) -> None:
    info = add("größe,N,D,loss\nfür,1e6,1e8,3.5\n".encode(encoding))
    assert [c.name for c in tables.columns(db, info.id)] == ["größe", "N", "D", "loss"]
    assert tables.columns(db, info.id)[0].examples == ("für",)
    assert (note in " ".join(info.notes)) if note else info.notes == ()


def test_any_column_name_is_fine(db: Database, add: Add) -> None:
    info = add('N,n,D,d,select,,loss,loss,"a ""b"", c",ε,Model Size\n1e6,7,1e8,8,x,1,3.5,4.5,1,2,3\n')
    names = [c.name for c in tables.columns(db, info.id)]
    assert names == ["N", "n", "D", "d", "select", "column 6", "loss", "loss (2)", 'a "b", c', "ε", "Model Size"]
    assert info.notes == ("Column 6 has no name and is called 'column 6'.",
                          "Column 8 repeats the name 'loss' and is called 'loss (2)'.")  # fmt: skip
    roles = Roles(N="N", D="D", loss="loss (2)", group="select", hyper=("n", "d", "ε"))
    runs = snapshots.runs(db, snapshots.take(db, info.id, roles))
    assert (runs["N"][0], runs["n"][0], runs["D"][0], runs["d"][0], runs["loss"][0]) == (1e6, 7, 1e8, 8, 4.5)
    assert runs.labels["group"].tolist() == ["x"]
    assert list(tables.frame(db, info.id).columns) == ["row id", *names]


def test_names_that_differ_in_case_survive_parquet_and_json(db: Database, add: Add) -> None:
    for info in (
        add(parquet(pd.DataFrame({"N": [1e6], "n": [2.0]})), "runs.parquet"),
        add('{"N": 1e6, "n": 2, "a.b": {"c": 1}}\n', "runs.jsonl"),
    ):
        shown = tables.frame(db, info.id)
        assert (shown["N"][0], shown["n"][0]) == (1e6, 2)


def test_whole_numbers_beyond_64_bits_are_float64(db: Database, add: Add, tmp_path: Path) -> None:
    huge = 10**20
    sources: list[tuple[bytes | Path, str]] = [
        (f"N,D,C,loss\n1000,1000,{huge},3\n".encode(), "runs.csv"),
        (json.dumps({"N": 1000, "D": 1000, "C": huge, "loss": 3}).encode(), "runs.jsonl"),
        (duck(tmp_path, f"CREATE TABLE r AS SELECT 1000 N, 1000 D, {huge}::HUGEINT C, 3 loss"), "runs.duckdb"),
    ]
    for source, name in sources:
        info = tables.add(db, source, name)
        assert snapshots.runs(db, snapshots.take(db, info.id))["C"].tolist() == [1e20]


def test_one_row_is_a_table(db: Database, add: Add) -> None:
    info = add("N,D,loss\n1e6,1e8,3.5\n")
    assert info.rows == 1
    assert len(snapshots.runs(db, snapshots.take(db, info.id))) == 1


def test_a_late_text_cell_makes_a_column_text_and_nothing_is_lost(db: Database, add: Add) -> None:
    info = add("N,loss\n" + "1e6,3.5\n" * 20_000 + "1e6,diverged\n")
    loss = tables.columns(db, info.id)[1]
    assert (loss.kind, info.rows) == ("text", 20_001)
    assert loss.conversion is not None
    assert (loss.conversion.changes, loss.conversion.fails, loss.conversion.failing_examples) == (0, 1, ("diverged",))
    roles = Roles(N="N", loss="loss", conversions={"loss": "suffix"})
    runs = snapshots.runs(db, snapshots.take(db, info.id, roles))
    assert len(runs) == 20_000
    assert "1 row without a loss was left out." in runs.notes


@pytest.mark.parametrize(
    ("cells", "kind", "changes", "fails", "values"),
    [
        (["1.2k", "3M", "4B", "1e6", "2T"], "suffix", 4, 0, [1.2e3, 3e6, 4e9, 1e6, 2e12]),
        (["10^20", "3 x 10^9", "70m", "5"], "suffix", 3, 0, [1e20, 3e9, 7e7, 5]),
        (["1,5", "2,25", "3"], "comma", 2, 0, [1.5, 2.25, 3]),
        (["1.234,5", "2,5", "1.000"], "comma", 3, 0, [1234.5, 2.5, 1000]),
        (["1,234,567", "12,000", "7"], "thousands", 2, 0, [1234567, 12000, 7]),
        (["1'234'567", "12 000", "?"], "thousands", 2, 1, [1234567, 12000, np.nan]),
    ],
)
def test_conversions_are_proposed_and_only_applied_on_agreement(
    db: Database, add: Add, cells: list[str], kind: str, changes: int, fails: int, values: list[float]
) -> None:
    info = add("x;D;loss\n" + "".join(f'"{cell}";1;1\n' for cell in cells))
    column = tables.columns(db, info.id)[0]
    assert column.kind == "text"
    assert column.conversion is not None
    assert (column.conversion.kind, column.conversion.changes, column.conversion.fails) == (kind, changes, fails)
    assert tables.frame(db, info.id)["x"].tolist() == cells
    roles = Roles.model_validate({"D": "D", "loss": "loss", "hyper": ["x"], "conversions": {"x": kind}})
    runs = snapshots.runs(db, snapshots.take(db, info.id, roles))
    np.testing.assert_array_equal(runs["x"], values)


@pytest.mark.parametrize(
    ("text", "kind", "ambiguous"),
    [
        ('N,x\n1,"1,234"\n2,"5,678"\n', "thousands", True),
        ("N;x\n1;1,234\n2;5,678\n", "comma", False),
        ("N;x\n1;1,234\n2;3.251\n", "thousands", True),
        ("N;x\n1;1,234\n2;12,5\n", "comma", False),
        ("N;x\n1;1,234\n2;1,234,567\n", "thousands", False),
        ("N;x\n1;12 000\n2;5 678\n", "thousands", False),
    ],
)
def test_the_separator_decides_what_a_comma_is_and_a_decimal_point_beside_it_leaves_it_open(
    db: Database, add: Add, text: str, kind: str, ambiguous: bool
) -> None:
    conversion = tables.columns(db, add(text).id)[1].conversion
    assert conversion is not None
    assert (conversion.kind, conversion.ambiguous) == (kind, ambiguous)
    assert ("a decimal comma is also possible" in conversion.text) == ambiguous


def test_words_are_no_numbers(db: Database, add: Add) -> None:
    info = add("model,date,flag\nalpha,2024-01-01,True\nbeta,2024-02-01,false\n")
    kinds = [(c.kind, c.conversion) for c in tables.columns(db, info.id)]
    assert kinds == [("text", None), ("date", None), ("bool", None)]


def test_profiles_count_what_is_not_there(db: Database, add: Add) -> None:
    info = add("N,loss\n1,nan\n2,\n3,inf\n4,NA\n5,-inf\n6,2.5\n")
    n, loss = tables.columns(db, info.id)
    assert (n.minimum, n.maximum, n.whole, n.missing) == (1, 6, True, 0)
    assert (loss.minimum, loss.maximum, loss.missing, loss.infinite) == (2.5, 2.5, 3, 2)


def test_pages_of_rows_have_ids_and_whole_numbers(db: Database, add: Add) -> None:
    info = add(GRID)
    shown = tables.frame(db, info.id, limit=3, offset=2)
    assert shown["row id"].tolist() == [2, 3, 4]
    assert shown["N"].dtype == "Int64"
    chosen = tables.frame(db, info.id, where="N > 1e7 AND run LIKE 'r3%'", limit=2, offset=1)
    assert chosen["row id"].tolist() == [13, 14]
    assert sorted(set(tables.frame(db, info.id)["N"])) == [1_000_000, 4_000_000, 16_000_000, 64_000_000]


def test_a_key_twice_with_one_value_is_one_column_and_with_two_a_sentence(db: Database, add: Add) -> None:
    line = '{"N": 1e6, "loss": 3.5, "loss": 3.5}\n'
    assert losses(db, add(line, "runs.jsonl").id) == [3.5]
    with pytest.raises(
        PlannerError, match=r"^Object 2 of runs\.jsonl has the key 'loss' twice with different values\. "
    ):
        add(line + '{"N": 1e6, "loss": 3.5, "loss": 3.25}\n', "runs.jsonl")


@pytest.mark.parametrize("first", ["sep=;\n", "sep=;\r\n", '"sep=;"\n', "SEP=;\n", "\n\nsep=;\n", "\ufeffsep=;\n"])
def test_the_line_that_tells_excel_the_separator_is_not_the_header(db: Database, add: Add, first: str) -> None:
    text = first + "N;D;loss\n1e6;1e8;3.5\n2e6;1e8;3.25\n"
    info = add(text.replace("\r", "").replace("\n", "\r\n") if "\r" in first else text)
    assert [c.name for c in tables.columns(db, info.id)] == ["N", "D", "loss"]
    assert losses(db, info.id) == [3.5, 3.25]


@pytest.mark.parametrize("blank", ["", " ", "\t", "\u00a0", "\u202f \u3000", "   "])
def test_spaces_of_every_kind_are_no_text_in_a_column_of_numbers(db: Database, add: Add, blank: str) -> None:
    info = add(f"N,D,loss\n\u00a01e6,1e8,3.5\n2e6,{blank}1e8,3.25\n4e6,1e8,{blank}\n")
    assert [c.kind for c in tables.columns(db, info.id)] == ["number"] * 3
    assert losses(db, info.id) == [3.5, 3.25]


@pytest.mark.parametrize(("inner", "end"), [("\r\n", "\n"), ("\n", "\r\n"), ("\r", "\n"), ("\n", "\n")])
def test_a_line_end_in_a_name_does_not_end_the_lines(db: Database, add: Add, inner: str, end: str) -> None:
    info = add(end.join((f'N,D,loss,"a{inner}b"', "1e6,1e8,3.5,1", "2e6,1e8,3.25,2", "")))
    assert losses(db, info.id) == [3.5, 3.25]
