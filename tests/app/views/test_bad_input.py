"""Bad tables, filters and questions: the page shows one sentence and everything else works."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from isoplan.engine.store.database.database import Database
from isoplan.engine.store.files import uploads
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import tables
from tests.app.views.conftest import Open, grid, said, told
from tests.app.views.test_pages import upload

HEADER = b"N,D,loss\n"
ROW = b"1e6,1e8,3.1\n"


def parquet_head() -> bytes:
    return b"PAR1" + b"\x00" * 60


FILES = {
    "empty": (b"", "empty.csv", "is empty"),
    "header only": (HEADER, "head.csv", "no rows"),
    "truncated parquet": (parquet_head(), "cut.parquet", "Parquet"),
    "ten thousand columns": (",".join(f"c{i}" for i in range(10_000)).encode() + b"\n", "wide.csv", "columns"),
    "not a table": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\x00", "image.csv", "image.csv"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_bad_file_is_one_sentence_and_no_table(db: Database, open_page: Open, case: str) -> None:
    content, name, words = FILES[case]
    at = upload(open_page("data"), content, name)
    assert words in told(at)
    assert len(at.error) == 1
    assert tables.all(db) == []


RUNS = {
    "one row": (HEADER + ROW, "", "huber-log", "1 run"),
    "missing columns": (b"a,b\n1,2\n3,4\n", "", "huber-log", "No column is mapped to the loss or a metric"),
    "text in a number column": (
        b"N,loss\n1e6,3\nlarge,2.9\n5e6,2.8\n",
        "",
        "huber-log",
        "1 cell of column 'N' is not a number ('large' in row 1)",
    ),
    "negative loss": (grid().replace(b"1.", b"-1."), "", "huber-log", "logarithm"),
    "constant N": (b"N,D,loss\n" + b"".join(b"1e6,%de8,%f\n" % (i, 3 - i / 10) for i in range(1, 9)), "", "ols", "N"),
    "N proportional to D": (
        b"N,D,loss\n" + b"".join(b"%de6,%de8,%f\n" % (i, i, 3 - i / 10) for i in range(1, 9)),
        "",
        "ols",
        "together",
    ),
}


@pytest.mark.parametrize("case", RUNS)
def test_a_fit_that_cannot_be_is_one_sentence(db: Database, open_page: Open, case: str) -> None:
    content, where, objective, words = RUNS[case]
    table = tables.add(db, content, "runs.csv")
    at = open_page("fit", table=table.id, where=where, objective=objective, law="chinchilla", refits="20")
    button = [b for b in at.button if b.label == "Fit law"]
    if button:
        button[0].click().run()
    told(at)
    assert words in said(at)
    assert results.fits(db) == []


def test_nan_and_infinite_rows_are_left_out_and_said(db: Database, open_page: Open) -> None:
    table = tables.add(db, grid() + b"\n1e7,1e9,nan\n1e7,inf,2.5\n", "nan.csv")
    at = open_page("data", table=table.id, show="Runs")
    assert told(at) == ""
    assert "left out" in said(at)


def test_odd_names_and_values_work(db: Database, open_page: Open) -> None:
    content = b"N,n,select,loss,D\n" + b"".join(
        b"%de6,%d,100000000000000000000,%f,%de8\n" % (2**i, i, 2 + 1 / (i + j + 1), 3**j)
        for i in range(4)
        for j in range(4)
    )
    table = tables.add(db, content, "odd.csv")
    for show in ("Columns", "Runs", "Rows"):
        assert told(open_page("data", table=table.id, show=show, where='"select" > 1e19 AND "n" >= 0')) == ""


NOTED = {
    "wrong encoding": ("N,D,loss,modèle\n1e6,1e8,3.1,é\n2e6,1e8,3.0,ü\n".encode("latin-1"), "read as Latin-1"),
    "duplicate rows": (grid() + b"\n" + grid().split(b"\n")[1], "repeats another run in every mapped number"),
    "mixed units": (
        b"params,D,loss\n70,1e9,3\n410,1e9,2.9\n7e7,1e9,2.8\n4.1e8,1e9,2.7\n1e9,1e9,2.6\n",
        "may mix units",
    ),
    "mixed suffixes": (
        b"N,D,loss\n1.2M,1e8,3\n3B,2e8,2.9\n5000000,3e8,2.8\n",
        "Nothing is converted until you agree",
    ),
}


@pytest.mark.parametrize("case", NOTED)
def test_what_is_odd_about_a_table_is_said_and_nothing_is_changed(db: Database, open_page: Open, case: str) -> None:
    content, words = NOTED[case]
    table = tables.add(db, content, "runs.csv")
    shown = [open_page("data", table=table.id, show=show) for show in ("Columns", "Runs")]
    assert [told(at) for at in shown] == ["", ""]
    assert any(words in said(at) or any(words in m.value for m in at.markdown) for at in shown)
    assert tables.all(db) == [table]


def test_a_file_over_the_limit_is_refused_by_its_size(
    db: Database, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MAX_UPLOAD_BYTES", 100)
    at = upload(open_page("data"), grid(), "grid.csv")
    assert "limit is" in told(at)
    assert tables.all(db) == []


CONDITIONS = {
    "subquery": ("N IN (SELECT 1)", "a subquery or UNION"),
    "union": ("N > 1 UNION SELECT 1", "a subquery or UNION"),
    "semicolon": ("N > 1; DROP TABLE tables", "more than one statement"),
    "read_text": ("read_text('/etc/passwd') = ''", "uses read_text()"),
    "read_csv": ("N IN (SELECT * FROM read_csv('/etc/passwd'))", "a subquery or UNION"),
    "glob": ("glob('/*') = ''", "uses glob()"),
    "attach": ("ATTACH '/tmp/x.db'", "uses ATTACH"),
    "copy": ("COPY tables TO '/tmp/x'", "uses COPY"),
    "install": ("INSTALL httpfs", "uses INSTALL"),
    "getenv": ("getenv('HOME') = ''", "uses getenv()"),
    "pragma": ("PRAGMA database_list", "uses PRAGMA"),
    "cross join": ("N IN (SELECT a.range FROM range(1000000000) a, range(1000000000) b)", "a subquery or UNION"),
    "unknown column": ("params > 3", "Column 'params' of the condition is not in the table"),
    "not a condition": ("N +", "cannot be read"),
    "no truth": ("N + 1", "neither true nor false"),
}


@pytest.mark.parametrize("case", CONDITIONS)
def test_a_forbidden_condition_is_one_sentence_and_all_rows_stay(db: Database, open_page: Open, case: str) -> None:
    table = tables.add(db, grid(), "grid.csv")
    at = open_page("data", table=table.id, show="Rows")
    text, words = CONDITIONS[case]
    at.text_input(key="where_box").set_value(text).run()
    assert words in told(at)
    assert len(at.error) == 1
    assert tables.get(db, table.id).rows == 25


QUESTIONS = {
    "zero": ("Budget", "0", "is not positive"),
    "negative": ("Budget", "-1e20", "is not positive"),
    "words": ("Budget", "a lot", "cannot be read"),
    "a rate": ("Budget", "5 PFLOP/s", "rate"),
    "unknown device": ("Budget", "200 Z80 hours", "not in the catalogue"),
    "below every floor": ("Target", "0.01", "out of reach"),
    "below zero": ("Target", "-3", "is not possible"),
    "no number": ("Target", "low", "cannot be read"),
}


@pytest.mark.parametrize("case", QUESTIONS)
def test_a_question_without_an_answer_is_one_sentence(jets: str, open_page: Open, case: str) -> None:
    ask, text, words = QUESTIONS[case]
    at = open_page("plan", fit=jets, ask=ask, **{ask.lower(): text})
    assert words in told(at)
    assert len(at.error) == 1


def test_a_view_in_a_duckdb_file_is_never_opened(db: Database, open_page: Open, tmp_path: Path) -> None:
    file = tmp_path / "trap.duckdb"
    with duckdb.connect(str(file)) as made:
        made.execute("CREATE VIEW trap AS SELECT * FROM read_text('/etc/hostname')")
    at = upload(open_page("data"), file.read_bytes(), "trap.duckdb")
    assert "contains no base tables" in told(at)
    assert tables.all(db) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"not json", "not JSON"),
        (b"[1]", "no JSON object"),
        (b"{}", "schema"),
        (b'{"schema": 1, "law": "x"}', "n: Field required"),
    ],
)
def test_a_card_that_is_none_is_one_sentence(demo: Database, open_page: Open, content: bytes, words: str) -> None:
    at = open_page("fit")
    at.file_uploader(key="card").upload("card.json", content, "application/json").run()
    assert words in told(at)
    assert len(at.error) == 1
    assert results.fits(demo) == []


def test_a_law_of_the_link_that_the_table_lacks_columns_for_is_named(db: Database, open_page: Open) -> None:
    table = tables.add(db, b"N,loss\n1e6,3\n2e6,2.9\n5e6,2.8\n", "runs.csv")
    at = open_page("fit", table=table.id, law="chinchilla")
    assert "Loss over size and data (Chinchilla) cannot be fitted to this table: D is not mapped" in said(at)
    assert at.selectbox(key="law_choice").value == "power-N"
