"""Tests of the command line in general: version, help and wrong options. Other modules test each command."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from isoplan.app.cli import command_function, commands, main


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["isoplan", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


@pytest.mark.parametrize("arguments", [["--version"], ["app", "--version"]])
def test_version(arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, *arguments) == 0
    assert capsys.readouterr().out == f"isoplan {version('isoplan')}\n"


def test_alone_it_lists_the_commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch) == 0
    out = capsys.readouterr().out
    assert all(f" {name} " in out for name in commands())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nope"], "No such command 'nope'."),
        (["--nope"], "No such option: --nope"),
        (["app", "--prt", "1"], "No such option: --prt"),
        (["app", "--port", "99999"], "Invalid value for '--port'"),
        (["app", "--port", "x"], "Invalid value for '--port'"),
        (["app", "--host", "0.0.0.0", "--no-browser"], "--host 0.0.0.0 accepts connections from other machines"),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(
    arguments: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert len(captured.err.splitlines()) == 1


def test_the_version_is_there_at_once() -> None:
    code = "import sys; sys.argv = ['isoplan', '--version']\n"
    code += "from isoplan.app.cli import main\ntry:\n    main()\nfinally:\n"
    code += "    print(sorted({'numpy', 'pandas', 'streamlit'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.stdout.splitlines()[1] == "[]"


def test_the_list_of_commands_shows_the_first_line_of_each_help() -> None:
    for name, command in commands().items():
        text = command_function(name).__doc__ or ""
        assert text.splitlines()[0] == command.summary
        assert len(command.summary) <= 66, "longer than a line of 80 characters"


def test_the_list_of_commands_loads_no_numbers() -> None:
    code = "import sys; sys.argv = ['isoplan', '--help']\n"
    code += "from isoplan.app.cli import main\ntry:\n    main()\nexcept SystemExit:\n"
    code += "    print(sorted({'numpy', 'pandas', 'scipy', 'pydantic', 'duckdb'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
