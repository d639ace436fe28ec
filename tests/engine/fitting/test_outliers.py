"""Tests of the detection of outliers and of runs below the floor of a law: few false alarms, no missed run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoplan.engine.fitting import FitSpec, fit, residuals
from isoplan.engine.fitting.diagnostics.residuals import outlier_limit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.types.warnings import Level
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.schema import Roles, Runs
from isoplan.engine.store.files.table_files import read_runs

LINE = FitSpec(law="power", axis="D", bootstrap=0)


def along_data(n: int, seed: int, noise: float = 0.03) -> Runs:
    """Simulate ``n`` runs of loss = 0.3 + 7 D^-0.25 with log-normal noise."""
    D = np.geomspace(1e3, 1e7, n)
    loss = (0.3 + 7 * D**-0.25) * np.exp(noise * np.random.default_rng(seed).normal(size=n))
    return Runs(np.arange(n), {"D": D, "loss": loss}, Roles(D="D", loss="loss"), {})


def codes(made: Fit) -> set[str]:
    return {w.code for w in made.warnings}


@pytest.mark.parametrize("n", [6, 7, 9, 12, 20])
def test_clean_tables_of_few_runs_have_no_outliers(n: int) -> None:
    alarms = [int(residuals(fit(LINE, runs), runs).outlier.sum()) for runs in (along_data(n, k) for k in range(10))]
    assert sum(count > 0 for count in alarms) <= 1


@pytest.mark.parametrize("objective", ["huber-log", "ols-log"])
def test_an_outlier_among_twenty_runs_is_found(objective: str) -> None:
    runs = along_data(20, 1)
    runs["loss"][9] *= 3
    made = fit(LINE.model_copy(update={"objective": objective}), runs)
    assert np.flatnonzero(residuals(made, runs).outlier).tolist() == [9]
    assert "outliers" in codes(made)


def test_the_limit_follows_the_degrees_of_freedom() -> None:
    assert outlier_limit(245, 5) == 5.0
    # The limit for 9 runs is Student's t with 4 degrees of freedom at the tail probability 0.005 / 9.
    assert outlier_limit(9, 5) == pytest.approx(8.376, abs=0.01)
    assert outlier_limit(5, 5) == float("inf")


def deep_grid(seed: int, noise: float = 0.03) -> Runs:
    """Simulate runs on a grid of six N by nine D; most have a loss near the floor of 0.32."""
    N, D = (x.ravel() for x in np.meshgrid(np.geomspace(1e3, 1e7, 6), np.geomspace(1e5, 1e14, 9)))
    loss = (0.32 + 11.27 * N**-0.44 + 7.22 * D**-0.22) * np.exp(noise * np.random.default_rng(seed).normal(size=len(N)))
    return Runs(np.arange(len(N)), {"N": N, "D": D, "loss": loss}, Roles(N="N", D="D", loss="loss"), {})


def test_runs_that_scatter_around_their_floor_raise_no_alarm() -> None:
    for seed in range(8):
        assert "below-floor" not in codes(fit(FitSpec(bootstrap=0), deep_grid(seed)))


def test_runs_below_the_floor_stop_the_plan(shared: Path) -> None:
    runs = read_runs(shared / "runs" / "teacher_student_sweep.csv")
    made = fit(FitSpec(bootstrap=0), runs)
    assert float(made.values["E"]) > made.best_run == runs["loss"].min()  # type: ignore[operator]
    (stop,) = [w for w in made.warnings if w.level is Level.STOP]
    assert stop.code == "below-floor"
    assert f"best {made.best_run:.4g}" in stop.text
    plan = plan_budget(made, float(runs["C"].max()))
    (better,) = [w for w in plan.warnings if w.code == "run-is-better"]
    assert better.level is Level.STOP
    assert f"{made.best_run:.4g}" in better.text
