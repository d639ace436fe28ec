"""Tests of the overfitting threshold N = C D^lambda: ends of training curves, known lines, and invariances."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.estimators.threshold import is_label, logistic
from isoplan.engine.fitting.samples.curve_tables import end_of
from isoplan.engine.schema import Metric, Roles, Runs
from isoplan.engine.store.files.table_files import read_curves
from tests.engine.fitting.training import NOBODY, named

SPEC = FitSpec(law="threshold", y="over", bootstrap=0)
LAMBDA, C = 0.47, 300.0


def labelled(N: np.ndarray, D: np.ndarray, over: np.ndarray) -> Runs:
    roles = Roles(metrics=(Metric(column="over", direction="min"),))
    return Runs(np.arange(len(N)), {"N": N, "D": D, "over": over.astype(float)}, roles, {})


def cells(softness: float = 0.0, seed: int = 0, unit: float = 1.0) -> Runs:
    """Simulate runs on a grid of nine N by ten D, as in Fig. 3 of the jets paper; runs above a threshold in N overfit.

    ``softness`` is the scale of the logistic noise of ln threshold. ``unit`` divides N and D.
    """
    rng = np.random.default_rng(seed)
    N, D = (x.ravel() for x in np.meshgrid(np.geomspace(2e3, 8e6, 9), np.geomspace(1e3, 1e6, 10)))
    line = C * D**LAMBDA * np.exp(softness * rng.logistic(size=len(N)))
    return labelled(N / unit, D / unit, N > line)


def mirrored() -> Runs:
    """Return runs at equal distances in ln N above and below the threshold line."""
    D = np.repeat(np.geomspace(1e3, 1e6, 6), 6)
    N = C * D**LAMBDA * np.tile(np.exp([-3.0, -1.5, -0.4, 0.4, 1.5, 3.0]), 6)
    return labelled(N, D, N > C * D**LAMBDA)


def test_a_known_line_comes_back_to_a_millionth() -> None:
    found = fit(SPEC, mirrored()).values
    assert found["lambda"] == pytest.approx(LAMBDA, rel=1e-6)
    assert found["c"] == pytest.approx(C, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_scattered_cells_give_the_line_within_four_standard_errors(seed: int) -> None:
    found = fit(SPEC.model_copy(update={"bootstrap": 200}), cells(softness=0.4, seed=seed))
    exponent = found.parameters[1]
    assert exponent.se is not None
    assert abs(exponent.value - LAMBDA) < 4 * exponent.se
    assert exponent.se < 0.15


def test_a_clean_grid_gives_the_published_exponent_within_its_interval() -> None:
    """Jets paper, Fig. 3: the threshold in N grows as D^0.47. A grid locates a threshold only to the grid spacing."""
    found = fit(SPEC.model_copy(update={"bootstrap": 200}), cells())
    low, high = found.parameters[1].ci95 or (np.nan, np.nan)
    assert low < LAMBDA < high
    assert found.values["lambda"] == pytest.approx(LAMBDA, abs=0.05)


def test_the_penalty_is_that_of_firth() -> None:
    """Firth's penalty adds 1/2 to each count of a 2 x 2 table (Firth 1993; Heinze and Schemper 2002, sec. 2)."""
    x = np.column_stack([np.ones(2), [0.0, 1.0]])
    counts = np.array([[7.0, 3.0], [2.0, 9.0]])  # Rows: group; columns: label 0, label 1.
    design = np.repeat(x, 2, axis=0)
    b = logistic(design, np.tile([0.0, 1.0], 2), counts.ravel()[None])[0]
    first, second = np.log((counts[:, 1] + 0.5) / (counts[:, 0] + 0.5))
    assert b == pytest.approx([first, second - first], rel=1e-8)


@settings(max_examples=8)
@given(st.integers(0, 1000), st.floats(1e-3, 1e3))
def test_neither_the_order_of_rows_nor_the_unit_matters(seed: int, unit: float) -> None:
    base, scaled = fit(SPEC, cells(0.4)).values, cells(0.4, unit=unit)
    mixed = fit(SPEC, scaled.take(np.random.default_rng(seed).permutation(len(scaled)))).values
    assert mixed["lambda"] == pytest.approx(float(base["lambda"]), rel=1e-6)
    assert mixed["c"] == pytest.approx(float(base["c"]) * unit ** (float(base["lambda"]) - 1), rel=1e-5)


