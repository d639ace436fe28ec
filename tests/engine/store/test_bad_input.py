"""Invalid files and mappings. Each gives an error of one sentence with an instruction; the store does not change."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import Metric, Roles
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.files import sources, uploads
from isoplan.engine.store.tables import snapshots, tables
from isoplan.engine.store.tables.snapshots import Filter
from tests.engine.store.conftest import GRID
from tests.engine.store.test_import import duck, excel, parquet

Add = Callable[..., tables.TableInfo]
WHOLE = parquet(pd.DataFrame({"N": range(1000), "loss": range(1000)}))


def sentence(error: pytest.ExceptionInfo[PlannerError]) -> str:
    """Return the message, which must be one sentence without a line break."""
    text = str(error.value)
    assert "\n" not in text
    assert text.endswith((".", "?"))
    assert len(text) < 400
    return text


BAD = {
    "empty": (b"", "runs.csv", "runs.csv is empty"),
    "blank": (b"\n\n \n", "runs.csv", "only blank lines"),
    "many blank lines": (b"\n" * 10_001 + b"N,D,loss\n1,2,3\n", "runs.csv", "more than 10,000 blank lines"),
    "header only": (b"N,D,loss\n", "runs.csv", "has a header and no rows"),
    "no header": (b"1,2,3\n4,5,6\n", "runs.csv", "numbers instead of names"),
    "ragged": (b"N,D,loss\n1,2,3\n1,2\n", "runs.csv", "Line 3 of runs.csv has 2 cells but the header has 3"),
    "quote": (b'N,D\n1,"x\n2,3\n', "runs.csv", "Line 2 of runs.csv has a quotation mark that is not closed"),
    "spaces": (b"N   D    loss\n1e6 1e8  3.5\n", "runs.txt", "are separated by spaces"),
    "line ends": (b"N,D\r\n1,2\n3,4\r\n", "runs.csv", "its lines end in different ways"),
    "wide": (",".join(f"c{i}" for i in range(10_000)).encode() + b"\n1\n", "runs.csv", "10,000 columns"),
    "zeros": (b"N,D\n1,\x00\x01\x02\xff\n" * 9, "runs.csv", "not a table of text"),
    "late zero": (b"N,D\n" + b"1,2\n" * 2000 + b"1,\x00\n", "runs.csv", "zero bytes"),
    "odd utf-16": ("N,D\n1,2\n".encode("utf-16") + b"\xd8", "runs.csv", "tried UTF-8 and UTF-16"),
    "cut parquet": (WHOLE[: len(WHOLE) // 2], "runs.parquet", "ends too early"),
    "no parquet": (b"N,D\n1,2\n", "runs.parquet", "not a Parquet file"),
    "torn parquet": (WHOLE[:60] + WHOLE[-20:], "runs.parquet", "not a readable Parquet file"),
    "two sheets": (excel({"a": [["N"], [1]], "b": [["N"], [2]]}), "runs.xlsx", "has 2 sheets (a, b)"),
    "empty sheet": (excel({"a": []}), "runs.xlsx", "Sheet a of runs.xlsx is empty"),
    "wide row": (excel({"a": [["N"], [1, 2]]}), "runs.xlsx", "row 2 in sheet a"),
    "no excel": (b"N,D\n1,2\n", "runs.xlsx", "not an Excel file"),
    "torn excel": (excel({"a": [["N"], [1]]})[:200], "runs.xlsx", "not a readable Excel file"),
    "old excel": (b"\xd0\xcf\x11\xe0" + b"x" * 100, "runs.xls", "old Excel file"),
    "gzip": (gzip.compress(b"N,D\n1,2\n"), "runs.csv.gz", "compressed with gzip"),
    "sqlite": (b"SQLite format 3\x00" + b"x" * 100, "runs.db", "SQLite"),
    "no json": (b'{"N": 1}\n{"N": \n', "runs.jsonl", "cannot be read"),
    "json numbers": (b"[1, 2, 3]", "runs.json", "no JSON objects"),
    "no duckdb": (b"x" * 8 + b"DUCK" + b"x" * 5000, "runs.duckdb", "not a readable DuckDB file"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_get_one_sentence(db: Database, add: Add, case: str) -> None:
    content, name, expected = BAD[case]
    with pytest.raises(PlannerError) as error:
        add(content, name)
    assert expected in sentence(error)
    assert tables.all(db) == []
    assert add(GRID).rows == 16


def test_a_file_over_the_limit_is_refused_by_its_size(add: Add, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_UPLOAD_BYTES", 100)
    with pytest.raises(PlannerError, match="limit is") as error:
        add(GRID)
    sentence(error)


def test_the_chosen_sheet_is_read(db: Database, add: Add) -> None:
    book = excel({"a": [["N"], [1]], "b": [["N"], [2], [3]]})
    assert tables.parts(book, "runs.xlsx") == ("a", "b")
    assert add(book, "runs.xlsx", sheet="b").rows == 2
    assert add(book, "runs.xlsx", sheet="a").name == "runs.xlsx · a"
    with pytest.raises(PlannerError, match=re.escape("has no sheet 'c': choose one of a, b.")):
        add(book, "runs.xlsx", sheet="c")


def test_a_view_in_a_sent_database_never_runs(db: Database, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    view = f"CREATE VIEW spy AS SELECT * FROM read_text('{secret}')"
    only_view = duck(tmp_path, view)
    with pytest.raises(PlannerError, match="no base tables") as error:
        tables.add(db, only_view, "spy.duckdb")
    sentence(error)
    with pytest.raises(PlannerError, match="no base tables"):
        tables.add(db, only_view, "spy.duckdb", inner="spy")
    both = duck(tmp_path, "CREATE TABLE a AS SELECT 1 AS N", "CREATE SCHEMA s", "CREATE TABLE s.b AS SELECT 2 AS N")
    with pytest.raises(PlannerError, match=re.escape("has 2 base tables (a, s.b)")):
        tables.add(db, both, "spy.duckdb")
    assert tables.add(db, both, "spy.duckdb", inner="s.b").rows == 1


def test_the_child_that_opens_a_sent_database_imports_nothing_from_the_working_folder(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = duck(tmp_path, "CREATE TABLE runs AS SELECT 1 AS N")
    for decoy in ("duckdb", "json", "isoplan", "engine"):
        (tmp_path / f"{decoy}.py").write_text("raise SystemExit('decoy')")
    monkeypatch.chdir(tmp_path)
    assert tables.add(db, file, "runs.duckdb").rows == 1


def test_a_sent_database_that_takes_too_long_is_given_up(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "SECONDS", 0)
    with pytest.raises(PlannerError, match=re.escape("takes more than 0 s to read")):
        tables.add(db, duck(tmp_path, "CREATE TABLE runs AS SELECT 1 AS N"), "runs.duckdb")


def test_mappings_that_do_not_fit_are_refused(db: Database, add: Add) -> None:
    info = add("name,size,N,D,loss\na,1k,1e6,1e8,3\nb,2k,1e6,1e8,3\n")
    before = tables.roles(db, info.id)
    bad = {
        "Column 'params' for N is not in the table": Roles(N="params"),
        "did you mean loss?": Roles(loss="losss"),
        "Column 'N' is mapped to both N and D": Roles(N="N", D="N"),
        "mapped to both loss and metric": Roles(loss="loss", metrics=(Metric(column="loss"),)),
        "holds text such as 'a' in row 0 and loss needs numbers: choose a column of numbers": Roles(loss="name"),
        "tick its conversion on the Data page (--convert size in the terminal)": Roles(N="size"),
    }
    for text, roles in bad.items():
        with pytest.raises(PlannerError, match=re.escape(text)) as error:
            tables.set_roles(db, info.id, roles)
        sentence(error)
    assert tables.roles(db, info.id) == before
    tables.set_roles(db, info.id, Roles(N="size", conversions={"size": "suffix"}))
    assert tables.roles(db, info.id).N == "size"


def test_filters_that_do_not_fit_are_refused(db: Database, add: Add) -> None:
    info = add(GRID)
    for filter, text in (
        (Filter(ranges={"M": (1, 2)}), "Column 'M' of the filter is not in the table"),
        (Filter(where="loss > 99"), "leaves no runs"),
    ):
        with pytest.raises(PlannerError, match=text):
            snapshots.take(db, info.id, None, filter)


def test_what_is_not_there_is_said(db: Database) -> None:
    for ask in (tables.get, tables.columns, tables.roles, tables.rename, tables.delete):
        with pytest.raises(PlannerError, match="Table nowhere is not in this workspace"):
            ask(db, "nowhere", *(["x"] if ask is tables.rename else []))
    with pytest.raises(PlannerError, match="Snapshot nowhere is not"):
        snapshots.get(db, "nowhere")


def test_demo_tables_stay_as_they_are(db: Database) -> None:
    info = tables.add(db, GRID.encode(), "Demo (simulated)", read_only=True, provenance="a script")
    changes: list[Callable[[], object]] = [
        lambda: tables.rename(db, info.id, "x"),
        lambda: tables.delete(db, info.id),
        lambda: tables.bring_back(db, info.id, [0]),
        lambda: tables.withdraw(db, info.id, [0], "no"),
    ]
    for change in changes:
        with pytest.raises(PlannerError, match=re.escape("Demo (simulated) is a demo table")):
            change()
    assert tables.all(db) == [info]
