"""The commands in ``docs/tutorial.md`` run in order on the table of this page. They print the lines shown there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
BLOCK = re.compile(r"```console\n(?P<commands>.*?)```(?:\n\n```text\n(?P<printed>.*?)```)?", re.DOTALL)
TOLERANCE = 0.1
"""Maximum relative difference between a printed number and the page. Ends of intervals depend on the processor."""


def words(line: str) -> str:
    """Replace each number by # and each gap by one space, because numbers and column widths may differ."""
    return " ".join(NUMBER.sub("#", line).split())


def values(line: str) -> list[float]:
    """Return the numbers in a printed line, in order."""
    return [float(text.replace(",", "")) for text in NUMBER.findall(line)]


def test_every_command_runs_and_prints_what_the_page_states(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"```csv\n(.*?)```", page, re.DOTALL)
    (tmp_path / "runs.csv").write_text(table)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    blocks = list(BLOCK.finditer(page))
    assert len(blocks) > 5
    for block in blocks:
        script = "set -e\n" + block["commands"]
        made = subprocess.run(
            ["bash", "-c", script],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PATH": path},
        )
        assert made.returncode == 0, f"{block['commands']}{made.stderr}"
        printed = {words(line): line for line in made.stdout.splitlines()}
        for line in (block["printed"] or "").splitlines():
            assert words(line) in printed, f"{line}\n{made.stdout}"
            assert values(printed[words(line)]) == pytest.approx(values(line), rel=TOLERANCE)
    assert {"plan.html", "plan.pdf"} < {file.name for file in tmp_path.iterdir()}
