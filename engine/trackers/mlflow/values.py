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
"""System tags of MLflow that are imported. Other tags whose names begin with ``mlflow.`` are left out."""
SYSTEM_METRICS = "system/"
"""Prefix of system metrics, such as ``system/gpu_0_power_usage_watts``. System metrics are left out."""
NAME_TAG = "mlflow.runName"
"""Tag with the name of a run. Some stores record the name only in this tag."""


def imported_tag(key: str) -> bool:
    """Return whether a tag is imported."""
    return not key.startswith("mlflow.") or key in SYSTEM_TAGS


def settings(params: Iterable[tuple[str, str]]) -> dict[str, Scalar]:
    """Convert params from text to numbers and truth values where possible. Empty params are left out."""
    return {key: number(text) for key, text in islice(params, MAX_VALUES) if text}


def labels(experiment: str, tags: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the imported tags of a run, and the name of its experiment as the tag ``experiment``."""
    own = {key: text[:MAX_LENGTH] for key, text in islice(tags, MAX_VALUES) if imported_tag(key) and text}
    return own | {"experiment": experiment}


def history(steps: Floats, times: Floats, values: Floats) -> History:
    """Return logged values as a history: steps increase, and each step has its last value.

    The arguments are arrays (n,). If two values have the same step and time, the larger one is used, as in MLflow.
    Databases of MLflow store infinity as the largest finite number.
    """
    infinite = np.abs(values) >= sys.float_info.max
    values = np.where(infinite, np.copysign(np.inf, values), values)
    order = np.lexsort((values, times))
    return by_step(steps[order], values[order])


def created(milliseconds: float | None) -> datetime | None:
    """Convert a time of MLflow (milliseconds since 1970) to a date in UTC. Return None if the time is missing or 0."""
    return from_seconds(milliseconds / 1000) if milliseconds else None
