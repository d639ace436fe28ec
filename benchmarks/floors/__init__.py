"""Check of statements about a floor: tables with known floors, none pooled; writes docs/floors.md.

A later run continues: blocks of 50 tables are stored in build/floors, and all designs grow together.
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
    """Simulate the missing blocks, then write the page."""
    waiting = [(d.name, block) for block in range(TABLES // BLOCK) for d in DESIGNS if not path(d.name, block).exists()]
    with ProcessPoolExecutor(PROCESSES) as pool:
        for done in pool.map(work, *zip(*waiting, strict=True)) if waiting else ():
            print(done, flush=True)
    PAGE.write_text(write())
    return report()
