"""Tests of the function of N and D that predicts the training time, and of fits that store this function."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.cards import read_fit, to_json
from isoplan.engine.fitting.types.runtime import FEWEST, Runtime, fit_runtime
from isoplan.engine.schema import Roles, Runs
from isoplan.engine.store.columns.names import seconds_column, seconds_each
from isoplan.engine.store.database.database import memory
from isoplan.engine.store.tables import snapshots, tables

JETS = Path(__file__).parents[3] / "data" / "grids" / "jets_one_pass.csv"
POSITIVE = st.floats(1e-9, 1e-3)
N = np.geomspace(1e3, 1e6, 5).repeat(4)
D = np.tile(np.geomspace(1e4, 1e7, 4), 5)


@given(st.floats(0.1, 100), POSITIVE, st.floats(1e-14, 1e-9))
def test_exact_times_are_predicted_exactly(start: float, sample: float, product: float) -> None:
    true = Runtime(start, sample, product, 0.0, len(N))
    found = fit_runtime(N, D, true.seconds(N, D))
    assert found is not None
    assert found.seconds(N * 3, D * 10) == pytest.approx(true.seconds(N * 3, D * 10), rel=1e-6)
    assert found.scatter < 1e-6


def test_the_scatter_of_the_runs_is_that_of_their_logarithms() -> None:
    noise = np.exp(0.3 * np.random.default_rng(3).standard_normal(2000))
    many = fit_runtime(np.tile(N, 100), np.tile(D, 100), (2 + 1e-4 * np.tile(D, 100)) * noise)
    assert many is not None
    assert many.scatter == pytest.approx(0.3, abs=0.02)
    assert float(many.seconds(1e4, 1e6)) == pytest.approx(102, rel=0.05)


def test_runs_without_a_time_do_not_count() -> None:
    seconds = np.full(len(N), np.nan)
    seconds[: FEWEST - 1] = 3.0
    assert fit_runtime(N, D, seconds) is None
    seconds[-1] = 5.0
    found = fit_runtime(N, D, seconds)
    assert found is not None
    assert found.runs == FEWEST


@pytest.mark.parametrize(
    "name", ["seconds", "Train seconds", "_runtime", "summary/_runtime", "wall_time_s", "gpu_seconds"]
)
def test_columns_that_hold_seconds_are_known_by_name(name: str) -> None:
    assert seconds_column(["loss", name]) == name
    assert seconds_each(name) == 1


@pytest.mark.parametrize("name", ["hours", "GPU hours", "runtime_hours", "config.wall_time_h"])
def test_hours_are_read_as_seconds_and_seconds_come_first(name: str) -> None:
    assert seconds_column(["loss", name]) == name
    assert seconds_each(name) == 3600
    assert seconds_column([name, "train_seconds"]) == "train_seconds"


@pytest.mark.parametrize("name", ["seconds_per_step", "time", "hours_per_step", "samples_per_second"])
def test_other_columns_of_time_are_not_taken_for_seconds(name: str) -> None:
    assert seconds_column(["loss", name]) == ""


@pytest.fixture(scope="module")
def jets() -> Runs:
    with memory() as db:
        table = tables.add(db, JETS.read_bytes(), JETS.name)
        return snapshots.runs(db, snapshots.take(db, table.id))


def test_the_bundled_jets_predict_their_largest_runs_within_a_factor_of_three(jets: Runs) -> None:
    runs = jets
    assert runs.seconds is not None
    assert runs.seconds_from == "seconds"
    order = np.argsort(runs["C"], kind="stable")
    rest, largest = order[:-8], order[-8:]
    found = fit_runtime(runs["N"][rest], runs["D"][rest], runs.seconds[rest])
    assert found is not None
    off = found.seconds(runs["N"][largest], runs["D"][largest]) / runs.seconds[largest]
    assert np.all((off > 1 / 3) & (off < 3))


def test_a_fit_keeps_the_runtime_of_its_runs_in_its_json(jets: Runs) -> None:
    made = fit(FitSpec(law="chinchilla", bootstrap=0), jets)
    assert made.data.runtime is not None
    assert made.data.runtime.runs == 42
    assert made.data.runtime.column == "seconds"
    again = read_fit(json.loads(json.dumps(to_json(made))))
    assert again.data.runtime == made.data.runtime


def test_a_fit_of_runs_without_times_has_none() -> None:
    runs = Runs(np.arange(20), {"N": N, "D": D, "loss": 1 + 5 * N**-0.3 + 9 * D**-0.3}, Roles(), {}, "runs.csv", "")
    made = fit(FitSpec(law="chinchilla", bootstrap=0), runs)
    assert made.data.runtime is None
    assert "runtime" not in to_json(made)["data"]
