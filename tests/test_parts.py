"""The two parts of the suite are complete and have no test in common."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

from tests.parts import FIRST, REST, Part, ignored, in_rest, selected

ROOT = Path(__file__).parents[1]


def collect(part: Part) -> list[str]:
    """Return the tests of a part by name."""
    command = [sys.executable, "-P", "-m", "pytest", "--collect-only", "-q", "--part", part, "-p", "no:cacheprovider"]
    env = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_each_test_is_in_one_part() -> None:
    first, rest, whole = collect("first"), collect("rest"), collect("all")
    assert not set(first) & set(rest)
    assert sorted(first + rest) == sorted(whole)
    assert len(set(whole)) == len(whole) > 6000


@pytest.mark.parametrize("entry", [*REST, *FIRST])
def test_an_entry_names_what_is_there(entry: str) -> None:
    name, _, test = entry.partition("::")
    place = ROOT / "tests" / name
    assert place.exists()
    assert not test or f"def {test}(" in place.read_text()


def test_an_entry_is_a_folder_a_file_or_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.parts.REST", ("slow", "a/test_b.py", "a/test_c.py::test_d"))
    monkeypatch.setattr("tests.parts.FIRST", ("slow/test_e.py", "a/test_b.py::test_f"))
    b, c, other = (PurePosixPath(name) for name in ("a/test_b.py", "a/test_c.py", "a/slow/test_b.py"))
    assert in_rest(PurePosixPath("slow/more/test_a.py"))
    assert in_rest(b)
    assert not in_rest(c)
    assert in_rest(c, "test_d[x]")
    assert not in_rest(c, "test_de")
    assert not in_rest(other)
    assert not in_rest(PurePosixPath("slow/test_e.py"), "test_a")
    assert [in_rest(b, name) for name in ("test_f", "test_g")] == [False, True]
    assert [ignored(one, "first") for one in (b, c, other)] == [False, False, False]
    assert [ignored(one, "rest") for one in (b, c, other)] == [False, False, True]
    assert [ignored(PurePosixPath(f"slow/test_{x}.py"), "first") for x in "ae"] == [True, False]
    assert [ignored(PurePosixPath(f"slow/test_{x}.py"), "rest") for x in "ae"] == [False, True]
    assert [selected(c, name, "rest") for name in ("test_d", "test_e")] == [True, False]
    assert all(selected(c, name, "all") for name in ("test_d", "test_e"))
