"""Fixtures and options shared by all test folders."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import settings

from tests import parts

# Tests share a busy machine with browsers and workers, so a limit on the time of one example would fail at random.
settings.register_profile("isoplan", deadline=None)
settings.load_profile("isoplan")

# If a shell runs pytest in the background, pytest and its child processes ignore SIGINT (Ctrl-C). Restore the usual
# reaction to SIGINT, because some tests interrupt their child processes.
signal.signal(signal.SIGINT, signal.default_int_handler)

TESTS = Path(__file__).parent
ROOT = TESTS.parent
SHARED = Path(__file__).parents[2] / "shared"
MAIN = sys.modules["__main__"]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Restore ``__main__``. A Streamlit page replaces this module, and every spawned process imports it again."""
    sys.modules["__main__"] = MAIN


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option ``--part``, which selects one of the two parts of the test suite."""
    parser.addoption("--part", choices=get_args(parts.Part), default="all", help="a part of the suite: tests/parts.py")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore files without a test in the selected part of the suite."""
    if collection_path.suffix != ".py":
        return None
    return parts.ignored(collection_path.relative_to(TESTS), config.getoption("part")) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that are not in the selected part of the suite."""
    part = config.getoption("part")
    left_out = [item for item in items if not parts.selected(item.path.relative_to(TESTS), item.name, part)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return the number of cores plus one.

    Many tests wait for a browser, a server or a worker, and their core is idle. The additional process uses this core.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 1


class FailedTests:
    """Plugin that prints the name and the reason of each failed test at once.

    A test run that is interrupted prints no summary.
    """

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self.terminal = terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.terminal.ensure_newline()
            self.terminal.write_line(f"FAILED {report.nodeid} ({report.when})\n{report.longreprtext[-2000:]}")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin ``FailedTests`` in the main process of the test run, which writes to the terminal."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        config.pluginmanager.register(FailedTests(terminal))


def skip_or_fail(what: str, reason: str) -> None:
    """Skip the test, or fail it if ``ISOPLAN_STRICT`` contains ``what`` (browser, slurm, shared, root, trackers)."""
    if what in os.environ.get("ISOPLAN_STRICT", "").split(","):
        pytest.fail(f"{reason} (ISOPLAN_STRICT asks for {what})")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of published run tables next to the checkout, or skip the test if the folder does not exist."""
    if not (SHARED / "runs").is_dir():
        skip_or_fail("shared", "the folder of published run tables is not beside this checkout")
    return SHARED


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of this checkout and return its path.

    The wheel is built from a copy of the checkout. The ``build`` folder of an earlier build is therefore not included.
    """
    source = tmp_path_factory.mktemp("source")
    for name in ("isoplan", "app", "engine", "trainers", "data", "tests"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(source / "dist"),
        str(source),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return next((source / "dist").glob("isoplan-*.whl"))


@pytest.fixture(scope="session")
def installed(wheel: Path) -> Iterator[Path]:
    """Install the package as ``pip install`` does, outside this checkout, with the dependencies of this Python.

    The installation is in a folder that all users of the machine can read. Folders of pytest are private.
    """
    with tempfile.TemporaryDirectory(prefix="isoplan-") as folder:
        Path(folder).chmod(0o755)
        target = Path(folder) / "installed"
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            "--target",
            str(target),
        ]
        subprocess.run([*command, str(wheel)], check=True, capture_output=True)
        yield target
