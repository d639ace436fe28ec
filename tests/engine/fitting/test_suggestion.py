"""Tests of the suggested objective of a fit, used if the user chooses none."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.engine.fitting import FitSpec
from isoplan.engine.fitting.single import suggest
from isoplan.engine.fitting.types.warnings import Level
from isoplan.engine.schema import Metric, Roles, Runs


def table(n: int, direction: str = "min") -> Runs:
    D = np.geomspace(1e3, 1e7, n)
    roles = Roles(D="D", loss="loss", metrics=(Metric.model_validate({"column": "R", "direction": direction}),))
    return Runs(np.arange(n), {"D": D, "loss": 1 + D**-0.3, "R": 5 + D**0.1}, roles, {})


@pytest.mark.parametrize(("n", "objective"), [(5, "ols-log"), (7, "ols-log"), (11, "ols-log"), (12, "huber-log")])
def test_few_runs_for_the_parameters_get_least_squares_of_logs(n: int, objective: str) -> None:
    spec, notes = suggest(FitSpec(law="power", axis="D"), table(n))
    assert spec.objective == objective
    assert [w.level for w in notes] == ([Level.NOTE] if objective == "ols-log" else [])
    for w in notes:
        assert w.text.endswith(f"because {n} runs are few for 3 free parameters.")


def test_fixed_parameters_need_no_runs() -> None:
    spec, _ = suggest(FitSpec(law="power", axis="D", fixed={"K": 1.0}), table(8))
    assert spec.objective == "huber-log"


def test_laws_without_logarithms_keep_the_default() -> None:
    assert suggest(FitSpec(law="power", axis="D", y="R"), table(7, "max"))[0].objective == "huber-log"
    assert suggest(FitSpec(law="metric-map", axis="loss", y="R"), table(7, "max"))[0].objective == "ols-log"
