"""The commands in the terminal section of the README run in order, as written, on bundled tables."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT


def block() -> list[str]:
    """Return the lines of the first code block in the terminal section of the README."""
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


def test_every_command_runs_as_written(tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to(ROOT / "data")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "isoplan").symlink_to(Path(sys.executable).with_name("isoplan"))
    script = "\n".join(["set -e", *(f"echo {shlex.quote(line)}\n{line}" for line in block())])
    made = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 0, f"{made.stdout}\n{made.stderr}"
    assert all(file.stat().st_size for file in (tmp_path / "tmp").iterdir())
