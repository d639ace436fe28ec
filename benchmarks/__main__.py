"""``make bench``: run the named measures, or all short ones; print their tables and write them to docs/benchmarks.md.

A measure in ``benchmarks/reliability`` is named ``reliability.NAME``, and its table is written to docs/reliability.md.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import re
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.report import Report
from isoplan.engine.errors import PlannerError

NAMES = (
    "import_million",
    "imports",
    "pages",
    "pages_million",
    "slider",
    "story_slider",
    "answers",
    "next_cells_time",
    "curves",
    "scalebench",
    "early_stop",
    "start_up",
    "runtimes",
    "fitting",
    "formulas",
    "extrapolation",
    "parabolas",
    "verdicts",
    "data_sets",
    "envelope",
    "tiny_cells",
    "train_page",
    "jets_chain",
    "jets_training",
    "jets_laws",
    "behavior_training",
    "behavior_laws",
    "recipes",
    "amplitudes_rates",
    "amplitudes_events",
    "amplitudes_training",
    "amplitudes_laws",
)
LONG = (
    "amplitudes_plans",
    "autopilot",
    "autopilot_grids",
    "calibration",
    "floors",
    "games",
    "jets_physics",
    "next_cells",
    "next_cells_axis",
    "one_floor",
    "seeded_faults",
    "suite",
    "untuned",
)
"""Benchmarks that need a quarter of an hour or more. They run only if the command line names them."""
TRIALS = ("formulas", "files", "names", "commands", "faults", "kills", "backup", "load")
RELIABILITY = tuple(f"reliability.{name}" for name in TRIALS)
"""Trials that try to break the app: hostile input, killed processes, disk faults, many users.

They run only if the command line names them.
"""
OWN_PAGE = ("pages",)
"""Benchmarks with their own page in docs. The page has the name of the benchmark."""
DOCS = Path(__file__).parents[1] / "docs"
HEADS = {
    "benchmarks": """# Benchmarks

This page shows the speed of pages, fits and commands, and the errors of laws and plans on tables that were not used in
their fits. Each section states its goal. Times depend on the machine. Therefore compare only the ratios of Isoplan to
other programs in the same run. `make bench` measures all sections, and `make bench ARGS=slider` measures one.
""",
    "pages": """# Size of the pages

This page shows how many words a visitor reads before the first result of a page, and whether pages are accessible.
`make bench ARGS=pages` measures the numbers, and `tests/browser/test_pages.py` checks the limits.
""",
    "reliability": """# Reliability

This page contains deliberate attempts to break Isoplan, and their results: hostile files, killed processes, full disks,
many users. The goal is that no data are lost and that no error is unexpected. One script of `benchmarks/reliability`
writes each section (`make bench ARGS=reliability.files`). The fast scripts are also tests.
""",
}


def main() -> None:
    """Run the benchmarks that the command line names, or all short benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join((*NAMES, *LONG, *RELIABILITY)))
    parser.add_argument("--task", type=Path, help="table of a task of scalebench (CSV); needs --laws")
    parser.add_argument("--laws", type=Path, help="laws of the task (JSON); see docs/scalebench.md")
    given = parser.parse_args()
    names = given.names or NAMES
    unknown = [n for n in names if n not in (*NAMES, *LONG, *RELIABILITY)]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]}: use {', '.join((*NAMES, *LONG, *RELIABILITY))}")
    if given.task or given.laws:
        _replay(parser, given)
        return
    for name in names:
        report: Report = importlib.import_module(f"benchmarks.{name}").run()
        print(report.text(), flush=True)
        keep(name, report)


def _replay(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Print the report of the task of ScaleBench that the command line names. The report is not written into docs."""
    if given.names != ["scalebench"] or not (given.task and given.laws):
        parser.error("--task and --laws must be given together: use scalebench --task TABLE.csv --laws LAWS.json")
    try:
        print(importlib.import_module("benchmarks.scalebench").run(given.task, given.laws).text(), flush=True)
    except PlannerError as error:
        parser.error(str(error))


def keep(name: str, report: Report) -> None:
    """Write the report of the benchmark ``name`` into its page in docs. The report replaces the earlier report."""
    topic = name.partition(".")[0] if name in (*RELIABILITY, *OWN_PAGE) else "benchmarks"
    file = DOCS / f"{topic}.md"
    page = file.read_text() if file.exists() else HEADS[topic]
    where = f"{platform.machine()}, {len_cpus()} cores, Python {platform.python_version()}"
    stamp = f"{datetime.now(UTC):%Y-%m-%d}, {where}"
    section = f"<!-- {name} -->\n{report.markdown()}\n\n{stamp}\n<!-- /{name} -->\n"
    old = re.compile(rf"<!-- {re.escape(name)} -->.*?<!-- /{re.escape(name)} -->\n", re.DOTALL)
    page = old.sub(lambda _: section, page) if old.search(page) else page + "\n" + section
    file.write_text(page)


def len_cpus() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


if __name__ == "__main__":
    main()
