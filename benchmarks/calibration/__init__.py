"""Are the planner's probability statements right? Tables of known surfaces, planned with; writes docs/calibration.md.

Goes on where it was stopped: blocks of 100 tables are kept in build/calibration, all cases grow together.
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
"""Tables of each surface and of each other case, and refits of a table."""


def run() -> Report:
    """Fill the blocks that are not there yet, then write the page."""
    kernels.load()
    for block in range(TABLES // BLOCK):
        for case in CASES.values():
            most = TABLES if case.plain else OTHERS
            if block < most // BLOCK and not path(case.name, REFITS, block).exists():
                print(work(case.name, REFITS, block).stem, flush=True)
    PAGE.write_text(write(REFITS))
    return report(REFITS)
