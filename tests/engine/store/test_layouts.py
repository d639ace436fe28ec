"""Workspaces of other versions: older ones are copied and migrated; newer ones are refused and not changed."""

from __future__ import annotations

from pathlib import Path

from benchmarks.reliability.faults import moments, places


def test_workspaces_of_every_earlier_layout_are_opened(tmp_path: Path) -> None:
    trials = list(places.older_layouts(tmp_path))
    assert [(trial.done, trial.happened) for trial in trials] == [
        (f"layout {number}", "the same tables, a copy") for number in sorted(moments.OLDER)
    ]


def test_workspaces_of_a_newer_version_are_refused_and_unchanged(tmp_path: Path) -> None:
    for trial in places.newer_layouts(tmp_path):
        assert trial.happened == trial.expected, trial.done
