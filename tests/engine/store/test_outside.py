"""Files from unknown senders. A damaged, huge or malicious file gives a one-line error and needs few resources."""

from __future__ import annotations

import io
import re
import zipfile
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
from isoplan.engine.store.files.text import MAX_CELLS, MAX_ROWS, most_rows
from isoplan.engine.store.tables import loading, snapshots, tables
from isoplan.engine.store.tables.catalog import TableInfo

Add = Callable[..., TableInfo]
FRAME = pd.DataFrame({"N": np.geomspace(1e6, 1e8, 40), "D": np.geomspace(1e8, 1e9, 40), "loss": np.linspace(4, 2, 40)})


def parquet(frame: pd.DataFrame = FRAME) -> bytes:
    out = io.BytesIO()
    frame.to_parquet(out, index=False)
    return out.getvalue()


def sentence(error: pytest.ExceptionInfo[PlannerError]) -> str:
    said = str(error.value)
    assert "\n" not in said
    assert said.endswith(".")
    return said


@pytest.mark.parametrize("at", range(0, len(parquet()), 97))
def test_a_parquet_file_with_a_flipped_byte_is_read_or_refused_in_a_sentence(db: Database, at: int) -> None:
    whole = bytearray(parquet())
    whole[at] ^= 0xFF
    said = "runs.parquet as it was"
    try:
        assert tables.add(db, bytes(whole), "runs.parquet").rows <= len(FRAME)
    except PlannerError as error:
        said = str(error)
    assert "runs.parquet" in said
    assert "\n" not in said