@pytest.mark.parametrize(
    ("over", "label"),
    [([0, 1, 1], True), ([0, 0, 0], False), ([1, 1, 1], False), ([0, 1, 3], False), ([0, 1, 0.5], False)],
)
def test_a_column_of_labels_contains_zero_and_one_only(over: list[float], label: bool) -> None:
    runs = labelled(np.ones(3), np.ones(3), np.array(over))
    assert is_label(runs, "over") is label
    assert is_label(runs, "another column") is False


def test_the_direction_of_the_label_does_not_matter() -> None:
    """A threshold fit ignores the direction (min or max) of the metric column that contains the overfitting labels."""
    down = cells(0.4)
    up = replace(down, roles=Roles(metrics=(Metric(column="over", direction="max"),)))
    assert fit(SPEC, up).theta.tolist() == fit(SPEC, down).theta.tolist()


def curve(rise: float, noise: float, seed: int, points: int = 400) -> np.ndarray:
    """Simulate a training curve: the loss falls from 2 to 1, then rises by ``rise``, with normal noise."""
    t = np.linspace(0, 1, points)
    rng = np.random.default_rng(seed)
    return 1 + np.exp(-20 * t) + rise * np.clip(t - 0.5, 0, None) * 2 + noise * rng.normal(size=points)


def test_curves_that_turn_up_overfit_and_plateaus_do_not() -> None:
    for seed in range(50):
        assert not end_of(curve(0.0, 0.02, seed)).overfits
        assert end_of(curve(0.1, 0.02, seed)).overfits
        assert end_of(-curve(-0.1, 0.02, seed) + 3).falling is False
    assert not end_of(curve(0.0, 0.0, 0)).overfits
    assert end_of(np.linspace(2, 1, 40)).falling


def test_cells_from_curves_are_those_of_a_label_column() -> None:
    table = cells()
    N, D, over = table["N"], table["D"], table["over"]
    of = np.repeat(np.arange(len(N)), 100)
    loss = np.concatenate([curve(0.2 * o, 0.01, i, 100) for i, o in enumerate(over)])
    values = {"N": N[of], "U": D[of], "step": np.tile(np.arange(100.0), len(N)), "loss": loss}
    found = fit(FitSpec(law="threshold", bootstrap=0), NOBODY, curves=named(values, of))
    assert found.theta.tolist() == fit(SPEC, table).theta.tolist()
    up = fit(
        FitSpec(law="threshold", y="score", bootstrap=0),
        NOBODY,
        curves=named({**values, "score": -loss}, of, "score", "max"),
    )
    assert up.theta.tolist() == found.theta.tolist()


def test_all_networks_that_repeat_their_data_half_a_million_times_overfit(shared: Path) -> None:
    """The excess loss of all four double-descent runs rises above its minimum, so each run is marked as overfitting."""
    curves = read_curves(shared / "runs" / "teacher_student_double_descent_epochs.csv", NOBODY, {"metric": "excess"})
    ends = [end_of(curves["excess"][a:b]) for a, b in zip(curves.starts[:-1], curves.starts[1:], strict=True)]
    assert [end.overfits for end in ends] == [True] * 4


def test_what_has_no_threshold_is_said() -> None:
    N, D = np.array([1e3, 1e4, 1e5, 1e6]), np.array([1e3, 1e3, 1e4, 1e4])
    with pytest.raises(PlannerError, match="All 4 cells underfit, so there is no threshold"):
        fit(SPEC, labelled(N, D, np.zeros(4)))
    with pytest.raises(PlannerError, match=r"a column with 1 for runs that overfit and 0 for others: over is 3"):
        fit(SPEC, labelled(N, D, np.array([0, 1, 3, 0])))
    with pytest.raises(PlannerError, match=r"D has one value only \(1000\)"):
        fit(SPEC, labelled(N, np.full(4, 1e3), np.array([0, 0, 1, 1])))
    with pytest.raises(PlannerError, match="Larger models do not overfit more often"):
        fit(SPEC, labelled(N[[0, 3, 0, 3]], D, np.array([1, 0, 1, 0])))
