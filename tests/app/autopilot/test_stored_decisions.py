"""The lock of an autopilot: one process at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoplan.app.autopilot.specification import Specification
from isoplan.app.autopilot.stored_decisions import only_here
from isoplan.engine.errors import PlannerError


def test_one_autopilot_runs_in_one_process_at_a_time(tmp_path: Path) -> None:
    spec, other = (Specification(family="jets", cells=("a", "b"), budget=1e13, seed=seed) for seed in (0, 1))
    with (
        only_here(tmp_path, spec.key),
        only_here(tmp_path, other.key),
        pytest.raises(PlannerError, match="runs in another process"),
        only_here(tmp_path, spec.key),
    ):
        pass
    with only_here(tmp_path, spec.key):
        pass
