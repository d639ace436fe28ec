"""Tests of the error of a parameter (±): tables, files and JSON contain the same error."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from isoplan.engine.fitting import FitSpec, fit, read_fit, to_json
from isoplan.engine.fitting.types.result import Parameter
from isoplan.engine.schema import Metric
from tests.engine.fitting.tables import make_runs
from tests.engine.planning.conftest import EPOCH, make_fit, scattered


@pytest.mark.parametrize(
    ("parameter", "error"),
    [
        (Parameter("A", 194.0, 1_979_902.0, (91.0, 512.0), (40.0, 9e6)), 210.5),
        (Parameter("E", 0.19, 0.2, (-math.inf, 0.39), (-math.inf, 0.52)), None),
        (Parameter("E", 1.69, 0.05), 0.05),
        (Parameter("E", 0.0, fixed=True), None),
    ],
)
def test_the_error_is_half_the_interval_and_else_what_was_published(parameter: Parameter, error: float | None) -> None:
    assert parameter.error == error


def test_json_and_tables_have_the_error_that_is_printed() -> None:
    """The error ± is half the 68 % interval, because a few outlying refits would inflate the standard deviation."""
    made = make_fit(EPOCH, scattered(EPOCH, 100))
    draws = made.resamples.copy()
    draws[:3, 1] = 1e9
    known = {"E": (-math.inf, 1.9), "A": (420.0, 540.0)}
    parameters = tuple(
        replace(p, se=float(np.std(draws[:, i])), ci68=known.get(p.name, (0.9 * p.value, 1.1 * p.value)))
        for i, p in enumerate(made.parameters)
    )
    wild = replace(made, resamples=draws, parameters=parameters)
    raw = json.loads(json.dumps(to_json(wild), allow_nan=False))["parameters"]
    assert (raw["A"]["se"], raw["E"]["se"]) == (60.0, None)
    assert {row["parameter"]: row["error"] for row in wild.rows}["A"] == 60.0
    assert {row["parameter"]: row["text"] for row in wild.rows}["A"] == "478"
    again = read_fit(json.loads(json.dumps(to_json(wild))))
    assert [p.error for p in again.parameters] == [p.error for p in wild.parameters]
    assert not any(p.fixed for p in again.parameters)
    assert float(np.std(again.draws["A"])) > 1e8


def test_a_map_levels_off_to_a_value_that_its_metric_can_have() -> None:
    """Runs far above the level C constrain C weakly. Each interval end of C is infinite or a possible value (>= 1)."""
    loss = np.linspace(0.75, 1.1, 19)
    noise = np.exp(np.random.default_rng(3).normal(0, 0.2, 19))
    runs = make_runs({"loss": loss, "R_top": (5e3 * np.exp(-4.5 * loss) + 12) * noise},
                     metrics=(Metric(column="R_top", direction="max"),))  # fmt: skip
    made = fit(FitSpec(law="metric-map", axis="loss", y="R_top", bootstrap=300), runs)
    C = {p.name: p for p in made.parameters}["C"]
    assert float(np.mean(made.draws["C"] < 1)) > 0.025
    assert C.ci95 is not None
    assert C.ci95[0] == -math.inf
    assert C.ci68 is not None
    assert C.ci68[0] >= 1 or math.isinf(C.ci68[0])
    raw = to_json(made)["parameters"]["C"]
    assert raw["ci95"][0] is None
