"""Scaling laws of the bundled jets grids, compared with the jets paper. Writes docs/jets_laws.md and its figures."""

from __future__ import annotations

from pathlib import Path

from benchmarks.jets_laws.figures import figures
from benchmarks.jets_laws.page import report, write
from benchmarks.pictures import draw
from benchmarks.report import Report

PAGE = Path(__file__).parents[2] / "docs" / "jets_laws.md"


def run() -> Report:
    """Fit the laws, draw docs/images/jets_law_*.png, and write the page.

    The returned report states how well the laws predict the cells (training runs) with the largest compute.
    """
    draw(figures())
    PAGE.write_text(write())
    return report()
