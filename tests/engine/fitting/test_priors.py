"""Tests of priors and of stated measurement errors, compared with linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.resampling.priors import normals
from isoplan.engine.fitting.samples.sample import sample
from isoplan.engine.fitting.solver.objectives import SQUARE, Loss, scale
from isoplan.engine.fitting.solver.problem import objective as bent
from isoplan.engine.fitting.solver.problem import problem
from tests.engine.fitting.tables import TRUTH, make_runs, surface

EXPONENTS = {"alpha": 0.35, "beta": 0.37}
"""Fixed exponents. With them, the law E + A N^-alpha + B D^-beta is linear in E, A and B."""


def linear(n: int, seed: int = 0) -> tuple[dict[str, Any], Any]:
    values = surface(n, seed=seed)
    values["loss"] = values["loss"] + 0.03 * np.random.default_rng(seed).normal(size=n)
    return values, np.stack([np.ones(n), values["N"] ** -0.35, values["D"] ** -0.37], axis=1)


def posterior(x: Any, y: Any, variance: Any, prior: dict[str, tuple[float, float]]) -> tuple[Any, Any]:
    """Compute the posterior mean and covariance of (E, A, B) in closed form, for Gaussian noise and priors."""
    mean, precision = np.zeros(3), np.zeros((3, 3))
    for name, (m, sd) in prior.items():
        mean["EAB".index(name)], precision["EAB".index(name), "EAB".index(name)] = m, sd**-2.0
    covariance = np.linalg.inv(x.T / variance @ x + precision)
    return covariance @ (x.T / variance @ y + precision @ mean), covariance


def test_priors_on_a_linear_law_give_the_gaussian_posterior() -> None:
    values, x = linear(400)
    prior = {"E": (1.79, 0.002), "A": (500.0, 2.0)}
    found = fit(FitSpec(objective="ols", fixed=EXPONENTS, prior=prior, bootstrap=500), make_runs(values))
    free = np.linalg.lstsq(x, values["loss"])[0]
    variance = np.sum((values["loss"] - x @ free) ** 2) / (400 - 3)
    mean, covariance = posterior(x, values["loss"], variance, prior)
    assert found.theta[:3] == pytest.approx(mean, rel=1e-8)
    assert np.std(found.resamples[:, :3], axis=0) == pytest.approx(np.sqrt(np.diag(covariance)), rel=0.12)
    # The reported objective excludes the priors.
    assert found.objective == pytest.approx(np.sum((values["loss"] - x @ mean) ** 2), rel=1e-7)


def test_stated_errors_weigh_runs_and_set_the_scale_of_priors() -> None:
    values, x = linear(60)
    error = np.linspace(0.005, 0.05, 60)
    runs = make_runs({**values, "err": error})
    sigma = error * values["loss"]
    found = fit(FitSpec(objective="ols", fixed=EXPONENTS, relative_error="err", bootstrap=0), runs)
    mean, _ = posterior(x, values["loss"], sigma**2, {})
    assert found.theta[:3] == pytest.approx(mean, rel=1e-8)
    chi2, freedom = found.chi2 or (0.0, 0)
    assert chi2 == pytest.approx(np.sum(((values["loss"] - x @ mean) / sigma) ** 2), rel=1e-9)
    assert freedom == 57
    assert f"chi2/dof = {chi2:.4g}/57" in repr(found)
    prior = {"B": (2000.0, 5.0)}
    tied = fit(FitSpec(objective="ols", fixed=EXPONENTS, relative_error="err", prior=prior, bootstrap=0), runs)
    assert tied.theta[:3] == pytest.approx(posterior(x, values["loss"], sigma**2, prior)[0], rel=1e-8)


def test_ten_per_cent_everywhere_is_the_convention_of_the_amplitudes() -> None:
    x = np.geomspace(1e3, 1e7, 20)
    loss = (0.02 + (5e2 / x) ** 0.8) * np.exp(0.1 * np.random.default_rng(1).normal(size=20))
    found = fit(
        FitSpec(law="power", axis="D", objective="ols", relative_error=0.1, bootstrap=0),
        make_runs({"D": x, "loss": loss}),
    )

    def chi2(t: Any) -> float:
        return float(np.sum(((np.exp(t[0]) + np.exp(t[2] * (t[1] - np.log(x))) - loss) / (0.1 * loss)) ** 2))

    best = minimize(
        chi2, [np.log(0.02), np.log(5e2), 0.8], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-9}
    )
    assert found.chi2 is not None
    assert found.chi2[0] == pytest.approx(best.fun, rel=1e-6)
    assert found.chi2[1] == 17
    assert found.theta == pytest.approx([np.exp(best.x[0]), np.exp(best.x[1]), best.x[2]], rel=1e-3)
    assert fit(FitSpec(relative_error=0.1, bootstrap=0), make_runs(surface(30, noise=0.01))).chi2 is None


@pytest.mark.parametrize("objective", ["huber-log", "ols", "ols-log", "lad", "asymmetric"])
def test_a_stated_error_that_is_the_same_for_all_runs_moves_no_optimum(objective: Any) -> None:
    values = surface(40, noise=0.02)
    # These losses are positive but follow no power law.
    values["loss"] = values["loss"] * 0 + 2.5 + 0.5 * np.log(values["loss"])
    free = fit(FitSpec(objective=objective, bootstrap=0), make_runs(values))
    stated = fit(FitSpec(objective=objective, relative_error=0.05, bootstrap=0), make_runs(values))
    power = 1 if objective in ("lad", "asymmetric") else 2
    if free.spec.log_residuals:
        assert stated.theta == pytest.approx(free.theta, rel=1e-5)
        assert stated.objective == pytest.approx((free.objective or 0) / 0.05**power, rel=1e-6)
    else:  # With residuals in the unit of y, a relative error means sigma proportional to y.
        weight = (0.05 * values["loss"]) ** -power
        same = fit(FitSpec(objective=objective, bootstrap=0), make_runs({**values, "weight": weight}))
        assert stated.theta == pytest.approx(same.theta, rel=1e-5)


def test_a_prior_holds_frees_and_weakens_as_its_width_says() -> None:
    runs = make_runs(surface(80, noise=0.01))
    free = fit(FitSpec(bootstrap=0), runs)
    wide = fit(FitSpec(prior={"alpha": (0.2, 1e3), "A": (1.0, 1e9)}, bootstrap=0), runs)
    assert wide.theta == pytest.approx(free.theta, rel=1e-4)
    tight = fit(FitSpec(prior={"alpha": (0.3, 1e-7)}, bootstrap=0), runs)
    held = fit(FitSpec(fixed={"alpha": 0.3}, bootstrap=0), runs)
    assert tight.theta == pytest.approx(held.theta, rel=1e-4)
    amplitude = fit(FitSpec(prior={"A": (400.0, 1e-4)}, bootstrap=0), runs)
    fixed = fit(FitSpec(fixed={"A": 400.0}, bootstrap=0), runs)
    assert amplitude.theta == pytest.approx(fixed.theta, rel=1e-4)


def test_a_prior_on_what_the_runs_say_nothing_about_comes_back() -> None:
    x = np.repeat([1e6, 1e8], 15)  # With two values of D, only the prior determines the exponent.
    loss = (0.4 + (2e5 / x) ** 0.45) * np.exp(0.002 * np.random.default_rng(0).normal(size=30))
    spec = FitSpec(law="power", axis="D", prior={"alpha": (0.45, 0.03)}, bootstrap=80)
    found = fit(spec, make_runs({"D": x, "loss": loss}))
    alpha = found.parameters[2]
    assert alpha.value == pytest.approx(0.45, abs=1e-4)
    assert alpha.se == pytest.approx(0.03, rel=0.25)
    assert np.array_equal(found.resamples, fit(spec, make_runs({"D": x, "loss": loss})).resamples)
    assert np.array_equal(normals(3, 10, 2)[:4], normals(3, 4, 2))


def test_noise_free_runs_under_a_prior_give_the_truth_back() -> None:
    found = fit(FitSpec(prior={"alpha": (0.3, 0.01)}, bootstrap=0), make_runs(surface(60)))
    assert {p.name: p.value for p in found.parameters} == pytest.approx(TRUTH, rel=1e-6)


@pytest.mark.parametrize("loss", [SQUARE, Loss(1.0), Loss(0.05), Loss(1e-3, scale=1e3), Loss(0.3, skew=10.0)])
def test_the_scale_of_the_noise_is_that_of_its_density(loss: Loss) -> None:
    for s in (0.01, 1.0, 30.0):
        r = np.concatenate([-np.geomspace(1e7, 1e-9, 100_000), np.geomspace(1e-9, 1e7, 100_000)])
        density = np.exp(-loss.value(r) / s)
        norm, mean = np.trapezoid(density, r), np.trapezoid(density * loss.value(r), r)
        assert scale(loss, mean / norm) == pytest.approx(s, rel=1e-4)
    # The density is exp(-loss(r) / s). For squares (normal), s is 2 E[r^2].
    # For a Huber loss with a small ``delta`` (Laplace), s is E[abs(r)].
    assert scale(SQUARE, 0.7) == pytest.approx(1.4)
    assert scale(Loss(1e-9, scale=1e9), 0.7) == pytest.approx(0.7, rel=1e-6)


def test_a_typed_formula_takes_the_same_priors() -> None:
    runs = make_runs(surface(60, noise=0.01))
    for objective in ("ols-log", "huber-log"):
        spec = FitSpec(objective=objective, prior={"alpha": (0.3, 0.02), "B": (2000.0, 100.0)}, bootstrap=0)
        law = fit(spec, runs)
        typed = fit(spec.model_copy(update={"law": "formula", "formula": "E + A/N^alpha + B/D^beta"}), runs)
        value = {p.name: p.value for p in typed.parameters}
        assert value == pytest.approx({p.name: p.value for p in law.parameters}, rel=1e-4)
        assert typed.objective == pytest.approx(law.objective, rel=1e-6)
    formula = FitSpec(law="formula", formula="a + b*N/1e9", objective="ols", prior={"a": (2.0, 0.01)}, bootstrap=200)
    x = np.linspace(1, 10, 40)
    y = 2 + 0.3 * x + 0.1 * np.random.default_rng(0).normal(size=40)
    line = fit(formula, make_runs({"N": 1e9 * x, "D": x, "loss": y}))
    basis = np.stack([np.ones(40), x], axis=1)
    variance = np.linalg.lstsq(basis, y)[1][0] / 38
    covariance = np.linalg.inv(basis.T @ basis / variance + np.diag([1e4, 0]))
    assert line.theta == pytest.approx(covariance @ (basis.T @ y / variance + [2e4, 0]), rel=1e-7)
    assert np.std(line.resamples, axis=0) == pytest.approx(np.sqrt(np.diag(covariance)), rel=0.2)


@pytest.mark.parametrize("objective", ["huber-log", "lad", "asymmetric"])
def test_no_step_of_scipy_improves_on_a_robust_fit_with_priors(objective: Any) -> None:
    values = surface(60, noise=0.02)
    prior = {"A": (400.0, 20.0), "beta": (0.4, 0.01)}
    runs = make_runs(values)
    free = fit(FitSpec(objective=objective, bootstrap=0), runs)
    found = fit(FitSpec(objective=objective, prior=prior, bootstrap=0), runs)
    how = bent(found.spec, values["loss"])
    per = scale(how.loss, (free.objective or 0) / 55)

    def total(t: Any) -> float:
        f = found.law.predict(t, values)
        r = np.log(np.maximum(f, 1e-300) / values["loss"]) if how.log else f - values["loss"]
        pulls = [(t[1] - 400) / 20, (t[4] - 0.4) / 0.01]
        return float(how.loss.value(r).sum() + per / 2 * np.sum(np.square(pulls)))

    best = total(found.theta)
    assert best < total(free.theta)
    for start in (found.theta, free.theta):
        near = minimize(total, start, method="Nelder-Mead", options={"xatol": 1e-10, "maxiter": 3000})
        assert near.fun >= best * (1 - 1e-7)


@pytest.mark.parametrize(
    ("spec", "columns"),
    [
        (FitSpec(), surface(30, 0.01)),
        (FitSpec(law="power", axis="D"), surface(30, 0.01)),
        (FitSpec(law="dimension-bound", axis="D"), surface(30, 0.01)),
    ],
)
def test_priors_see_the_parameters_of_the_law_and_their_slopes(spec: FitSpec, columns: dict[str, Any]) -> None:
    s = sample(spec, make_runs(columns))
    p = problem(s.law, s.spec, s.columns, s.y, s.weight)
    forms, q = p.forms(p.law.names), len(p.low)
    theta = np.random.default_rng(0).uniform(0.2, 2.0, (7, q))
    assert forms.values(theta) == pytest.approx(p.external(theta), rel=1e-12)
    step = 1e-6 * np.eye(q)
    central = [(p.external(theta + h) - p.external(theta - h)) / 2e-6 for h in step]
    assert forms.slopes(theta) == pytest.approx(np.stack(central, axis=-1), rel=1e-6, abs=1e-9)
