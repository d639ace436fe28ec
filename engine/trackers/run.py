"""Tracked runs: training runs that are recorded by an experiment tracker or in a folder of logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

import numpy as np

from isoplan.engine.arrays import Floats

State = Literal["finished", "running", "failed", "killed", "pruned", "unknown"]
"""State of a run. ``unknown`` means that the source does not record the state."""
Scalar = float | str | bool
"""A value of a setting or a metric. Integers are stored as floats."""


@dataclass(frozen=True, eq=False)
class History:
    """Values (n,) of one metric during the training of a run, and the steps (n,) at which they were logged."""

    steps: Floats
    values: Floats


def by_step(steps: Floats, values: Floats) -> History:
    """Return the history, with increasing steps, of values (n,) that are given in the order of logging.

    If a step has several values, the last one is used. Values at a step that is not finite are left out.
    """
    kept = np.isfinite(steps)
    order = np.argsort(steps[kept], kind="stable")
    steps, values = steps[kept][order], values[kept][order]
    last = np.append(steps[1:] != steps[:-1], True)[: len(steps)]
    return History(steps[last], values[last])


@dataclass(frozen=True, eq=False)
class TrackedRun:
    """One run of a tracker.

    ``id`` is unique in its source, and ``name`` is the name that users see. ``config`` are the settings, ``summary``
    are the final values of metrics, and ``tags`` are other labels. Names of nested settings are joined with points, as
    in ``optimizer.lr``. ``histories`` are the logged values by metric.
    """

    id: str
    name: str
    state: State = "unknown"
    created: datetime | None = None
    config: Mapping[str, Scalar] = field(default_factory=dict)
    summary: Mapping[str, Scalar] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    histories: Mapping[str, History] = field(default_factory=dict)
