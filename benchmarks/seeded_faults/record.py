"""A pytest plugin that names the running test in the recorded coverage, also for child processes."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

VARIABLE = "ISOPLAN_TEST"
"""The environment variable with the name of the test that started this child process."""
TIMES = "ISOPLAN_TEST_TIMES"
"""The environment variable with the file for the seconds of each test."""
SETTINGS = f"""
[run]
parallel = true
patch = subprocess
context = ${{{VARIABLE}-}}
source =
    engine
    trainers
disable_warnings = no-data-collected, module-not-measured, module-not-imported
"""
_seconds: defaultdict[str, float] = defaultdict(float)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Record all lines that run until the end of ``item`` under its name."""
    recorder = coverage.Coverage.current()
    os.environ[VARIABLE] = item.nodeid
    if recorder is not None:
        recorder.switch_context(item.nodeid)
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the seconds of a test, including its fixtures."""
    _seconds[report.nodeid] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the seconds of all tests, in the process that owns the terminal."""
    if TIMES in os.environ and not hasattr(session.config, "workerinput"):
        Path(os.environ[TIMES]).write_text(json.dumps(_seconds))
