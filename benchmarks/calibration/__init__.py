"""Calibration of the planner's probabilities: plans from tables of known surfaces; writes docs/calibration.md.

A later run continues: blocks of 100 tables are stored in build/calibration, and all cases grow together.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.calibration.cases import CASES
from benchmarks.calibration.page import report, write
from benchmarks.calibration.simulate import BLOCK, path, work
from benchmarks.report import Report
from isoplan.engine.fitting.solver import kernels

PAGE = Path(__file__).parents[2] / "docs" / "calibration.md"
TABLES, OTHERS, REFITS = 2000, 1000, 200
"""Number of tables of each surface, of tables of each other case, and of refits of a table."""


def run() -> Report:
    """Simulate the missing blocks, then write the page."""
    kernels.load()
    for block in range(TABLES // BLOCK):
        for case in CASES.values():
            most = TABLES if case.plain else OTHERS
            if block < most // BLOCK and not path(case.name, REFITS, block).exists():
                print(work(case.name, REFITS, block).stem, flush=True)
    PAGE.write_text(write(REFITS))
    return report(REFITS)
