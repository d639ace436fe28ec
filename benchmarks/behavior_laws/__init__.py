"""Laws of the bundled sweeps of recommender cells compared with the paper: docs/behavior_laws*.md and figures."""

from __future__ import annotations

from pathlib import Path

from benchmarks.behavior_laws.figures import figures
from benchmarks.behavior_laws.page import report, write
from benchmarks.pictures import draw
from benchmarks.report import Report
from isoplan.data import trained

DOCS = Path(__file__).parents[2] / "docs"
PAGES = dict(zip(trained.LOGS, ("behavior_laws", "behavior_laws_games"), strict=True))


def run() -> Report:
    """Read the tables, draw docs/images/behavior_laws*.png and write a page per log; without a table report that."""
    for log, folder in trained.LOGS.items():
        stem = PAGES[log]
        if any(trained.rows(folder, sweep) for sweep in trained.SWEEPS.values()):
            draw({f"{stem}_{name}": figure for name, figure in figures(folder).items()})
            (DOCS / f"{stem}.md").write_text(write(folder, log, stem), "utf-8")
    return report(trained.LOGS)
