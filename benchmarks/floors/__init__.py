"""Test of statements about the floor (the irreducible loss), on simulated tables with known floors.

Writes docs/floors.md, with results for each design separately. Results are stored in build/floors, in blocks of 50
tables. A later run computes only the missing blocks. The first blocks of all designs are computed before any second
block.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.floors.designs import DESIGNS
from benchmarks.floors.page import report, write
from benchmarks.floors.simulate import BLOCK, path, work
from benchmarks.report import Report

PAGE = Path(__file__).parents[2] / "docs" / "floors.md"
TABLES, PROCESSES = 500, 2


def run() -> Report:
    """Simulate the missing blocks, write the page, and return the report."""
    waiting = [(d.name, block) for block in range(TABLES // BLOCK) for d in DESIGNS if not path(d.name, block).exists()]
    with ProcessPoolExecutor(PROCESSES) as pool:
        for done in pool.map(work, *zip(*waiting, strict=True)) if waiting else ():
            print(done, flush=True)
    PAGE.write_text(write())
    return report()
