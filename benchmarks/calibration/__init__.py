"""Calibration of the planner's probabilities, tested on simulated tables with known laws. Writes docs/calibration.md.

Results are stored in build/calibration, in blocks of 100 tables. A later run computes only the missing blocks. The
first blocks of all cases are computed before any second block.
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
"""TABLES: number of simulated tables for each loss surface. OTHERS: number for each other case. REFITS: refits per
table.
"""


def run() -> Report:
    """Simulate the missing blocks, write the page, and return the report."""
    kernels.load()
    for block in range(TABLES // BLOCK):
        for case in CASES.values():
            most = TABLES if case.plain else OTHERS
            if block < most // BLOCK and not path(case.name, REFITS, block).exists():
                print(work(case.name, REFITS, block).stem, flush=True)
    PAGE.write_text(write(REFITS))
    return report(REFITS)
