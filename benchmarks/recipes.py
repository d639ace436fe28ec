"""Time of ``isoplan recipe`` with the default refits, for each bundled sweep."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.report import Report
from isoplan.data import trained
from isoplan.engine.planning.recommender.builder import REFITS

TRIES = 3
METRIC, BUDGET = "recall@10", "2e11"


def run() -> Report:
    """Measure the whole command, including its start, and report the shortest of several times."""
    rows = []
    for option, sweep in (("--share", "share"), ("--runs", "negatives"), ("--runs", "allocation")):
        table = trained.FOLDER / "games" / f"behavior_{sweep}.csv"
        took = [_seconds(option, table) for _ in range(TRIES)]
        least = [f"{min(times):.1f} s" for times in zip(*took, strict=True)]
        rows.append((f"{option} games/behavior_{sweep}.csv", *least))
    return Report(
        "Recipes from own runs",
        f"Time of `isoplan recipe --metric {METRIC}` on the bundled sweeps of the games log with {REFITS} refits, "
        f"including the start of the program. Shortest of {TRIES} tries. On a busy machine, use the processor time. "
        "Goal on two idle cores: 5 s.",
        ("what", "wall", "processor"),
        tuple(rows),
    )


def _seconds(option: str, table: Path) -> tuple[float, float]:
    """Return the wall time and the processor time of one command, in seconds."""
    asked = ["recipe", "--budget", BUDGET, "--metric", METRIC, option, str(table)]
    begun, before = time.perf_counter(), os.times()
    subprocess.run([Path(sys.executable).with_name("isoplan"), *asked], capture_output=True, check=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - begun, used
