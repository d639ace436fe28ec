"""The better direction of a metric (min or max) is read from the table. Maps to the metric use the same direction."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoplan.app.commands.shared.reading import read_map, read_table
from isoplan.data.catalogue import BUNDLED, Demo
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.types.possible_values import possible
from isoplan.engine.schema import Runs
from isoplan.engine.store.columns.directions import split_direction
from tests.data.bundled import runs_of

METRICS = [(demo, m.column, m.direction) for demo in BUNDLED for m in demo.roles.metrics]


@pytest.mark.parametrize(("demo", "metric", "direction"), METRICS, ids=[f"{d.file}:{name}" for d, name, _ in METRICS])
def test_the_best_run_of_a_metric_is_the_one_in_its_direction(demo: Demo, metric: str, direction: str) -> None:
    runs = runs_of(demo.name)
    if metric not in runs:
        return
    for law, axis in (("metric-map", "loss"), ("power", "D")):
        if axis not in runs:
            continue
        try:
            made = fit(FitSpec(law=law, axis=axis, y=metric, objective="ols", bootstrap=0), runs)
        except PlannerError:
            continue
        assert made.larger_is_better == (direction == "max")
        assert made.best_run == (np.nanmax if direction == "max" else np.nanmin)(runs[metric])
        low, high = possible(made)
        assert made.best_run is not None
        assert low <= made.best_run <= high
        if direction == "max" and ("@" in metric or metric == "accuracy"):
            assert (low, high) == (0.0, 1.0)


def _read(table: Path, y: str, mapping: str = "") -> Runs:
    """Read the runs of a table in the same way as the command ``isoplan fit --y``."""
    column, direction = split_direction(y)
    return read_table(table, read_map([mapping] if mapping else [], column), (column, direction), "", ComputeRule(),
                      repeats="all", convert=None, sheet=None, inner=None)  # fmt: skip


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "runs.csv"
    rows = [f"{1e6 * i:g},{1e8 * i:g},{3 / i:g},{10 * i:g},{i:g},{i / 20:g},{5 / i:g}" for i in range(1, 11)]
    path.write_text("\n".join(["N,D,loss,seconds,rise,top1_accuracy,word_error", *rows]))
    return path


@pytest.mark.parametrize("column", ["seconds", "rise", "D"])
def test_a_name_that_says_nothing_of_its_direction_is_asked(table: Path, column: str) -> None:
    text = (
        f"Option --y: the better direction of '{column}' is not known. Write --y='{column}:min' or --y='{column}:max'."
    )
    with pytest.raises(PlannerError) as error:
        _read(table, column)
    assert str(error.value) == text
    for direction in ("min", "max"):
        assert _read(table, f"{column}:{direction}").roles.direction(column) == direction


@pytest.mark.parametrize(("column", "direction"), [("top1_accuracy", "max"), ("word_error", "min")])
def test_a_name_that_says_its_direction_is_taken(table: Path, column: str, direction: str) -> None:
    assert _read(table, column).roles.direction(column) == direction
    made = fit(FitSpec(law="power", axis="N", y=column, objective="ols", bootstrap=0), _read(table, column))
    assert made.larger_is_better == (direction == "max")


def test_a_law_of_seconds_has_its_fastest_run_as_best(table: Path) -> None:
    made = fit(FitSpec(law="power", axis="N", y="seconds", objective="ols", bootstrap=0), _read(table, "seconds:min"))
    assert made.best_run == 10.0
