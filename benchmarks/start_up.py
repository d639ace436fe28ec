"""Time to import the package and to start the terminal, compared with Python and with the libraries of a fit."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.report import Report

TRIES = 7
TABLE = Path(__file__).parents[1] / "data" / "demo" / "jets_grid.csv"
ISOPLAN = str(Path(sys.executable).with_name("isoplan"))
FIT = ("fit", str(TABLE), "--rule", "6npND", "--n-p", "40", "--law", "chinchilla", "--bootstrap", "0")
COMMANDS: dict[str, tuple[str, ...]] = {
    "python": (sys.executable, "-c", ""),
    "numpy, scipy.special, pydantic, duckdb": (
        *(sys.executable, "-c"),
        "import numpy, scipy.special, scipy.optimize, pydantic, duckdb",
    ),
    "import isoplan": (sys.executable, "-c", "import isoplan"),
    "isoplan --help": (ISOPLAN, "--help"),
    "isoplan fit --bootstrap 0": (ISOPLAN, *FIT),
}


def run() -> Report:
    """Run each command several times and report its shortest wall time and processor time."""
    least = {
        name: [min(times) for times in zip(*map(_seconds, [command] * TRIES), strict=True)]
        for name, command in COMMANDS.items()
    }
    floor = least["python"][1]
    rows = tuple((name, f"{wall:.2f} s", f"{cpu:.2f} s", f"{cpu / floor:.0f}") for name, (wall, cpu) in least.items())
    return Report(
        "Start",
        f"Shortest time of {TRIES} tries, each in a new process. The fitted table {TABLE.name} has 54 runs. Goals on "
        "an idle core: import 0.5 s, help 0.7 s, a fit without refits 1.2 s.",
        ("what", "wall", "processor", "processor / Python"),
        rows,
    )


def _seconds(command: tuple[str, ...]) -> tuple[float, float]:
    """Return the wall time and the processor time of one command, in seconds."""
    start, before = time.perf_counter(), os.times()
    subprocess.run(command, capture_output=True, check=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - start, used
