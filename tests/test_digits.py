"""Tests of the comparison of answers before and after a refactoring: it finds each changed number and each error."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest

from benchmarks import digits

FIT = {"schema": 1, "law": "chinchilla", "data": {"ranges": {"C": [1.0, 2.0], "loss": [0.5, 3.0]}}, "E": 0.25}
SCRIPT = """#!{python}
import json, sys
if sys.argv[1] == "agreement":
    sys.exit("isoplan: Column 'x': it is not in " + {root!r} + ". Choose another one.")
if "--format" in sys.argv:
    print("N,D")
else:
    print(json.dumps({fit} | {{"asked": sys.argv[1:], "seconds": 3.5}}))
"""


@pytest.fixture
def place(tmp_path: Path) -> digits.Place:
    """Return a checkout with one table and a fake command. The command prints the same fit for each question."""
    table = tmp_path / "data" / "grids" / "jets_one_pass.csv"
    table.parent.mkdir(parents=True)
    table.write_text("N,D,loss\n")
    command = tmp_path / "isoplan"
    command.write_text(SCRIPT.format(python=sys.executable, root=str(tmp_path), fit=FIT))
    command.chmod(0o755)
    (tmp_path / "work").mkdir()
    (tmp_path / "answers").mkdir()
    return digits.Place(command, tmp_path, tmp_path / "work")


def test_each_answer_is_kept(place: digits.Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digits, "FIRST", "agreement: agreement\ntrain: {jets} --set width=8\n")
    monkeypatch.setattr(digits, "LAST", "plan-latex: plan {one} --format latex\n")
    answers = place.root / "answers"
    summary = digits.write(answers, place)
    records = {file.stem: json.loads(file.read_text()) for file in answers.iterdir()}
    assert summary.startswith(f"{len(records)} answers, 1 of them errors, ")
    assert records["agreement"]["exit"] == 1
    assert records["agreement"]["error"] == "isoplan: Column 'x': it is not in ROOT. Choose another one."
    assert "seconds" in records["grids-jets_one_pass-chinchilla"]["answer"]
    assert "seconds" not in records["train"]["answer"]
    assert records["plan-latex"]["answer"] == ["N,D"]
    assert records["budget-grids-jets_one_pass-chinchilla"]["answer"]["asked"][2:] == ["--budget", "6", "--json"]
    assert records["target-grids-jets_one_pass-chinchilla"]["answer"]["asked"][3] == "0.51"
    assert str(place.root) not in "".join(file.read_text() for file in answers.iterdir())


def test_each_difference_is_a_line(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    for folder, alpha, text in ((before, 0.3, "one"), (after, 0.30000000000000004, "two")):
        folder.mkdir()
        (folder / "fit.json").write_text(json.dumps({"E": [1.5, None, alpha], "exit": 0, "note": text}))
    (before / "plan.json").write_text("{}")
    lines, summary = digits.compare(before, after)
    assert lines == [
        "fit.json: E[2]: 0.3 -> 0.30000000000000004",
        "fit.json: note: 'one' -> 'two'",
        f"plan.json: absent in {after}",
    ]
    assert summary == "2 files, 3 numbers compared, 3 differences"
    assert [line.split(": ")[1] for line in digits.compare(before, after, texts=False)[0]] == [
        "E[2]",
        f"absent in {after}",
    ]
    assert digits.compare(before, before)[0] == []


def test_absent_keys_and_changed_types_differ(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    for folder, value in ((before, {"a": 1, "b": True, "c": {}}), (after, {"a": 1.0, "b": 1, "d": 2})):
        folder.mkdir()
        (folder / "fit.json").write_text(json.dumps(value))
    lines, _ = digits.compare(before, after)
    assert [line.removeprefix("fit.json: ") for line in lines] == [
        "a: 1 -> 1.0",
        "b: True -> 1",
        "c: {} -> '(absent)'",
        "d: '(absent)' -> 2",
    ]


@pytest.mark.parametrize("same", [True, False])
def test_the_exit_status_states_whether_folders_differ(
    tmp_path: Path, same: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in (("before", 1), ("after", 1 if same else 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "fit.json").write_text(json.dumps({"E": value}))
    monkeypatch.setattr(sys, "argv", ["digits", "compare", str(tmp_path / "before"), str(tmp_path / "after")])
    with pytest.raises(SystemExit) as end:
        digits.main()
    assert end.value.code == (not same)
    assert capsys.readouterr().out.splitlines()[-1] == f"1 files, 1 numbers compared, {int(not same)} differences"


def test_a_folder_with_answers_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fit.json").write_text("{}")
    monkeypatch.setattr(sys, "argv", ["digits", "write", str(tmp_path), "--command", "isoplan"])
    with pytest.raises(SystemExit):
        digits.main()
    assert "the folder is not empty. Choose another one." in capsys.readouterr().err


def test_it_imports_the_standard_library_alone() -> None:
    tree = ast.parse(Path(digits.__file__).read_text())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_the_bundled_tables_are_all_covered() -> None:
    root = Path(digits.__file__).parents[1]
    words = " ".join(digits.table_commands(root).values())
    for folder in ("demo", "grids", "grids/games"):
        files = [f for f in (root / "data" / folder).glob("*.csv") if not f.stem.endswith("_curves")]
        assert files
        assert [file.name for file in files if f"data/{folder}/{file.name}" not in words] == []
