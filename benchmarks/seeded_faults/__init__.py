"""Fraction of one-line faults that the tests detect: forty random faults in fits, plans, store and backend.

The seed is fixed. First, the tests run once under coverage, which records the lines that each test executes, also in
child processes. Then each fault is inserted into a copy of the sources. The tests that execute the faulty line run
until one test fails.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import coverage

from benchmarks.report import Report
from benchmarks.seeded_faults.changes import Fault, draw_faults
from benchmarks.seeded_faults.record import SETTINGS, TIMES, VARIABLE

ROOT = Path(__file__).parents[2]
SEED = 20261125
EACH = 10
GROUPS = (
    ("engine", "-engine/planning", "-engine/store"),
    ("engine/planning",),
    ("engine/store",),
    ("trainers/backend",),
)
TESTS = ("tests/engine", "tests/trainers/backend", "tests/trainers/command")
"""Tests that are run. Tests of pages and commands could detect further faults, so the true fraction may be larger."""
PARTS = ("app", "engine", "trainers", "data", "isoplan")
SKIPPED = shutil.ignore_patterns(".git", ".venv", "build", "dist", "__pycache__", "*.egg-info", ".*_cache")
FOLDER = Path(tempfile.gettempdir()) / "isoplan-seeded-faults"
"""Folder of the recorded coverage. Delete it to record the coverage again."""
COMPILED = "engine/fitting/solver/kernels/"
"""Folder of compiled functions. Coverage records no lines in compiled functions, so all tests that call one are run."""
SOURCES = FOLDER / "sources"
"""Copy of the recorded sources. Faults are drawn from this copy and inserted into further copies."""
APPEND = "--import-mode=append"
"""Option of pytest. Without it, pytest imports the package next to the tests and not the package in PYTHONPATH."""
LIMIT = 3600.0
"""Maximum time in seconds for the tests of one fault. A fault that makes a test hang counts as detected."""
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """Result for one fault: the number of tests that execute its line, and the first failed test ("" if none)."""

    fault: Fault
    tests: int
    found: str


def run() -> Report:
    """Record the coverage if it is missing, test each fault, and return the report."""
    if not (FOLDER / "done").exists():
        _record()
    data, seconds = coverage.CoverageData(str(FOLDER / "coverage")), json.loads((FOLDER / "times.json").read_text())
    data.read()
    faults = draw_faults(SOURCES, GROUPS, EACH, SEED)
    tests = [_reaching(fault, data, seconds) for fault in faults]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(_try, faults, tests))
    caught = sum(bool(one.found) for one in outcomes)
    return Report(
        "Seeded faults",
        f"For {caught} of {len(outcomes)} one-line faults, a test that executes the faulty line fails (seed {SEED}; "
        f"{EACH} faults each in fits and laws, planning, store and backend; tests of the engine and of the backend). "
        "Goal: 36.",
        ("fault", "tests that execute it", "found by"),
        tuple((f"`{one.fault}`", str(one.tests), one.found or "none") for one in outcomes),
    )


def _copy(source: Path, folder: Path) -> dict[str, str]:
    """Copy the sources to ``folder``; return environment variables that make Python import ``isoplan`` from there."""
    shutil.copytree(source, folder, ignore=SKIPPED)
    links = folder / "build" / "types" / "isoplan"
    links.mkdir(parents=True)
    for source in (*(folder / name for name in PARTS[:-1]), *(folder / "isoplan").iterdir()):
        (links / source.name).symlink_to(source)
    path = os.pathsep.join([str(links.parent), str(folder)])
    kernels = str(folder.parent / "cache")
    return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "XDG_CACHE_HOME": kernels}


def _record() -> None:
    """Run the tests under coverage and store the result. A failed test does not stop the run."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    env = _copy(ROOT, SOURCES)
    (FOLDER / "settings").write_text(SETTINGS)
    env |= {VARIABLE: "", TIMES: str(FOLDER / "times.json"), "COVERAGE_FILE": str(FOLDER / "coverage")}
    settings, tests = f"--rcfile={FOLDER / 'settings'}", ["-q", APPEND, "-n", "logical", "--dist", "loadfile"]
    tests += ["-p", "benchmarks.seeded_faults.record", *TESTS]
    coverage_run = [sys.executable, "-P", "-m", "coverage", "run", settings, "-m", "pytest", *tests]
    subprocess.run(coverage_run, cwd=SOURCES, env=env)
    combine = [sys.executable, "-P", "-m", "coverage", "combine", "-q", settings]
    subprocess.run(combine, cwd=SOURCES, env=env, check=True)
    (FOLDER / "done").touch()


def _reaching(fault: Fault, data: coverage.CoverageData, seconds: Mapping[str, float]) -> list[str]:
    """Return the tests that execute the line of a fault, the fastest test first.

    If the line runs only during the import of its module, return all tests that execute a line of the file.
    """
    compiled = fault.file.startswith(COMPILED)
    lines = data.contexts_by_lineno(str(SOURCES / (f"{COMPILED}bindings.py" if compiled else fault.file)))
    first = max((line for line in lines if line <= fault.line), default=0)  # first line of the statement with the fault
    tests = set(lines.get(first, ())) & seconds.keys()
    if compiled or not tests:
        tests = {one for tests in lines.values() for one in tests} & seconds.keys()
    return sorted(tests, key=lambda one: seconds[one])


def _try(fault: Fault, tests: list[str]) -> Outcome:
    """Run ``tests`` on a copy of the sources with ``fault`` until one test fails, and return the result."""
    if not tests:
        return Outcome(fault, 0, "")
    with tempfile.TemporaryDirectory(prefix="isoplan-fault-") as name:
        root = Path(name) / "sources"
        env = _copy(SOURCES, root)
        source = root / fault.file
        source.write_text(fault.apply(source.read_text()))
        (root.parent / "tests.txt").write_text("\n".join(tests))
        command = [sys.executable, "-P", "-m", "pytest", "-q", APPEND, "-x", "--tb=no", f"@{root.parent / 'tests.txt'}"]
        try:
            done = subprocess.run(
                command, cwd=root, env=env, capture_output=True, text=True, timeout=LIMIT, check=False
            )
        except subprocess.TimeoutExpired:
            return Outcome(fault, len(tests), f"no end after {LIMIT:g} s")
        failed = FAILED.search(done.stdout)
        found = failed[1] if failed else ("" if done.returncode == 0 else f"exit {done.returncode}")
        return Outcome(fault, len(tests), found)
