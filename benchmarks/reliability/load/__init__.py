"""Fifty browsers at once, and a thousand page loads: whether everything is saved, how long it takes, what it costs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import psutil
from playwright.sync_api import sync_playwright

from benchmarks.browser import FLAGS, chromium_path
from benchmarks.reliability.load.browsers import REFITS, SESSIONS, Session, open_sessions, saved, work
from benchmarks.reliability.load.pages import FIRST, LOADS, fill, loads
from benchmarks.report import Report, quantile
from benchmarks.tables import write_runs
from tests.server import Server, running

RUNS = 245
MORE = 0.1
"""By how much the memory may grow between load ``FIRST`` and the last."""


def run() -> Report:
    """The sessions on one server, the loads on another."""
    at_once, before, after = _at_once()
    memory = _loaded()
    kinds = list(at_once[0].seconds)
    every = [x for one in at_once for x in one.seconds.values()]
    faults = [fault for one in at_once for fault in one.faults]
    for fault in faults:
        print(fault)
    fits, plans = after
    grown = memory[-1] / memory[FIRST - 1] - 1
    return Report(
        f"{SESSIONS} browsers at once, and {LOADS:,} page loads",
        f"{SESSIONS} browsers, each with cookies of its own, take every step at the same moment: upload a table, map "
        f"its loss, fit with {REFITS} refits, save a plan. An interaction ends when its page is drawn; browsers and "
        f"server share the cores. Then {LOADS:,} loads of all pages, each a new session. Goals: all saved, no error; "
        f"memory after the last load within {MORE:.0%} of that after load {FIRST}.",
        ("what", "median", "p95", "longest"),
        (
            *(_times(kind, [one.seconds[kind] for one in at_once]) for kind in kinds),
            _times("all interactions", every),
            ("fits saved, each of its own table", f"{fits} of {SESSIONS}", "", ""),
            ("plans saved", f"{plans} of {SESSIONS}", "", ""),
            ("errors on a page, failed answers", str(len(faults)), "", ""),
            ("memory of the server before and after the browsers", f"{before[0]:.0f} and {before[1]:.0f} MB", "", ""),
            (f"memory after load {FIRST}, 500 and {LOADS:,}", _memory(memory), "", f"{grown:+.1%}"),
        ),
    )


def _at_once() -> tuple[list[Session], tuple[float, float], tuple[int, int]]:
    """The sessions, the server's memory in MB before and after, and how many fits and plans are saved."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "workspace"
        with running(root) as server, sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium_path(), args=list(FLAGS))
            before = _process(server).memory_info().rss / 2**20
            with open_sessions(browser) as opened:
                work(opened, server.url)
            after = _process(server).memory_info().rss / 2**20
            browser.close()
        return opened, (before, after), saved(root)


def _loaded() -> list[float]:
    """The server's memory in MB after each load."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "workspace"
        paths = fill(root, write_runs(Path(name) / "runs.csv", RUNS))
        with running(root) as server, sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium_path(), args=list(FLAGS))
            memory = list(loads(browser, server.url, paths, _process(server)))
            browser.close()
    return memory


def _process(server: Server) -> psutil.Process:
    return psutil.Process(server.process.pid)


def _times(kind: str, seconds: list[float]) -> tuple[str, ...]:
    return kind, *(f"{x:.1f} s" for x in (quantile(seconds, 0.5), quantile(seconds, 0.95), max(seconds)))


def _memory(memory: list[float]) -> str:
    return ", ".join(f"{memory[at - 1]:.0f}" for at in (FIRST, 500, LOADS)) + " MB"
