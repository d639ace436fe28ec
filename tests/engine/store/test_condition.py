"""Row conditions: their syntax, the rows that they select, and the SQL that is rejected."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database.database import Database, memory
from isoplan.engine.store.tables import condition, snapshots, tables
from isoplan.engine.store.tables.condition import check, matching_rows
from isoplan.engine.store.tables.snapshots import Filter

Add = Callable[..., tables.TableInfo]
TABLE = 'N,n,Model Size,model,loss,select\n1,10,5,a,3.5,x\n2,20,6,b,3.0,y\n3,30,7,"it\'s",,x\n'


@pytest.fixture(scope="module")
def filled() -> Iterator[tuple[Database, str]]:
    """Return a store that contains only ``TABLE``, and the id of the table."""
    with memory() as database:
        yield database, tables.add(database, TABLE.encode(), "runs.csv").id


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("N >= 2", [1, 2]),
        ("n >= 20 AND N < 3", [1]),
        ('"Model Size" BETWEEN 5 AND 6', [0, 1]),
        ('"model size" = 7', [2]),
        ("model = 'a' OR model = 'it''s'", [0, 2]),
        ("model IN ('a', 'b') AND NOT N = 1", [1]),
        ("loss IS NULL", [2]),
        ("loss IS NOT NULL AND loss < 3.2", [1]),
        ("\"select\" = 'x'", [0, 2]),
        ("model LIKE 'i%' OR contains(model, 'b')", [1, 2]),
        ("starts_with(lower(model), 'a') OR regexp_matches(model, '^b$')", [0, 1]),
        ("log10(N * 10) > 1 AND abs(-n) < 25", [1]),
        ("CASE WHEN N > 2 THEN 1 ELSE 0 END = 1", [2]),
        ("CAST(N AS VARCHAR) = '2.0'", [1]),
        ("coalesce(loss, 0) = 0 -- a comment", [2]),
        ("N > 10^0.5 - 1.5", [1, 2]),
        ("round(loss) = 3 AND length(model) = 1", [1]),
        ("1 = 1", [0, 1, 2]),
        ("1 = 2", []),
    ],
)
def test_conditions_choose_rows(filled: tuple[Database, str], text: str, rows: list[int]) -> None:
    assert matching_rows(*filled, text).tolist() == rows


ATTACKS = [
    "N IN (SELECT 1)",
    "(SELECT count(*) FROM runs) > 1",
    "EXISTS (SELECT 1)",
    "N > 1 UNION SELECT 1",
    "1 = 1) UNION SELECT 1 --",
    "N > 1; DROP TABLE tables",
    "N > 1;",
    "read_text('/etc/passwd') = 'x'",
    "N IN (SELECT content FROM read_text('/etc/passwd'))",
    "read_csv('/etc/passwd') = 1",
    "glob('/*') = 'x'",
    "model GLOB '*'",
    "ATTACH '/tmp/x.duckdb'",
    "COPY runs TO '/tmp/x.csv'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "getenv('HOME') = 'x'",
    "PRAGMA version",
    "SET memory_limit = '1TB'",
    "current_setting('memory_limit') = 'x'",
    "(SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000000) c) > 1",
    "range(10000000000) IS NOT NULL",
    "list_sum([x FOR x IN range(10)]) > 1",
    "sum(N) OVER () > 1",
    "count(*) > 1",
    "columns('.*') > 1",
    "x -> x + 1",
    "runs.N > 1",
    "N > ?",
    "N > $1",
    "repeat('x', 1000000000) = 'x'",
    "random() > 0.5",
    "N := 1",
    "N N",
    "N + 1",
    "'text'",
    "N >",
    "((((",
    "(" * 900 + "N > 1" + ")" * 900,
    "N > 1 AND " * 400 + "N > 1",
    " AND ".join(["N > 1"] * 150),
    "FROM runs",
    "CAST(N AS BLOB) = 'x'",
    "N = 1 AND unknown > 2",
    "loss < 'three'",
    "model > 3",
    "regexp_matches(model, '(')",
    "",
]


@pytest.mark.parametrize("text", ATTACKS, ids=lambda t: t[:40] or "empty")
def test_everything_else_is_one_sentence_and_touches_nothing(filled: tuple[Database, str], text: str) -> None:
    db, table_id = filled
    with pytest.raises(PlannerError) as error:
        matching_rows(db, table_id, text)
    message = str(error.value)
    assert "\n" not in message
    assert message.endswith((".", "?"))
    assert tables.frame(db, table_id)["N"].tolist() == [1, 2, 3]
    assert len(tables.all(db)) == 1


def test_messages_name_what_is_wrong() -> None:
    for text, expected in {
        "read_text('x') = 'y'": "uses read_text(), which is not allowed",
        "N IN (SELECT 1)": "uses a subquery or UNION, which is not allowed",
        "model = chinchilla": "Column 'chinchilla' of the condition is not in the table",
        "PRAGMA x": "uses PRAGMA, which is not allowed",
        "CAST(N AS BLOB) IS NULL": "casts to",
    }.items():
        with pytest.raises(PlannerError, match=re.escape(expected)):
            check(text, ["N", "model"])


SPELLINGS = {
    "N > 1B": "Write 1e9 for 1B.",
    "N > 70M AND n < 2.5 T": "Write 7e7 for 70M. Write 2.5e12 for 2.5 T.",
    "N > 1 million": "Write 1e6 for 1 million.",
    "n BETWEEN 1k AND 3k": "Write 1000 for 1k. Write 3000 for 3k.",
    "N > 1e9 & n < 2": "Write AND for &.",
    "N > 1e9 && n < 2": "Write AND for &&.",
    "N > 1 | n < 2": "Write OR for |.",
    "N > 1 || n < 2": "Write OR for ||.",
    "N => 3": "Write >= for =>.",
    "N ≤ 3": "Write <= for ≤.",
    "N === 3": "Write = for ===.",
    "N > 1,000,000": "Write 1000000 for 1,000,000.",
    "loss < 2,5": "Write 2.5 for 2,5.",
    "loss > 50%": "Write 0.5 for 50%.",
    "loss is not None": "Write NULL for None.",
    "loss <> nan": "Write isnan(column) for a comparison with nan.",
    "WHERE N > 1": "Leave out WHERE.",
    "model = “a”": "Write 'a' for “a”.",
    "`Model Size` > 3": 'Write "Model Size" for `Model Size`.',
    "1 < N < 3": "Write 1 < N AND N < 3.",
    'model = "a"': "text needs single quotes.",
}


@pytest.mark.parametrize("text", SPELLINGS)
def test_another_syntax_gets_the_right_spelling(filled: tuple[Database, str], text: str) -> None:
    with pytest.raises(PlannerError) as error:
        matching_rows(*filled, text)
    assert str(error.value).endswith(SPELLINGS[text])


@pytest.mark.parametrize("text", ["N == 2", "! N <> 2", "!(N <> 2)", "model = 'b' AND model <> 'a&b 1B'"])
def test_other_spellings_that_duckdb_reads_are_conditions(filled: tuple[Database, str], text: str) -> None:
    assert matching_rows(*filled, text).tolist() == [1]


def test_a_proposal_never_names_text_in_quotes(filled: tuple[Database, str]) -> None:
    with pytest.raises(PlannerError, match="cannot be read: a condition compares"):
        matching_rows(*filled, "model = '1B & x' AND")


DEEP = {
    "powers": "loss < " + "**".join(["2"] * 200),
    "casts": "loss" + "::double" * 200 + " < 3",
    "minus": "loss < " + "- " * 450 + "3",
    "not": "NOT " * 300 + "loss < 3",
    "parentheses": "(" * 200 + "loss < 3" + ")" * 200,
    "functions": "abs(" * 61 + "loss" + ")" * 61 + " < 3",
    "cases": "CASE WHEN loss < 1 THEN " * 30 + "1" + " END" * 30 + " < 3",
}


@pytest.mark.parametrize("name", DEEP)
def test_a_deep_condition_is_refused_before_it_is_walked(name: str) -> None:
    with pytest.raises(PlannerError, match=r"nested more than 60 levels deep|cannot be read") as error:
        check(DEEP[name], ["loss"])
    assert "\n" not in str(error.value)


def test_a_long_chain_is_one_level() -> None:
    assert check(" AND ".join(["loss < 3"] * 100), ["loss"]).count("c0 < 3") == 100
    assert check("loss < " + "+".join(["1"] * 240), ["loss"]).count("1") == 240


def test_half_a_character_is_refused() -> None:
    """If a byte of terminal input is not UTF-8, Python represents this byte as a lone surrogate."""
    for code in (0xD800, 0xDCFF):
        with pytest.raises(PlannerError, match="contains an invalid character"):
            check(f"model = 'a{chr(code)}'", ["model"])


def test_names_are_found_as_spelt_then_regardless_of_case() -> None:
    assert check("N > 1", ["n", "N"]) == "c1 > 1"
    assert check("n > 1", ["n", "N"]) == "c0 > 1"
    assert check("LOSS > 1", ["n", "loss"]) == "c1 > 1"
    with pytest.raises(PlannerError, match=re.escape('\'LOSS\', which could be "loss" and "Loss"')):
        check("LOSS > 1", ["loss", "Loss"])
    assert check('"a ""b""" = 1', ['a "b"']) == "c0 = 1"


