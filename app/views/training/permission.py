"""Whether the pages may train cells (training runs) in this workspace."""

from __future__ import annotations

from isoplan.app import workspace
from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.runner.runner_process import need_cluster

SHARED = "Training is off on a shared server: start Isoplan on your own machine to train."


def why_not() -> str:
    """Return the reason why training is not possible, as one sentence; "" if training is possible."""
    if not workspace.settings().training:
        return SHARED
    try:
        need_cluster()
    except PlannerError as error:
        return str(error)
    return ""
