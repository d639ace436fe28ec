"""`isoplan append`: rows of a file and of standard input, and rows that are refused."""

from __future__ import annotations

import json
from pathlib import Path

from isoplan.engine.store.database.database import open_workspace
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.logged_tables import table_of
from tests.app.terminal.asking import Run, one_sentence, process


def losses(root: Path, table: str = "my runs") -> list[float]:
    with open_workspace(root) as db:
        return [float(x) for x in tables.frame(db, table_of(table))["loss"]]


def test_the_rows_of_a_file_are_in_the_table(run: Run, tmp_path: Path) -> None:
    file, root = tmp_path / "rows.jsonl", tmp_path / "ws"
    file.write_text('{"run": "a", "N": 1e6, "loss": 3}\n\n{"run": "b", "N": 2e6, "loss": 2.5}\n')
    answer = run("append", "my runs", file, "--workspace", root)
    assert (answer.code, answer.out) == (0, f"2 rows are added to table my runs in {root}.\n")
    assert losses(root) == [3.0, 2.5]
    run("append", "my runs", file, "--workspace", root)
    assert losses(root) == [3.0, 2.5], "a second call changes nothing"


def test_no_row_of_a_file_with_an_invalid_line_is_stored(run: Run, tmp_path: Path) -> None:
    file, root = tmp_path / "rows.jsonl", tmp_path / "ws"
    file.write_text('{"run": "a", "loss": 3}\n{"run": "b", "loss": NaN}\n[]\n')
    answer = run("append", "t", file, "--workspace", root)
    assert (answer.code, answer.out) == (2, "")
    lines = answer.err.splitlines()
    assert lines[0] == f"isoplan: {file}, line 2: NaN is not JSON. Write null for a value that is missing."
    assert lines[1].startswith(f"isoplan: {file}, line 3: [] is not an object.")
    assert lines[2].endswith("2 lines cannot be read, so no row is stored. Correct the file and try again.")
    assert not (root / "logged").exists()


def test_standard_input_stores_each_good_line_and_names_each_bad_line(tmp_path: Path) -> None:
    long = json.dumps({"loss": 1, "text": "x" * 3_000_000})
    given = f'{{"loss": 1}}\nnope\n{long}\n{{"loss": 2}}\n{{"loss": 3}}'
    answer = process("append", "my runs", "-", "--workspace", tmp_path, given=given)
    assert answer.returncode == 2
    assert answer.stdout == f"3 rows are added to table my runs in {tmp_path}.\n"
    lines = answer.stderr.splitlines()
    assert lines[0].startswith("isoplan: standard input, line 2: 'nope' is not JSON.")
    assert (
        lines[1] == "isoplan: standard input, line 3: the line has more than 1,000,000 characters. Shorten its values."
    )
    assert lines[2] == "isoplan: Standard input: 2 lines are not stored. Correct each line that is named above."
    assert losses(tmp_path) == [1.0, 2.0, 3.0]


def test_the_app_that_has_the_workspace_open_adds_the_rows(tmp_path: Path) -> None:
    from isoplan.app.logged_rows import ingest

    with open_workspace(tmp_path) as db:
        answer = process("append", "t", "-", "--workspace", tmp_path, given='{"loss": 1}\n')
        assert answer.stdout.endswith("The app that has the workspace open adds them to the table within a second.\n")
        assert ingest(db, tmp_path) == 1


def test_wrong_arguments_are_one_sentence(run: Run, tmp_path: Path) -> None:
    one_sentence(run("append", "t", tmp_path / "none", "--workspace", tmp_path), "cannot be read")
    one_sentence(run("append", " ", "-", "--workspace", tmp_path), "Table ' ': the name is not valid")
    (tmp_path / "empty").write_text("\n")
    one_sentence(run("append", "t", tmp_path / "empty", "--workspace", tmp_path), "contains no row")
