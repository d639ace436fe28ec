"""Checks in a real browser of a workspace in which every name attacks the pages.

Each page is checked for executed scripts, requests to other hosts, and changed texts.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page

from benchmarks.browser import browser, ready
from benchmarks.reliability.names.actions import perform
from benchmarks.reliability.names.hostile import NAMES
from benchmarks.reliability.names.space import Space, make
from benchmarks.reliability.names.visit import addresses
from benchmarks.reliability.names.watch import Watch
from benchmarks.report import Report
from tests.server import running

TALL = 2600
"""Height of the browser window in pixels, so that a whole page is visible."""
PATIENCE = 600_000.0
"""Maximum loading time of a page in milliseconds."""


def run() -> Report:
    """Check every page, then do the actions of a user and check their results."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "workspace"
        space = make(root)
        train(root)
        with running(root) as server, browser() as page:
            watch = Watch(server.url)
            look(page, server.url, space, watch)
            count = watch.pages
            perform(page, server.url, space, watch, Path(name))
    for problem in (*watch.wrong, *watch.outside, *watch.dialogs):
        print(problem)
    scripts = sum("a script ran" in problem for problem in watch.wrong)
    elements = sum(": <" in problem for problem in watch.wrong)
    return Report(
        f"{len(NAMES)} hostile names on every page",
        "The names contain scripts, HTML, Markdown, LaTeX, HTML and templates of Plotly, links, emoji codes and "
        "symbols. Files, columns, runs, groups, fits, notes, plans, results, answers, sweeps, programs, their fields, "
        "formulas, filters and links contain them. Goal: no script runs, no request goes to another host, and each "
        "name is shown as typed or cut with an ellipsis. Labels of points, help texts and exported SVG, Markdown and "
        "LaTeX are checked too.",
        ("what", "count"),
        (
            ("addresses opened and checked", str(count)),
            ("forms, menus and exports tried and checked", str(watch.pages - count)),
            ("names shown", f"{len(watch.seen)} of {len(NAMES)}, {watch.shown:,} times"),
            ("scripts that ran and dialogs that opened", str(scripts + len(watch.dialogs))),
            ("requests to another host", str(len(watch.outside))),
            ("pictures, links and handlers created from a name", str(elements)),
            ("names shown differently than typed", str(len(watch.wrong) - scripts - elements)),
        ),
    )


def train(root: Path) -> None:
    """Train the cells of the grid with hostile names, so that the workspace has their table, curves and logs."""
    isoplan = str(Path(sys.executable).with_name("isoplan"))
    command = [isoplan, "train", str(root / "grid.toml"), "--workspace", str(root)]
    subprocess.run(command, check=True, capture_output=True)


def look(page: Page, address: str, space: Space, watch: Watch) -> None:
    """Open every page of the workspace and check it."""
    page.set_viewport_size({"width": 1440, "height": TALL})
    page.set_default_timeout(PATIENCE)
    watch.follow(page)
    for name, path in addresses(space):
        page.goto(f"{address}/{path}")
        ready(page)
        watch.look(page, name)
