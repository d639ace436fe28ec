"""A workspace in which every name is hostile, in a real browser: what runs, what is fetched, and what is shown."""

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
"""Height of the window, so that a whole page is in it."""
PATIENCE = 600_000.0
"""Milliseconds after which a page counts as standing still."""


def run() -> Report:
    """Look at every page, then do what users do, and look again."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "workspace"
        space = make(root)
        train(root)
        with running(root) as server, browser() as page:
            watch = Watch(server.url)
            look(page, server.url, space, watch)
            visited = watch.pages
            perform(page, server.url, space, watch, Path(name))
    for what in (*watch.wrong, *watch.outside, *watch.dialogs):
        print(what)
    scripts = sum("a script ran" in what for what in watch.wrong)
    made = sum(": <" in what for what in watch.wrong)
    return Report(
        f"{len(NAMES)} hostile names on every page",
        "Scripts, HTML, Markdown, LaTeX, Plotly's HTML and templates, links, emoji codes and signs, as names of files, "
        "columns, runs, groups, fits, notes, plans, results, answers, sweeps, programs and their fields, in formulas, "
        "filters and links. Goal: nothing runs, nothing is fetched from elsewhere, and each text is shown as it was "
        "typed or cut with an ellipsis; labels of points, help, exported SVG, Markdown and LaTeX count too.",
        ("what", "count"),
        (
            ("addresses that were opened and looked at", str(visited)),
            ("forms, menus and exports after which pages and files were looked at", str(watch.pages - visited)),
            ("names that were seen", f"{len(watch.seen)} of {len(NAMES)}, {watch.shown:,} times"),
            ("scripts that ran, dialogs", str(scripts + len(watch.dialogs))),
            ("requests to another host", str(len(watch.outside))),
            ("elements that a name became: pictures, links, handlers", str(made)),
            ("texts that were shown otherwise than typed", str(len(watch.wrong) - scripts - made)),
        ),
    )


def train(root: Path) -> None:
    """Train the cells of the hostile grid, so that they have a table, curves and logs."""
    isoplan = str(Path(sys.executable).with_name("isoplan"))
    command = [isoplan, "train", str(root / "grid.toml"), "--workspace", str(root)]
    subprocess.run(command, check=True, capture_output=True)


def look(page: Page, address: str, space: Space, watch: Watch) -> None:
    """Open every address of the workspace and look at it."""
    page.set_viewport_size({"width": 1440, "height": TALL})
    page.set_default_timeout(PATIENCE)
    watch.follow(page)
    for name, path in addresses(space):
        page.goto(f"{address}/{path}")
        ready(page)
        watch.look(page, name)
