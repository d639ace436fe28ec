"""Tests of the critical batch size from training curves: smoothing, training steps to a target, and the fitted law."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.samples.curve_tables import measured, shaped, smoothed, smoothed_by_updates, steady
from isoplan.engine.schema import Curves
from tests.engine.fitting.training import NOBODY, named

S_MIN, B_CRIT = 1200.0, 550.0
BATCHES = np.array([64.0, 128, 256, 512, 1024, 2048])
SPEC = FitSpec(law="critical-batch", axis="B", objective="ols", bootstrap=0, smoothing=0, target=3.0)


def curves(noise: float = 0.0, seed: int = 0, unit: float = 1.0, points: int = 120) -> Curves:
    """Simulate curves of a loss that falls linearly from 6 to 3 in S_min * (1 + B_crit / B) steps (B: batch size)."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(len(BATCHES)), points)
    step = np.tile(np.linspace(0, 20_000, points), len(BATCHES))
    S = S_MIN * (1 + B_CRIT / BATCHES[of])
    loss = 6 - 3 * step / S + noise * rng.normal(size=len(of))
    return named({"B": BATCHES[of] * unit, "step": step, "loss": loss}, of)


def critical(found: object) -> float:
    return next(p.value for p in found.derived if p.name == "B_crit")  # type: ignore[attr-defined]


def test_known_updates_come_back_to_a_millionth() -> None:
    found = fit(SPEC, NOBODY, curves=curves())
    assert found.values["S_min"] == pytest.approx(S_MIN, rel=1e-6)
    assert critical(found) == pytest.approx(B_CRIT, rel=1e-6)
    assert "Training steps until the smoothed loss is 3." in [w.text for w in found.warnings]


def test_noisy_curves_give_the_plateau_within_four_standard_errors() -> None:
    spec = SPEC.model_copy(update={"bootstrap": 200, "smoothing": 0.6})
    found = fit(spec, NOBODY, curves=curves(noise=0.05, points=4000))
    plateau = found.parameters[0]
    assert plateau.se is not None
    assert abs(plateau.value - S_MIN) < 4 * plateau.se
    assert critical(found) == pytest.approx(B_CRIT, rel=0.1)


def test_table_3_follows_from_curves_that_reach_the_target_where_it_says() -> None:
    """Curves that cross the target at the steps of Table 3 (behavioural paper) give a critical batch size of 574."""
    S = np.array([7700.0, 3250, 1950, 1450, 1300, 1550])
    of = np.repeat(np.arange(6), 3)
    step = np.concatenate([[s - 50, s, s + 50] for s in S])
    loss = np.tile([3.9, 3.86, 3.8], 6)
    spec = SPEC.model_copy(update={"target": 3.86})
    found = fit(spec, NOBODY, curves=named({"B": BATCHES[of], "step": step, "loss": loss}, of))
    assert critical(found) == pytest.approx(574, abs=0.5)


def test_without_a_target_it_is_the_hardest_that_every_run_reaches() -> None:
    given_curves = curves()
    rows = shaped(SPEC.model_copy(update={"target": None}), NOBODY, given_curves)
    hardest = 6 - 3 * 20_000 / (S_MIN * (1 + B_CRIT / 64))
    assert rows["loss"][0] == pytest.approx(20_000)
    assert f"Training steps until the smoothed loss is {hardest:.4g}." in rows.notes


def test_runs_that_miss_the_target_are_left_out_and_counted() -> None:
    rows = shaped(SPEC.model_copy(update={"target": -20.0}), NOBODY, curves())
    assert len(rows) == 2
    assert "4 curves that do not reach this value are left out." in rows.notes
    with pytest.raises(PlannerError, match="No run reaches loss = -60: the best smoothed value is"):
        shaped(SPEC.model_copy(update={"target": -60.0}), NOBODY, curves())


@settings(max_examples=8)
@given(st.integers(0, 1000), st.floats(1e-3, 1e3))
def test_neither_the_order_of_curves_nor_the_unit_of_the_batch_matters(seed: int, unit: float) -> None:
    base = curves(noise=0.02, unit=unit)
    order = np.random.default_rng(seed).permutation(len(base))
    points = np.concatenate([np.flatnonzero(base.of == i) for i in order])
    mixed = named({name: x[points] for name, x in base.values.items()}, np.repeat(np.arange(6), 120))
    one, other = fit(SPEC, NOBODY, curves=curves(noise=0.02)), fit(SPEC, NOBODY, curves=mixed)
    assert other.values["S_min"] == pytest.approx(float(one.values["S_min"]), rel=1e-9)
    assert critical(other) == pytest.approx(critical(one) * unit, rel=1e-9)


def test_the_direction_of_the_metric_does_not_matter() -> None:
    down = curves(noise=0.02)
    up = named({**down.values, "recall": -down["loss"]}, down.of, "recall", "max")
    spec = SPEC.model_copy(update={"y": "recall", "target": -3.0})
    assert fit(spec, NOBODY, curves=up).theta.tolist() == fit(SPEC, NOBODY, curves=down).theta.tolist()


