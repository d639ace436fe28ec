"""Duration of ``make test`` and ``make test-rest``, and their slowest tests."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

from benchmarks.report import Report

ROOT = Path(__file__).parents[1]
GOALS = {"test": 10, "test-rest": 25}
"""Maximum duration of each target in minutes, on two idle cores."""
SHOWN = 15
SLOWEST = re.compile(r"^([0-9.]+)s (?:call|setup|teardown) +(tests/\S+)", re.MULTILINE)
RESULT = re.compile(r"^=* ?([0-9].* (?:passed|failed).*?) in [0-9.]+s", re.MULTILINE)


def run() -> Report:
    """Run both targets, one after the other, and report their minutes and their slowest tests."""
    rows: list[tuple[str, str, str]] = []
    for part, goal in GOALS.items():
        start = time.monotonic()
        done = subprocess.run(
            ["make", part, f"ARGS=--durations={SHOWN}"], cwd=ROOT, capture_output=True, text=True, env=os.environ
        )
        minutes = (time.monotonic() - start) / 60
        result = RESULT.findall(done.stdout)[-1:] or [f"exit {done.returncode}"]
        rows.append((f"make {part}", f"{minutes:.1f} min", f"{result[0]}; goal {goal} min"))
        rows += [(f"`{name}`", f"{float(seconds):.0f} s", "") for seconds, name in SLOWEST.findall(done.stdout)]
    return Report(
        "Test suite",
        f"Both parts of the tests, including the checks, and the {SHOWN} slowest tests of each part.",
        ("what", "time", "result"),
        tuple(rows),
    )
