"""Tests that kill the process of each operation on a workspace, once at each step of the operation.

After a crash, the workspace is in the state before or after the operation. Repeating the operation gives the same
result.
"""

from __future__ import annotations

import pytest

from benchmarks.reliability.faults import moments
from benchmarks.reliability.faults.trial import Trial


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> list[Trial]:
    """Return one trial for each step of each operation. In the trial, the process is killed at that step."""
    return moments.trials(tmp_path_factory.mktemp("moments"))


@pytest.mark.parametrize("operation", moments.CASES)
def test_whoever_dies_wherever_leaves_a_whole_workspace(tried: list[Trial], operation: str) -> None:
    found = [trial for trial in tried if trial.what == f"a process that would {operation} is killed"]
    assert [(trial.done, trial.happened) for trial in found if not trial.held] == []
    assert len(found) >= 3