def test_a_condition_that_takes_too_long_is_stopped(db: Database, add: Add, monkeypatch: pytest.MonkeyPatch) -> None:
    info = add("N\n" + "\n".join(f"{i}.5" for i in range(300_000)))
    monkeypatch.setattr(condition, "SECONDS", 0.02)
    slow = " AND ".join(f"ln(exp(sqrt(abs(N + {i})))) > 0" for i in range(40))
    with pytest.raises(PlannerError, match="took longer than"):
        matching_rows(db, info.id, slow)


def test_the_sandbox_sees_no_files(tmp_path: Path) -> None:
    """The sandbox alone prevents access to files, even for a condition that the parser did not check."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    rows = tmp_path / "rows.parquet"
    duckdb.connect().execute(f"COPY (SELECT 0::BIGINT AS rid) TO '{rows}' (FORMAT parquet)")
    for text in (f"EXISTS (SELECT * FROM read_text('{secret}'))", f"EXISTS (SELECT * FROM '{rows}')"):
        with pytest.raises(PlannerError, match=r"file system operation|Cannot access file"):
            condition._evaluate(rows, text, text)


def test_conditions_compare_agreed_conversions_as_numbers(db: Database, add: Add) -> None:
    info = add("params,loss\n70M,3\n1B,2\n")
    roles = tables.roles(db, info.id).model_copy(update={"N": "params", "conversions": {"params": "suffix"}})
    snapshot = snapshots.take(db, info.id, roles, Filter(where="params > 1e8"))
    assert snapshot.ids.tolist() == [1]
    tables.set_roles(db, info.id, roles)
    assert tables.frame(db, info.id, where="params > 1e8")["row id"].tolist() == [1]
