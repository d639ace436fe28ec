"""From a grid to cells in the queue, and a runner that takes them up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from trainers.backend import sweep
from trainers.backend.life import is_held
from trainers.backend.record import CELLS
from trainers.backend.runner import LOCK
from trainers.backend.sweep import Sweep
from trainers.cell import Family
from trainers.grid import Grid


def launch(root: Path, grid: Grid, family: Family[Any]) -> Sweep:
    """Put the cells of a grid into the queue and start a runner where none is at work; the sweep that they are."""
    made = sweep.launch(root, grid, family)
    _run(root)
    return made


def _run(root: Path) -> None:
    if is_held(root / CELLS / LOCK):
        return
    (root / "logs").mkdir(exist_ok=True)
    with (root / "logs" / "runner.log").open("ab") as log:
        subprocess.Popen(
            [sys.executable, "-P", "-m", "trainers.backend.runner", "--workspace", str(root)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
