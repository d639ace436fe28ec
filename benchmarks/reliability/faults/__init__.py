"""Faults of the machine and of files: what was done, what is expected, what happened; one trial after the other."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.report import Report


def run() -> Report:
    """Try everything that this user may: without root no disk is filled."""
    from benchmarks.reliability.faults import checkpoints, clock, damage, disk, moments, named, places
    from benchmarks.reliability.faults.trial import rows

    parts = (damage, checkpoints, moments, named, clock, places, disk)
    found = []
    with tempfile.TemporaryDirectory(prefix="isoplan-") as name:
        for part in parts:
            found += part.trials(Path(name) / part.__name__.rpartition(".")[2])
    disks = "" if any("disk" in trial.what for trial in found) else " No disk was filled: that needs root."
    failed = sum(not trial.held for trial in found)
    return Report(
        f"{len(found)} faults of files, processes, disks, clocks and places",
        f"One row for trials with one outcome. {len(found) - failed} of {len(found)} trials went as "
        "expected; what did not is bold. Cells are compared to the last digit with cells that nothing happened to. The "
        "clock is that of the trial's processes (`time` and `datetime`), not the machine's." + disks,
        ("what", "done", "expected", "happened"),
        rows(found),
    )
