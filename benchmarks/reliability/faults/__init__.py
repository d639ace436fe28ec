"""Faults of processes, disks, clocks and files.

Each trial reports an action, the expected outcome and the real outcome.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.report import Report


def run() -> Report:
    """Run all trials and report them. The trials of full and read-only disks run only for the user root."""
    from benchmarks.reliability.faults import checkpoints, clock, damage, disk, moments, named, places
    from benchmarks.reliability.faults.trial import rows

    parts = (damage, checkpoints, moments, named, clock, places, disk)
    results = []
    with tempfile.TemporaryDirectory(prefix="isoplan-") as name:
        for part in parts:
            results += part.trials(Path(name) / part.__name__.rpartition(".")[2])
    has_disks = any("disk" in trial.what for trial in results)
    note = "" if has_disks else " The trials of full disks need root and did not run."
    failed = sum(not trial.held for trial in results)
    return Report(
        f"{len(results)} faults of files, processes, disks, clocks and workspaces",
        f"{len(results) - failed} of {len(results)} trials have the expected outcome; any other outcome is bold. "
        "Trials with the same outcome share a row. The loss of each cell is compared to the last digit with the loss "
        "of an undisturbed cell. The trials of the clock change `time` and `datetime` in the processes of the trial, "
        "not the clock of the machine." + note,
        ("object", "faults", "expected outcome", "outcome"),
        rows(results),
    )
