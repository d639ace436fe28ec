"""Rules for the values of MLflow that do not depend on the kind of store: states, tags, params, times and metrics."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.trackers.formats.nested import MAX_LENGTH, MAX_VALUES, number
from isoplan.engine.trackers.formats.times import from_seconds
from isoplan.engine.trackers.run import History, Scalar, State, by_step

STATES: Mapping[str, State] = {
    "SCHEDULED": "running",
    "RUNNING": "running",
    "FINISHED": "finished",
    "FAILED": "failed",
    "KILLED": "killed",
}
"""The state of a run by its status in MLflow."""
SYSTEM_TAGS = ("mlflow.source.name", "mlflow.source.git.commit", "mlflow.parentRunId")
"""Tags of MLflow itself that are imported. The other tags that begin with ``mlflow.`` are left out."""
SYSTEM_METRICS = "system/"
"""Beginning of the names of metrics of the machine, such as ``system/gpu_0_power_usage_watts``. They are left out."""
NAME_TAG = "mlflow.runName"
"""Tag with the name of a run, in stores that do not record it elsewhere."""


def imported_tag(key: str) -> bool:
    """Return whether a tag is imported."""
    return not key.startswith("mlflow.") or key in SYSTEM_TAGS


def settings(params: Iterable[tuple[str, str]]) -> dict[str, Scalar]:
    """Return params, which MLflow stores as text, as numbers, truth values and text. Empty params are left out."""
    return {key: number(text) for key, text in islice(params, MAX_VALUES) if text}


def labels(experiment: str, tags: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the imported tags of a run, and the name of its experiment as the tag ``experiment``."""
    own = {key: text[:MAX_LENGTH] for key, text in islice(tags, MAX_VALUES) if imported_tag(key) and text}
    return own | {"experiment": experiment}


def history(steps: Floats, times: Floats, values: Floats) -> History:
    """Return logged values as a history with increasing steps, and with the last value at each step.

    The arguments are arrays (n,). Of two values with the same step and time, the larger one counts, as in MLflow.
    Databases of MLflow contain the largest finite number in place of infinity.
    """
    infinite = np.abs(values) >= sys.float_info.max
    values = np.where(infinite, np.copysign(np.inf, values), values)
    order = np.lexsort((values, times))
    return by_step(steps[order], values[order])


def created(milliseconds: float | None) -> datetime | None:
    """Return a time of MLflow (milliseconds since 1970) as a date in UTC, or None if there is none."""
    return from_seconds(milliseconds / 1000) if milliseconds else None