def test_smoothing_is_that_of_pandas() -> None:
    x = np.random.default_rng(0).normal(size=30)
    ours = smoothed(x, np.array([0, 12, 30]), 0.7)
    for part in (slice(0, 12), slice(12, 30)):
        assert ours[part] == pytest.approx(pd.Series(x[part]).ewm(alpha=0.3).mean().to_numpy())


def test_curves_that_diverged_are_left_out_and_counted() -> None:
    values = curves().values
    of = curves().of
    loss = values["loss"].copy()
    loss[of == 0] = np.inf
    loss[of == 1] += np.where(np.arange(120) > 110, 500.0, 0.0)
    loss[of == 2] = np.nan
    bad = replace(named({**values, "loss": loss}, of), marks=np.array(["", "", "", "with zero weight", "", ""]))
    kept = steady(measured(bad, "loss"), "loss")
    assert kept.names.tolist() == ["r4", "r5"]
    assert kept.notes == (
        "1 curve that diverged (NaN or infinity) is left out.",
        "1 curve without loss is left out.",
        "1 curve that diverged (ended far above its minimum) is left out.",
    )


def test_a_batch_size_that_is_not_known_is_said() -> None:
    with pytest.raises(PlannerError, match="Law critical-batch needs batch, which is not known along the curves"):
        fit(SPEC.model_copy(update={"axis": "batch"}), NOBODY, curves=curves())


def test_looks_that_are_spread_evenly_over_runs_of_one_budget_do_not_move_the_critical_batch() -> None:
    """Smoothing does not bias the critical batch size if runs with small batches have more steps per evaluation."""
    updates = {16: 14460, 32: 6835, 64: 3081, 128: 1287, 256: 484, 512: 162}
    step = [np.unique(np.round(n * np.arange(1, 241) / 240)) for n in updates.values()]
    step = [s[s > 0] for s in step]
    of, B = np.repeat(np.arange(6), [len(s) for s in step]), np.array(list(updates), float)
    seen = np.concatenate(step) / (1 + 100 / B[of])
    values = {"B": B[of], "step": np.concatenate(step), "loss": 4 + 4.5 * (1 + seen / 20) ** -0.35}
    spec = SPEC.model_copy(update={"target": None, "smoothing": 0.6})
    assert critical(fit(spec, NOBODY, curves=named(values, of))) == pytest.approx(100, rel=0.03)


@pytest.mark.parametrize("looks", [30, 300, 3000])
def test_smoothing_reaches_back_over_a_share_of_the_updates_however_many_looks_there_are(looks: int) -> None:
    """The weighted mean step is a fixed fraction (a + 1) / (a + 2) of the last step, for any number of evaluations.

    The weight of step t is t^a.
    """
    step, starts = np.linspace(1, 1000, looks), np.array([0, looks])
    power = -np.log(0.8) / np.log(1.05)
    found = smoothed_by_updates(step, step, starts, 0.8)
    assert found[-1] / step[-1] == pytest.approx((power + 1) / (power + 2), rel=0.03 if looks < 100 else 0.01)


def test_a_longer_run_has_the_same_smoothed_value_at_the_same_updates() -> None:
    step = np.arange(0, 2001.0)
    loss = 6 * (1 + step) ** -0.3
    short, long = (smoothed_by_updates(loss[:n], step[:n], np.array([0, n]), 0.6) for n in (1001, 2001))
    assert long[1000] == pytest.approx(short[1000])
    assert short[0] == loss[0]


def test_the_interval_holds_the_choice_of_smoothing() -> None:
    spec = SPEC.model_copy(update={"target": None, "smoothing": 0.6, "bootstrap": 200})
    given_curves = curves(noise=0.4, seed=5)
    made = fit(spec, NOBODY, curves=given_curves)
    plateau = made.parameters[0]
    assert plateau.ci95 is not None
    for s in (0.0, 0.3, 0.8):
        other = fit(spec.model_copy(update={"smoothing": s, "bootstrap": 0}), NOBODY, curves=given_curves)
        assert plateau.ci95[0] <= other.values["S_min"] <= plateau.ci95[1]
    said = (
        "The intervals include the choice of smoothing: each of 0, 0.3, 0.6, 0.8 is used for the same number of "
        "resamples."
    )
    assert said in [w.text for w in made.warnings]
    assert len(made.resamples) == 200
    assert np.array_equal(fit(spec, NOBODY, curves=given_curves).resamples, made.resamples)


def test_curves_that_are_asked_for_as_they_are_stay_so() -> None:
    made = fit(SPEC.model_copy(update={"bootstrap": 50}), NOBODY, curves=curves(noise=0.05))
    assert not any("choice of smoothing" in w.text for w in made.warnings)
