"""The code of docs/python.md runs in order and prints the stated output."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

NUMBER = re.compile(r"\d+(?:\.\d+)?")
TOLERANCE = 0.1
"""Maximum relative difference between a printed number and the page.

Intervals from 100 refits depend on the processor.
"""
BLOCK = re.compile(r"```python\n(?P<code>.*?)```(?:\n\n```text\n(?P<printed>.*?)```)?", re.DOTALL)


def blocks() -> list[tuple[str, str]]:
    """Return each code block of the page, with the output that the page shows below the block."""
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    return [(found["code"], found["printed"] or "") for found in BLOCK.finditer(page)]


def test_the_page_runs_and_prints_what_it_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "docs"}
    for code, stated in blocks():
        with redirect_stdout(io.StringIO()) as out:
            exec(compile(code, "docs/python.md", "exec"), names)
        printed = out.getvalue()
        assert NUMBER.sub("#", printed) == NUMBER.sub("#", stated)
        numbers = [float(x) for x in NUMBER.findall(printed)]
        assert numbers == pytest.approx([float(x) for x in NUMBER.findall(stated)], rel=TOLERANCE), printed
    assert {"surface.html", "plan.json", "plan.py"} < {file.name for file in tmp_path.iterdir()}


def test_the_page_is_a_tutorial_of_every_name() -> None:
    import isoplan as ip

    code = "\n".join(code for code, _ in blocks())
    assert len(blocks()) > 6
    assert [name for name in ip.__all__ if name != "__version__" and f"ip.{name}" not in code] == []
