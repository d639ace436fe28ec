"""``make bench``: run every measure, or those named, print its table and keep it in docs/benchmarks.md."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import re
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.report import Report

NAMES = (
    "import_million",
    "pages_million",
    "slider",
    "answers",
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
LONG = ("amplitudes_plans", "calibration", "floors", "games", "jets_physics", "kills", "one_floor")
"""Measures of a quarter of an hour, which run only when they are named."""
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Measured by `make bench` (one name: `make bench ARGS=slider`). Times move with the machine; ratios against a floor or a
peer in the same run are what to compare.
"""


def main() -> None:
    """Run the measures named on the command line, all of them without a name."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join((*NAMES, *LONG)))
    names = parser.parse_args().names or NAMES
    unknown = [n for n in names if n not in (*NAMES, *LONG)]
    if unknown:
        parser.error(f"no measure is called {unknown[0]}: use {', '.join((*NAMES, *LONG))}")
    for name in names:
        report: Report = importlib.import_module(f"benchmarks.{name}").run()
        print(report.text(), flush=True)
        keep(name, report)


def keep(name: str, report: Report) -> None:
    """Replace the section of one measure in docs/benchmarks.md."""
    page = PAGE.read_text() if PAGE.exists() else HEAD
    where = f"{platform.machine()}, {len_cpus()} cores, Python {platform.python_version()}"
    stamp = f"{datetime.now(UTC):%Y-%m-%d}, {where}"
    section = f"<!-- {name} -->\n{report.markdown()}\n\n{stamp}\n<!-- /{name} -->\n"
    old = re.compile(rf"<!-- {name} -->.*?<!-- /{name} -->\n", re.DOTALL)
    page = old.sub(lambda _: section, page) if old.search(page) else page + "\n" + section
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page)


def len_cpus() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


if __name__ == "__main__":
    main()