def test_whatever_duckdb_says_about_a_file_is_one_sentence(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise duckdb.Error("TProtocolException: Invalid data")

    monkeypatch.setattr(loading, "open_relation", fail)
    with pytest.raises(PlannerError, match=r"runs.csv cannot be read \(TProtocolException: Invalid data\)") as error:
        tables.add(db, b"N,D,loss\n1,1,1\n", "runs.csv")
    sentence(error)


def test_a_small_parquet_file_of_many_rows_is_refused_by_their_number(db: Database, tmp_path: Path) -> None:
    file = tmp_path / "bomb.parquet"
    duckdb.sql(f"COPY (SELECT 1.0 AS N FROM range({MAX_ROWS + 1})) TO '{file}' (FORMAT parquet)")
    assert file.stat().st_size < 100_000
    with pytest.raises(PlannerError, match=f"bomb.parquet has more than {MAX_ROWS:,} rows") as error:
        tables.add(db, file, "bomb.parquet")
    sentence(error)
    assert tables.all(db) == []


def test_rows_times_columns_are_bounded(add: Add, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (most_rows(1), most_rows(10), most_rows(1000)) == (MAX_ROWS, MAX_ROWS, MAX_CELLS // 1000)
    monkeypatch.setattr(loading, "most_rows", lambda _: 2)
    assert add("N,D,loss\n1,1,1\n2,2,2\n").rows == 2
    with pytest.raises(PlannerError, match="has more than 2 rows of 3 columns: keep the rows and columns") as error:
        add("N,D,loss\n1,1,1\n2,2,2\n3,3,3\n")
    sentence(error)
    assert len(tables.all(db)) == 1


def sheet(change: str, by: str) -> bytes:
    """Return an Excel file with two runs. In the XML of its sheet, matches of ``change`` are replaced by ``by``."""
    book = openpyxl.Workbook()
    for row in (("N", "D", "loss"), (1e6, 1e8, 3.0), (2e6, 1e8, 2.5)):
        book.active.append(row)
    plain, changed = io.BytesIO(), io.BytesIO()
    book.save(plain)
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            text = old.read(entry)
            if entry.filename == "xl/worksheets/sheet1.xml":
                assert re.search(change, text.decode())
                text = re.sub(change, by, text.decode()).encode()
            new.writestr(entry.filename, text)
    return changed.getvalue()


def test_a_sheet_that_claims_all_rows_and_columns_is_read_as_what_it_has(add: Add) -> None:
    assert add(sheet(r'<dimension ref="[^"]*"', '<dimension ref="A1:XFD1048576"'), "runs.xlsx").rows == 2


def test_a_cell_in_the_last_row_of_a_sheet_is_the_third_row(add: Add) -> None:
    far = '<row r="1048576"><c r="A1048576"><v>4000000</v></c></row></sheetData>'
    assert add(sheet("</sheetData>", far), "runs.xlsx").rows == 3


@pytest.mark.parametrize("row", [1_048_577, 2_000_000_000])
def test_a_cell_below_the_last_row_of_a_sheet_is_refused(add: Add, row: int) -> None:
    far = f'<row r="{row}"><c r="A{row}"><v>4000000</v></c></row></sheetData>'
    with pytest.raises(PlannerError, match="has rows beyond row 1,048,576, the limit of a sheet") as error:
        add(sheet("</sheetData>", far), "runs.xlsx")
    sentence(error)


def test_a_cell_in_the_last_column_is_refused_by_its_row(add: Add) -> None:
    far = r'<row r="3"><c r="XFD3"><v>1</v></c></row></sheetData>'
    with pytest.raises(PlannerError, match="row 3 in sheet Sheet that is wider than its header") as error:
        add(sheet(r"(?s)<row r=\"3\".*</sheetData>", far), "runs.xlsx")
    sentence(error)


def test_tables_whose_names_read_alike_are_told_apart(db: Database, tmp_path: Path) -> None:
    file = tmp_path / "dots.duckdb"
    with duckdb.connect(str(file)) as sent:
        sent.execute('CREATE SCHEMA s; CREATE TABLE s.runs AS SELECT 1 AS N; CREATE TABLE "s.runs" AS SELECT 2 AS N')
    found = tables.parts(file, "dots.duckdb")
    assert len(set(found)) == 2
    values = {tables.frame(db, tables.add(db, file, "dots.duckdb", inner=part).id)["N"][0] for part in found}
    assert values == {1, 2}


@pytest.mark.parametrize("rows", [3, 6000])
@pytest.mark.parametrize("cell", ["3_5", "+-3"])
def test_what_duckdb_alone_reads_is_no_number(db: Database, add: Add, rows: int, cell: str) -> None:
    """DuckDB alone would read 3_5 as 35 (like Python) and +-3 as -3. Isoplan rejects these cells."""
    info = add("N,D,loss\n" + "1e6,1e8,3\n" * (rows - 1) + f"1e6,1e8,{cell}\n")
    loss = tables.columns(db, info.id)[2]
    assert loss.kind == "text"
    assert loss.unread == (rows - 1, cell)


def test_a_list_of_numbers_beside_the_runs_is_text(db: Database, tmp_path: Path) -> None:
    file = tmp_path / "lists.parquet"
    query = (
        "SELECT i * 1e6 AS N, 1e8 AS D, 3.0 AS loss, [1.5, i] AS parts, [i, 1]::DOUBLE[2] AS pair FROM range(1, 4) t(i)"
    )
    duckdb.sql(f"COPY ({query}) TO '{file}'")
    info = tables.add(db, file, "lists.parquet")
    assert [column.kind for column in tables.columns(db, info.id)] == ["number"] * 3 + ["text"] * 2
    assert tables.frame(db, info.id)["parts"][0] == "[1.5, 1.0]"


def test_underscores_between_thousands_are_proposed(db: Database, add: Add) -> None:
    info = add("N,D,loss\n1_000_000,1e8,3\n2_500_000,1e8,2.9\n")
    conversion = tables.columns(db, info.id)[0].conversion
    assert conversion is not None
    assert (conversion.kind, conversion.ambiguous, conversion.fails) == ("thousands", False, 0)
    roles = Roles(N="N", D="D", loss="loss", conversions={"N": "thousands"})
    assert snapshots.runs(db, snapshots.take(db, info.id, roles))["N"].tolist() == [1e6, 2.5e6]


def test_groups_called_none_or_na_keep_their_names_and_numbers_that_are_not_there_are_missing(
    db: Database, add: Add
) -> None:
    info = add("N,D,loss,aug\n1e6,1e8,3,None\n2e6,1e8,NA,NA\n3e6,1e8,2.5,flip\n4e6,1e8,None,null\n")
    loss, augmentation = tables.columns(db, info.id)[2:]
    assert (loss.kind, loss.missing, loss.unread) == ("number", 2, None)
    assert augmentation.missing == 1
    roles = Roles(N="N", D="D", loss="loss", group="aug")
    runs = snapshots.runs(db, snapshots.take(db, info.id, roles))
    assert runs.labels["group"].tolist() == ["None", "flip"]


def test_missing_words_among_suffixes_are_no_cells_that_cannot_be_read(db: Database, add: Add) -> None:
    info = add("N,D,loss\n1M,1e8,3\nNA,1e8,2.9\n4M,1e8,2.5\n")
    conversion = tables.columns(db, info.id)[0].conversion
    assert conversion is not None
    assert (conversion.kind, conversion.changes, conversion.fails) == ("suffix", 2, 0)
