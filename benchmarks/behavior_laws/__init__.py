"""What the bundled sweeps of recommender cells say, beside the paper: writes docs/behavior_laws.md and its figures."""

from __future__ import annotations

from pathlib import Path

from benchmarks.behavior_laws.figures import figures
from benchmarks.behavior_laws.page import report, write
from benchmarks.pictures import draw
from benchmarks.report import Report
from data import trained

PAGE = Path(__file__).parents[2] / "docs" / "behavior_laws.md"


def run() -> Report:
    """Read the tables, draw docs/images/behavior_law_*.png, write the page; without any table only say so."""
    if any(trained.rows(trained.FOLDER, sweep) for sweep in trained.SWEEPS.values()):
        draw(figures(trained.FOLDER))
        PAGE.write_text(write(trained.FOLDER))
    return report(trained.FOLDER)
