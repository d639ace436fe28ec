"""One trial of Optuna, and its conversion to a run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isoplan.engine.trackers.formats.nested import flat, scalar
from isoplan.engine.trackers.formats.times import from_text
from isoplan.engine.trackers.run import History, Scalar, State, TrackedRun

STATES: Mapping[str, State] = {"RUNNING": "running", "COMPLETE": "finished", "PRUNED": "pruned", "FAIL": "failed"}
"""State of the run by the state of the trial. ``WAITING`` trials have not started and are left out."""
METRIC_NAMES = "study:metric_names"
"""System attribute of a study that contains the names of its objectives."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One trial.

    ``params`` contains the stored number and the distribution (JSON) of each parameter. ``attributes`` are the user
    attributes, ``values`` are the final values of the objectives, and ``points`` are the intermediate values by step.
    ``metrics`` are the names of the objectives, or None if the study does not name them.
    """

    study: str
    number: int
    state: str
    start: str | None
    params: Mapping[str, tuple[float, str]]
    attributes: Mapping[str, Any]
    values: Sequence[float | None]
    points: Mapping[int, float]
    metrics: Sequence[str] | None = None


def as_run(key: str, trial: Trial) -> TrackedRun:
    """Convert a trial to a run with the id ``key``."""
    params = {name: choice for name, stored in trial.params.items() if (choice := _choice(*stored)) is not None}
    names = trial.metrics or (["value"] if len(trial.values) < 2 else [f"value_{i}" for i in range(len(trial.values))])
    return TrackedRun(
        key,
        f"{trial.study} {trial.number}",
        STATES[trial.state],
        from_text(trial.start),
        flat(trial.attributes) | params,
        {name: float(value) for name, value in zip(names, trial.values, strict=False) if value is not None},
        {"study": trial.study},
        {names[0]: _history(trial.points)} if trial.points else {},
    )


def _choice(number: float, distribution: str) -> Scalar | None:
    """Return the value of a parameter. Optuna stores a category as its index in the choices."""
    found = json.loads(distribution)
    if found.get("type", found.get("name")) in ("categorical", "CategoricalDistribution"):
        return scalar(found.get("attributes", found)["choices"][int(number)])
    return float(number)


def _history(points: Mapping[int, float]) -> History:
    steps = sorted(points)
    return History(np.array(steps, float), np.array([points[step] for step in steps], float))
