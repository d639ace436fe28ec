"""Every command of the README's terminal section runs as written, in its order, on bundled tables."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.app.terminal.asking import Run
from tests.conftest import ROOT


def block() -> list[str]:
    """The lines of the first block of the section."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## In the terminal")[2]
    found = re.search(r"```\n(.*?)```", section, re.DOTALL)
    assert found is not None
    return found.group(1).splitlines()


def test_the_block_begins_in_the_folder_of_a_clone() -> None:
    first, second, *commands = block()
    assert first == 'export PATH="$PWD/.venv/bin:$PATH"'
    assert second == "mkdir -p tmp"
    assert len(commands) > 15
    assert all(line.startswith("isoplan ") for line in commands)
    assert "/tmp/" in (ROOT / ".gitignore").read_text().split()


def test_every_command_runs_as_written(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").symlink_to(ROOT / "data")
    (tmp_path / "tmp").mkdir()
    monkeypatch.chdir(tmp_path)
    for line in block()[2:]:
        command, _, file = line.partition(" > tmp/")
        answer = run(*shlex.split(command)[1:])
        assert answer.code == 0, f"{line}\n{answer.err}"
        assert answer.out, line
        if file:
            Path("tmp", file).write_text(answer.out, encoding="utf-8")
