"""Which way is better is asked of the table, also of a map that describes a metric as it is."""

from __future__ import annotations

import numpy as np
import pytest

from data.catalogue import BUNDLED, Demo
from engine.errors import PlannerError
from engine.fitting import FitSpec, fit
from engine.fitting.possible import possible
from tests.data.bundled import runs_of

LARGER = [(demo, m.column) for demo in BUNDLED for m in demo.roles.metrics if m.direction == "max"]


@pytest.mark.parametrize(("demo", "metric"), LARGER, ids=[f"{demo.file}:{metric}" for demo, metric in LARGER])
def test_the_best_run_of_a_metric_is_the_largest(demo: Demo, metric: str) -> None:
    runs = runs_of(demo.name)
    if metric not in runs:
        return
    for law in ("metric-map", "power"):
        axis = "loss" if law == "metric-map" else "D"
        if axis not in runs:
            continue
        try:
            made = fit(FitSpec(law=law, axis=axis, y=metric, objective="ols", bootstrap=0), runs)
        except PlannerError:
            continue
        assert made.larger_is_better
        assert made.best_run == np.nanmax(runs[metric])
        low, high = possible(made)
        assert made.best_run is not None
        assert low <= made.best_run <= high
        if "@" in metric or metric == "accuracy":
            assert (low, high) == (0.0, 1.0)
