"""Scaling laws of the bundled recommender sweeps, compared with the paper. Writes docs/behavior_laws*.md."""

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
    """Read the tables, draw docs/images/behavior_laws*.png, write one page per event log, and return a report.

    If no sweep is trained, the report says so.
    """
    for log, folder in trained.LOGS.items():
        stem = PAGES[log]
        if any(trained.rows(folder, sweep) for sweep in trained.SWEEPS.values()):
            draw({f"{stem}_{name}": figure for name, figure in figures(folder).items()})
            (DOCS / f"{stem}.md").write_text(write(folder, log, stem), "utf-8")
    return report(trained.LOGS)
