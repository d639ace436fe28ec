"""Tests of the solver: comparison with scipy, known parameters, and invariances."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.resampling.bootstrap import counts
from isoplan.engine.fitting.solver.descent import Local, descend
from isoplan.engine.fitting.solver.linear import nonnegative_least_squares, solve_definite
from isoplan.engine.fitting.solver.objectives import SQUARE, Loss
from isoplan.engine.laws.catalogue.chinchilla import CHINCHILLA
from isoplan.engine.schema import Metric
from tests.engine.fitting.tables import TRUTH, make_runs, surface

# N, D and loss of 24 runs, simulated with E = 1.8, A = 480, B = 2100, alpha = 0.35, beta = 0.37 and 1 % noise.
TYPED = """
1e7 1e9 4.4850  1e7 1e10 3.9634  1e7 1e11 3.7092  1e7 3e11 3.6485  4e7 1e9 3.8931  4e7 1e10 3.2282
4e7 1e11 3.0082  4e7 3e11 2.9285  2e8 1e9 3.3755  2e8 1e10 2.8441  2e8 1e11 2.5750  2e8 3e11 2.5284
8e8 1e9 3.0900  8e8 1e10 2.5902  8e8 1e11 2.3250  8e8 3e11 2.3274  3e9 1e9 3.0404  3e9 1e10 2.4737
3e9 1e11 2.2088  3e9 3e11 2.1636  1e10 1e9 2.9534  1e10 1e10 2.3626  1e10 1e11 2.1200  1e10 3e11 2.0685
"""
N, D, LOSS = np.array(TYPED.split(), float).reshape(-1, 3).T


def huber(r: NDArray[np.float64], delta: float) -> float:
    size = np.abs(r)
    return float(np.sum(np.where(size <= delta, r * r / 2, delta * (size - delta / 2))))


def by_scipy(objective: str) -> float:
    """Return the lowest objective that scipy finds for the runs in TYPED. The minimization uses a grid of starts."""

    def value(t: NDArray[np.float64]) -> float:
        f = np.exp(t[0]) + np.exp(t[1] - t[3] * np.log(N / 1e9)) + np.exp(t[2] - t[4] * np.log(D / 1e10))
        if objective == "ols":
            return float(np.sum((f - LOSS) ** 2))
        r = np.log(f / LOSS)
        if objective == "lad":
            return float(np.sum(np.abs(r)))
        # An observed loss below the law costs ten times its residual.
        if objective == "asymmetric":
            return float(sum(x if x > 0 else 10 * abs(x) for x in LOSS - f))
        return 1e3 * huber(r, 1e-3) if objective == "huber-log" else float(np.sum(r * r))

    best = np.inf
    for a in (0.2, 0.4):
        for b in (0.2, 0.4, 0.6):
            start = np.array([0.5, -1.0, -1.0, a, b])
            for _ in range(3):  # Restart, because Nelder-Mead can stop too early at a kink.
                found = minimize(
                    value, start, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000}
                )
                start = found.x
            best = min(best, found.fun)
    return best / (1e3 if objective == "huber-log" else 1.0)


@pytest.mark.parametrize("objective", ["huber-log", "ols", "ols-log"])
def test_the_optimum_is_at_or_below_scipys(objective: Any) -> None:
    found = fit(FitSpec(objective=objective, bootstrap=0), make_runs({"N": N, "D": D, "loss": LOSS}))
    assert found.objective == pytest.approx(by_scipy(objective), rel=1e-5)
    assert (found.objective or np.inf) <= by_scipy(objective) * (1 + 1e-9)
    # The reported objective is the sum over all rows.
    predicted = CHINCHILLA.predict(found.theta, {"N": N, "D": D})
    r = predicted - LOSS if objective == "ols" else np.log(predicted / LOSS)
    plain = huber(r, 1e-3) if objective == "huber-log" else np.sum(r * r)
    assert found.objective == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("objective", ["lad", "asymmetric"])
def test_the_optimum_of_absolute_residuals_is_at_or_below_scipys(objective: Any) -> None:
    found = fit(FitSpec(objective=objective, bootstrap=0), make_runs({"N": N, "D": D, "loss": LOSS}))
    r = LOSS - CHINCHILLA.predict(found.theta, {"N": N, "D": D})
    plain = np.abs(np.log(1 - r / LOSS)).sum() if objective == "lad" else np.where(r > 0, r, 10 * np.abs(r)).sum()
    assert found.objective == pytest.approx(plain, rel=1e-6)
    # The Nelder-Mead method of scipy stops slightly above the minimum.
    assert plain <= by_scipy(objective)
    assert plain >= by_scipy(objective) * (1 - 2e-3)


def test_the_side_that_an_asymmetric_fit_stays_on() -> None:
    values = surface(60, noise=0.02)
    below = []
    for skew in (1.0, 10.0, 0.1):
        found = fit(FitSpec(objective="asymmetric", skew=skew, bootstrap=0), make_runs(values))
        below.append(float(np.mean(values["loss"] < found.predict(values) * (1 - 1e-6))))
    # At the minimum, ``skew * (runs below the law) == (runs above the law)``. Five other runs lie on the law.
    assert below == pytest.approx([1 / 2, 1 / 11, 10 / 11], abs=5 / 60)
    score = {"N": values["N"], "D": values["D"], "score": -values["loss"]}
    best = FitSpec(objective="asymmetric", y="score", bootstrap=0)
    mirrored = fit(best, make_runs(score, metrics=(Metric(column="score"),)))
    assert float(np.mean(score["score"] > mirrored.predict(values) * (1 - 1e-6))) == pytest.approx(1 / 11, abs=5 / 60)


def test_the_last_step_does_not_cross_a_kink_upward() -> None:
    """The solver rejects a step that crosses a steep kink, although the quadratic model predicts an improvement."""
    kink = 1e-6

    def local(theta: Floats, index: Ints) -> Local:
        x = theta[:, 0]
        value = 1.0 - 1e-7 * x + 1e4 * np.maximum(x - kink, 0.0)
        slope = np.where(x > kink, 1e4, -1e-7)
        return Local(value, slope[:, None], np.full((len(x), 1, 1), 1e-2), np.full((len(x), 1, 1), 1e-2))

    start = np.array([[0.0], [-1e-3]])
    theta, value = descend(local, start, np.array([-1.0]), np.array([1.0]), SQUARE, 1)
    assert (theta[:, 0] <= kink).all()
    assert value == pytest.approx([1.0, 1.0], rel=1e-9)
    np.testing.assert_array_equal(value, local(theta, np.arange(2)).value)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_the_loss_does_not_change_an_asymmetric_fit(unit: float) -> None:
    values, spec = surface(40, noise=0.02), FitSpec(objective="asymmetric", bootstrap=0)
    plain, scaled = (fit(spec, make_runs({**values, "loss": x * values["loss"]})) for x in (1.0, unit))
    assert scaled.predict(values) == pytest.approx(unit * plain.predict(values), rel=1e-5)
    r = unit * values["loss"] - scaled.predict(values)
    assert scaled.objective == pytest.approx(np.where(r > 0, r, 10 * np.abs(r)).sum(), rel=1e-5)


@pytest.mark.parametrize("objective", ["huber-log", "ols", "ols-log", "lad", "asymmetric"])
def test_noise_free_runs_give_the_truth_back(objective: Any) -> None:
    found = fit(FitSpec(objective=objective, bootstrap=20), make_runs(surface(60)))
    assert {p.name: p.value for p in found.parameters} == pytest.approx(TRUTH, rel=1e-6)
    assert found.resamples == pytest.approx(np.tile(found.theta, (20, 1)), rel=1e-5)


@pytest.mark.parametrize("objective", ["huber-log", "ols", "ols-log", "lad"])
def test_noisy_runs_give_the_truth_within_four_errors(objective: Any) -> None:
    found = fit(FitSpec(objective=objective, bootstrap=200), make_runs(surface(150, noise=0.01, seed=4)))
    for p in found.parameters:
        assert abs(p.value - TRUTH[p.name]) < 4 * (p.se or 0), p
        assert p.ci68 is not None
        assert p.ci95 is not None
        assert p.ci95[0] <= p.ci68[0] <= p.ci68[1] <= p.ci95[1]


@pytest.mark.parametrize("axis", ["N", "D", "C"])
def test_one_axis_law(axis: Any) -> None:
    x = np.geomspace(1e4, 1e9, 14)
    truth = {"K": 0.4, "X_c": 2e5, "alpha": 0.45}
    loss = truth["K"] + (truth["X_c"] / x) ** truth["alpha"]
    exact = fit(FitSpec(law="power", axis=axis, bootstrap=0), make_runs({axis: x, "loss": loss}))
    assert {p.name: p.value for p in exact.parameters} == pytest.approx(truth, rel=1e-6)
    noisy = loss * np.exp(0.01 * np.random.default_rng(0).normal(size=14))
    found = fit(
        FitSpec(law="power", axis=axis, bootstrap=200, objective="ols-log"), make_runs({axis: x, "loss": noisy})
    )
    for p in found.parameters:
        assert abs(p.value - truth[p.name]) < 4 * (p.se or 0), p


@settings(deadline=None, max_examples=16)
@given(
    st.sampled_from(["huber-log", "huber-log", "ols", "ols-log", "lad", "asymmetric"]),
    st.floats(1e-6, 1e6),
    st.floats(1e-6, 1e6),
    st.permutations(range(40)),
)
def test_units_of_n_and_d_and_the_order_of_rows_do_not_matter(
    objective: Any, n_unit: float, d_unit: float, order: list[int]
) -> None:
    values = surface(40, noise=0.01, seed=2)
    base = fit(FitSpec(objective=objective, bootstrap=0), make_runs(values))
    other = {k: v[order] * {"N": n_unit, "D": d_unit, "loss": 1}[k] for k, v in values.items()}
    found = fit(FitSpec(objective=objective, bootstrap=0), make_runs(other))
    assert found.objective == pytest.approx(base.objective, rel=1e-8)
    for name in ("E", "alpha", "beta"):
        assert found.values[name] == pytest.approx(base.values[name], rel=1e-4), name
    at = {"N": [1e8 * n_unit, 1e12 * n_unit], "D": [1e9 * d_unit, 1e13 * d_unit]}
    assert found.predict(at) == pytest.approx(base.predict({"N": [1e8, 1e12], "D": [1e9, 1e13]}), rel=1e-4)


def test_larger_is_better_is_the_mirror_image_of_a_loss() -> None:
    values = surface(50, noise=0.01)
    loss = fit(FitSpec(objective="ols", bootstrap=30), make_runs(values))
    score = {"N": values["N"], "D": values["D"], "score": 10 - values["loss"]}
    found = fit(FitSpec(objective="ols", y="score", bootstrap=30), make_runs(score, metrics=(Metric(column="score"),)))
    assert found.values["E"] == pytest.approx(loss.values["E"] - 10, rel=1e-6)
    assert found.values["alpha"] == pytest.approx(loss.values["alpha"], rel=1e-5)
    at = {"N": [1e9], "D": [1e10]}
    assert found.predict(at) == pytest.approx(10 - loss.predict(at), rel=1e-6)
    assert found.data.direction == "max"


def test_fixed_parameters_are_honoured_everywhere() -> None:
    values = surface(60, noise=0.01, seed=3)
    free = fit(FitSpec(bootstrap=0), make_runs(values))
    for fixed in (
        {"E": 1.8},
        {"alpha": 0.35},
        {"A": 480.0},
        {"E": 1.7, "beta": 0.4},
        {"A": 480.0, "alpha": 0.35, "B": 2000.0},
    ):
        found = fit(FitSpec(fixed=fixed, bootstrap=30), make_runs(values))
        assert {k: found.values[k] for k in fixed} == pytest.approx(fixed, rel=1e-12)
        for name, value in fixed.items():
            assert found.resamples[:, CHINCHILLA.names.index(name)] == pytest.approx(np.full(30, value), rel=1e-12)
        assert (found.objective or 0) >= (free.objective or 0) * (1 - 1e-9)
        assert (found.objective or 0) < 4 * (free.objective or 0), fixed  # The fixed values are near the truth.
    scale = {"K": 0.4, "X_c": 2e5, "alpha": 0.45}
    x = np.geomspace(1e4, 1e9, 14)
    loss = scale["K"] + (scale["X_c"] / x) ** scale["alpha"]
    held = fit(FitSpec(law="power", axis="D", fixed={"X_c": 2e5}, bootstrap=0), make_runs({"D": x, "loss": loss}))
    assert {p.name: p.value for p in held.parameters} == pytest.approx(scale, rel=1e-6)


def test_a_term_without_effect_collapses_and_says_so() -> None:
    values = surface(60, noise=0.001, truth={**TRUTH, "A": 0.0})
    values["loss"] *= 1 + 0.003 * np.log10(values["N"] / 1e8)  # The loss increases slightly with N.
    found = fit(FitSpec(bootstrap=0), make_runs(values))
    assert found.values["A"] == 0.0 or found.values["alpha"] == 0.0
    assert {w.code for w in found.warnings} & {"collapsed", "at-bound"}


def test_weights_multiply_and_zero_leaves_out() -> None:
    values = surface(40, noise=0.01)
    doubled = {k: np.concatenate([v, v[:10]]) for k, v in values.items()}
    weight = np.r_[np.full(10, 2.0), np.ones(30)]
    one = fit(FitSpec(bootstrap=0), make_runs(doubled))
    two = fit(FitSpec(bootstrap=0), make_runs({**values, "weight": weight}))
    assert two.theta == pytest.approx(one.theta, rel=1e-6)
    assert two.objective == pytest.approx(one.objective, rel=1e-9)
    some = fit(FitSpec(bootstrap=0), make_runs({**values, "weight": np.r_[np.zeros(10), np.ones(30)]}))
    assert some.n == 30
    left = fit(FitSpec(bootstrap=0), make_runs({k: v[10:] for k, v in values.items()}))
    assert some.theta == pytest.approx(left.theta, rel=1e-9)


def test_the_same_specification_gives_the_same_digits_and_progress_arrives() -> None:
    runs, spec = make_runs(surface(50, noise=0.01)), FitSpec(bootstrap=40, seed=5)
    heard: list[float] = []
    one, two = fit(spec, runs, progress=heard.append), fit(spec, runs)
    assert np.array_equal(one.resamples, two.resamples)
    assert np.array_equal(one.theta, two.theta)
    assert heard[-1] == 1.0
    more = fit(spec.model_copy(update={"bootstrap": 60}), runs)
    assert more.resamples[:40] == pytest.approx(one.resamples, rel=1e-6)
    assert not np.array_equal(fit(spec.model_copy(update={"seed": 6}), runs).resamples, one.resamples)


def test_every_refit_is_at_its_own_optimum() -> None:
    values = surface(40, noise=0.02, seed=9)
    found = fit(FitSpec(bootstrap=8, seed=3), make_runs(values))
    for i, theta in enumerate(found.resamples):
        times = counts(40, 3, i, i + 1)[0].astype(int)
        again = {k: np.repeat(v, times) for k, v in values.items()}
        alone = fit(FitSpec(bootstrap=0), make_runs(again))
        r = np.log(CHINCHILLA.predict(theta, again) / again["loss"])
        assert huber(r, 1e-3) <= (alone.objective or 0) * (1 + 1e-6)


def test_counts_depend_on_seed_and_index_alone() -> None:
    whole = counts(30, 7, 0, 10)
    assert np.array_equal(whole[4:9], counts(30, 7, 4, 9))
    assert (whole.sum(axis=1) == 30).all()
    strata = np.repeat([0, 1, 2], 10)
    inside = counts(30, 7, 0, 5, strata)
    assert (inside.reshape(5, 3, 10).sum(axis=2) == 10).all()
    assert counts(30, 2**63 - 1, 10**6, 10**6 + 1).sum() == 30


@pytest.mark.parametrize("p", [5, 20])
def test_small_systems_against_numpy(p: int) -> None:
    random = np.random.default_rng(0)
    root = random.normal(size=(50, p, 2 * p))
    matrix, right = root @ root.transpose(0, 2, 1), random.normal(size=(50, p))
    x, ok = solve_definite(matrix, right)
    assert ok.all()
    assert x == pytest.approx(np.linalg.solve(matrix, right[..., None])[..., 0], rel=1e-8)
    assert not solve_definite(-matrix, right)[1].any()
    assert not solve_definite(np.zeros((1, p, p)), np.ones((1, p)))[1].any()
    lean = matrix.copy()
    # System 7 is made indefinite. The other systems must still be solved.
    lean[7] -= 1.1 * np.linalg.eigvalsh(lean[7])[0] * np.eye(p)
    y, fine = solve_definite(lean, right)
    assert np.flatnonzero(~fine).tolist() == [7]
    assert y[fine] == pytest.approx(x[fine])


def test_small_least_squares_with_signs() -> None:
    random = np.random.default_rng(0)
    root = random.normal(size=(50, 5, 8))
    matrix, right = root @ root.transpose(0, 2, 1), random.normal(size=(50, 5))
    c = nonnegative_least_squares(matrix, right, np.zeros(5, bool))
    slope = np.einsum("bij,bj->bi", matrix, c) - right
    assert (c >= 0).all()
    assert (slope > -1e-8).all()  # KKT condition: no increase of a coefficient lowers the objective.
    assert np.abs(c * slope).max() < 1e-8


@pytest.mark.parametrize("loss", [SQUARE, Loss(0.3), Loss(1e-3), Loss(0.3, scale=4, skew=10)])
def test_slopes_of_a_loss_are_its_derivatives(loss: Loss) -> None:
    r = np.array([-2.0, -0.31, -0.1, 5e-4, 0.2, 1.7])
    slope, curve, irls = loss.slopes(r)
    assert slope == pytest.approx((loss.value(r + 1e-6) - loss.value(r - 1e-6)) / 2e-6, rel=1e-5)
    assert curve == pytest.approx((loss.slopes(r + 1e-6)[0] - loss.slopes(r - 1e-6)[0]) / 2e-6, rel=1e-5, abs=1e-9)
    assert irls == pytest.approx(slope / r)


def test_fits_in_threads_give_the_digits_of_a_fit_alone() -> None:
    runs, spec = make_runs(surface(40, noise=0.01)), FitSpec(bootstrap=30)
    alone = fit(spec, runs)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: fit(spec, runs), range(8)):
            assert np.array_equal(found.resamples, alone.resamples)


def test_a_long_table_is_fitted_in_blocks_of_rows() -> None:
    values = surface(40_000, noise=0.01)
    heard: list[float] = []
    found = fit(FitSpec(bootstrap=2), make_runs(values), progress=heard.append)
    assert {p.name: p.value for p in found.parameters} == pytest.approx(TRUTH, rel=0.02)
    assert len(heard) >= 1


def test_tiny_losses_keep_the_scale_of_a_one_axis_law_finite() -> None:
    x = np.geomspace(1e3, 1e7, 9)
    loss = 1e-9 * (1 + (1e5 / x) ** 0.3)
    found = fit(FitSpec(law="power", axis="D", bootstrap=20), make_runs({"D": x, "loss": loss}))
    assert found.values["alpha"] == pytest.approx(0.3, rel=1e-5)
    assert found.values["K"] == pytest.approx(1e-9, rel=1e-5)
    assert np.isfinite(found.resamples).all()
