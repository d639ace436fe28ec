"""Load of the server: fifty browsers at once, and a thousand page loads.

The report contains the saved results, the response times, and the memory of the server.
"""

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
"""Maximum growth of the memory from page load number ``FIRST`` to the last one, as a fraction."""


def run() -> Report:
    """Run the browsers on one server, and the page loads on another one, and report."""
    sessions, server_memory, (fits, plans) = _run_sessions()
    memory = _run_loads()
    kinds = list(sessions[0].seconds)
    every = [x for one in sessions for x in one.seconds.values()]
    faults = [fault for one in sessions for fault in one.faults]
    for fault in faults:
        print(fault)
    before, after = server_memory
    growth = memory[-1] / memory[FIRST - 1] - 1
    return Report(
        f"{SESSIONS} browsers at once, and {LOADS:,} page loads",
        f"{SESSIONS} browsers with separate cookies take each step at the same moment: upload a table, map its loss, "
        f"fit with {REFITS} refits, save a plan. An interaction ends when its page is drawn. Browsers and server share "
        "the cores; animations are off, and times are exact to 0.1 s. The stopwatch may stop at the first answer of "
        "the server: the times of upload and of opening Plan, and the median of all interactions, are lower limits. "
        f"Then {LOADS:,} loads cover all pages; each load is a new session. Goals: all fits and plans are saved, no "
        f"error occurs, and the memory after the last load exceeds that after load {FIRST} by at most {MORE:.0%}.",
        ("what", "median", "p95", "longest"),
        (
            *(_times(kind, [one.seconds[kind] for one in sessions]) for kind in kinds),
            _times("all interactions", every),
            ("fits saved, each from its own table", f"{fits} of {SESSIONS}", "", ""),
            ("plans saved", f"{plans} of {SESSIONS}", "", ""),
            ("errors on a page and failed requests", str(len(faults)), "", ""),
            ("memory of the server before and after the browsers", f"{before:.0f} and {after:.0f} MB", "", ""),
            (f"memory of the server after loads {FIRST}, 500 and {LOADS:,}", _memory(memory), "", f"{growth:+.1%}"),
        ),
    )


def _run_sessions() -> tuple[list[Session], tuple[float, float], tuple[int, int]]:
    """Return the sessions, the memory of the server before and after in MB, and the numbers of saved fits and plans."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "workspace"
        with running(root) as server, sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium_path(), args=list(FLAGS))
            before = _process(server).memory_info().rss / 2**20
            with open_sessions(browser) as sessions:
                work(sessions, server.url)
            after = _process(server).memory_info().rss / 2**20
            browser.close()
        return sessions, (before, after), saved(root)


def _run_loads() -> list[float]:
    """Return the memory of the server after each page load, in MB."""
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
