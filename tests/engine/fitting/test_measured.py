"""Tests of fits to a metric with a measurement error for each run: background rejection of a jet classifier."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import Fit, FitSpec, fit, residuals, validate
from isoplan.engine.schema import Metric, Runs
from tests.engine.fitting.tables import make_runs, surface

MAP = FitSpec(law="metric-map", axis="loss", y="R", objective="ols-log", relative_error="err", bootstrap=0)
A, B, C = 4e5, -9.0, 20.0
BACKGROUND = 500_000


def rejections(n: int, seed: int = 0) -> dict[str, Floats]:
    """Simulate the rejection R = A exp(B loss) + C at ``n`` losses, with counting errors.

    R is the number of background jets divided by the number that pass a selection. "err" is the relative error of R.
    """
    loss = np.linspace(0.45, 0.95, n)
    passed = np.random.default_rng(seed).binomial(BACKGROUND, 1 / (A * np.exp(B * loss) + C))
    return {"loss": loss, "R": BACKGROUND / passed, "err": np.sqrt((1 - passed / BACKGROUND) / passed)}


def runs_of(values: dict[str, Floats]) -> Runs:
    return make_runs(values, metrics=(Metric(column="R", direction="max"),))


def codes(found: Fit) -> dict[str, str]:
    return {w.code: w.text for w in found.warnings}


def test_intervals_of_a_map_with_unequal_errors_cover_the_truth() -> None:
    """With the errors of the runs, 68 % intervals of B have correct coverage. Without the errors, B scatters more."""
    stated = [fit(MAP.model_copy(update={"bootstrap": 80, "seed": i}), runs_of(rejections(16, i))) for i in range(24)]
    free = [fit(FitSpec(law="metric-map", axis="loss", y="R", objective="ols", bootstrap=0),
                runs_of(rejections(16, i))) for i in range(24)]  # fmt: skip
    rates = np.array([f.values["B"] for f in stated])
    standard_error = np.std(rates)
    assert abs(np.mean(rates) - B) < 3 * standard_error / np.sqrt(24)
    ends = np.array([next(p for p in f.parameters if p.name == "B").ci68 for f in stated])
    assert 0.49 <= np.mean((ends[:, 0] <= B) & (ends[:, 1] >= B)) <= 0.87  # 0.68 ± two standard errors
    assert np.mean(ends[:, 1] - ends[:, 0]) / 2 == pytest.approx(standard_error, rel=0.35)
    chi2 = [f.chi2[0] / f.chi2[1] for f in stated if f.chi2]
    assert np.mean(chi2) == pytest.approx(1, abs=3 * np.sqrt(2 / 13 / 24))
    assert np.std([f.values["B"] for f in free]) > 3 * standard_error


def test_runs_without_the_metric_are_left_out_with_a_sentence() -> None:
    values = rejections(20)
    gone = np.isin(np.arange(20), (0, 1, 5))
    holes = {**values, "R": np.where(gone, np.nan, values["R"]), "err": np.where(gone, np.nan, values["err"])}
    found, whole = fit(MAP, runs_of(holes)), fit(MAP, runs_of(values).take(~gone))
    assert found.n == 17
    assert found.theta == pytest.approx(whole.theta, rel=1e-12)
    assert codes(found)["unmeasured"] == "3 runs have no R and cannot be fitted."
    assert "unmeasured" not in codes(whole)
    seen, alone = residuals(found, runs_of(holes)), residuals(whole, runs_of(values).take(~gone))
    assert np.array_equal(np.isnan(seen.residual), gone)
    assert not seen.outlier[gone].any()
    assert (seen.rms, seen.r2) == pytest.approx((alone.rms, alone.r2))
    assert seen.z[~gone] == pytest.approx(alone.z)


def test_one_run_a_whole_column_and_a_loss() -> None:
    values = rejections(20)
    one = {**values, "R": np.r_[np.nan, values["R"][1:]]}
    assert codes(fit(MAP, runs_of(one)))["unmeasured"] == "1 run has no R and cannot be fitted."
    with pytest.raises(PlannerError, match="No run has a value of R: choose another metric, or select runs that have"):
        fit(MAP, runs_of({**values, "R": np.full(20, np.nan)}))
    with pytest.raises(PlannerError, match="R is inf in row 0"):
        fit(MAP, runs_of({**values, "R": np.r_[np.inf, values["R"][1:]]}))
    with pytest.raises(PlannerError, match="relative error err is nan in row 2"):
        fit(MAP, runs_of({**values, "err": np.where(np.arange(20) == 2, np.nan, values["err"])}))
    losses = surface(30, noise=0.01)
    with pytest.raises(PlannerError, match=r"loss \(column val_loss\) is nan in row 0"):
        fit(FitSpec(bootstrap=0), make_runs({**losses, "loss": np.r_[np.nan, losses["loss"][1:]]}))


def test_validation_speaks_of_the_runs_that_have_the_metric() -> None:
    losses = surface(60, noise=0.01)
    score = np.where(np.arange(60) % 7 == 0, np.nan, losses["loss"])
    runs = make_runs(
        {"N": losses["N"], "D": losses["D"], "score": score}, metrics=(Metric(column="score", direction="min"),)
    )
    spec = FitSpec(y="score", bootstrap=0)
    held, alone = validate(spec, runs), validate(spec, runs.take(~np.isnan(score)))
    assert held.error("chinchilla") == pytest.approx(alone.error("chinchilla"), rel=1e-9)
    assert np.isfinite(held.error("chinchilla"))


def test_outliers_are_told_by_the_error_of_each_run() -> None:
    values = rejections(30)
    error = values["err"]
    calm = A * np.exp(B * values["loss"]) + C
    calm = calm * np.exp(0.8 * error * np.where(np.arange(30) % 2, 1, -1))  # Each run deviates by 0.8 of its error.
    free = MAP.model_copy(update={"objective": "ols", "relative_error": None})
    assert "outliers" in codes(fit(free, runs_of({**values, "R": calm})))
    steady = fit(MAP, runs_of({**values, "R": calm}))
    assert "outliers" not in codes(steady)
    assert np.abs(residuals(steady, runs_of({**values, "R": calm})).z).max() < 2
    odd = calm * np.exp(np.where(np.arange(30) == 25, 10 * error, 0))
    found = fit(MAP, runs_of({**values, "R": odd}))
    assert "(row 25)" in codes(found)["outliers"]
    assert np.flatnonzero(residuals(found, runs_of({**values, "R": odd})).outlier).tolist() == [25]
