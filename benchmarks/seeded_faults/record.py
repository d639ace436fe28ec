"""A pytest plugin that adds the name of the running test to the recorded coverage, also in child processes."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

VARIABLE = "ISOPLAN_TEST"
"""Environment variable with the name of the test that started a child process."""
TIMES = "ISOPLAN_TEST_TIMES"
"""Environment variable with the path of the file to which the seconds of each test are written."""
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
    """Record all lines that run until the end of the test ``item`` under the name of this test."""
    recorder = coverage.Coverage.current()
    os.environ[VARIABLE] = item.nodeid
    if recorder is not None:
        recorder.switch_context(item.nodeid)
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add the seconds of one phase (set-up, call or tear-down) to the time of its test."""
    _seconds[report.nodeid] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the seconds of all tests to the file. Only the main process of the test run does this."""
    if TIMES in os.environ and not hasattr(session.config, "workerinput"):
        Path(os.environ[TIMES]).write_text(json.dumps(_seconds))
