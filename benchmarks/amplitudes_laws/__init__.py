"""Scaling laws of the bundled amplitude grids, compared with the amplitudes paper. Writes docs/amplitudes_laws.md."""

from __future__ import annotations

from pathlib import Path

from benchmarks.amplitudes_laws import laws
from benchmarks.amplitudes_laws.figures import figures
from benchmarks.amplitudes_laws.page import report, write
from benchmarks.pictures import draw
from benchmarks.report import Report

PAGE = Path(__file__).parents[2] / "docs" / "amplitudes_laws.md"


def run() -> Report:
    """Fit the laws, draw docs/images/amplitudes_law_*.png, write the page, and return a report.

    If no grid is trained, nothing is written and the report says so.
    """
    if laws.trained(laws.GRIDS):
        draw(figures(laws.GRIDS))
        PAGE.write_text(write(laws.GRIDS))
    return report(laws.GRIDS)
