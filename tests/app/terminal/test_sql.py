"""SQL injection in ``--where`` and in a database view: the error is one sentence, and no file is read or changed."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tests.app.terminal.asking import LAW, MAP, Run, one_sentence

FORBIDDEN = [
    "size IN (SELECT 1)",
    "size > (SELECT max(size) FROM runs)",
    "size > 1 UNION SELECT 1",
    "size > 1; DROP TABLE runs",
    "read_text('SECRET') = 'x'",
    "size IN (SELECT content FROM read_text('SECRET'))",
    "EXISTS (SELECT * FROM read_csv('SECRET'))",
    "read_csv('SECRET') IS NOT NULL",
    "glob('/*') = 'x'",
    "ATTACH 'TARGET'",
    "COPY runs TO 'TARGET'",
    "INSTALL httpfs",
    "getenv('HOME') = 'x'",
    "PRAGMA database_list",
    "(SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000000) c) > 1",
]


@pytest.mark.parametrize("condition", FORBIDDEN)
def test_what_is_no_condition_is_one_sentence(run: Run, table: Path, tmp_path: Path, condition: str) -> None:
    secret, target, before = tmp_path / "secret.txt", tmp_path / "target", table.read_bytes()
    secret.write_text("nobody reads this")
    asked = condition.replace("SECRET", str(secret)).replace("TARGET", str(target))
    answer = run("fit", table, *LAW, *MAP, "--bootstrap", 0, "--where", asked)
    one_sentence(answer, "condition")
    assert "nobody reads this" not in answer.err
    assert not target.exists()
    assert table.read_bytes() == before


def test_a_view_in_a_database_reads_no_file(run: Run, tmp_path: Path) -> None:
    secret, file = tmp_path / "secret.txt", tmp_path / "runs.duckdb"
    secret.write_text("nobody reads this")
    with duckdb.connect(str(file)) as made:
        made.execute(f"CREATE VIEW peek AS SELECT content AS N, 1 AS D, 2 AS loss FROM read_text('{secret}')")
    for part in ((), ("--inner", "peek")):
        answer = run("fit", file, *LAW, *part)
        one_sentence(answer, "runs.duckdb")
        assert "nobody reads this" not in answer.err
