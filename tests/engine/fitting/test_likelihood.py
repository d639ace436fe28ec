"""Tests of AIC and BIC: likelihoods compared with scipy's densities, a numerical integral and a published value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, special, stats

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.solver.objectives import SQUARE, Loss
from isoplan.engine.fitting.validation.comparison import criteria, most_likely
from isoplan.engine.store.files.table_files import read_runs
from tests.engine.fitting.tables import make_runs, surface, sweep

R = np.random.default_rng(0).standard_t(3, 200) * 0.01
ONE = np.ones(200)


def test_squares_are_a_gaussian_whatever_the_weights() -> None:
    for loss in (SQUARE, Loss(10.0)):
        gaussian = stats.norm.logpdf(R, 0, np.sqrt(np.mean(R**2))).sum()
        assert most_likely(loss, R, ONE) == pytest.approx(gaussian, rel=1e-9)
    weight = np.random.default_rng(1).uniform(0.2, 5, 200)
    scale = np.sqrt(np.mean(weight * R**2)) / np.sqrt(weight)
    assert most_likely(SQUARE, R, weight) == pytest.approx(stats.norm.logpdf(R, 0, scale).sum(), rel=1e-9)


def test_a_small_delta_is_a_laplace_density() -> None:
    laplace = stats.laplace.logpdf(R, 0, np.mean(np.abs(R))).sum()
    assert most_likely(Loss(1e-10), R, ONE) == pytest.approx(laplace, rel=1e-7)


def test_an_asymmetric_loss_is_a_laplace_density_with_two_sides() -> None:
    size = np.mean(np.where(R > 0, 10 * R, -R))
    expected = -200 * (1 + np.log(1.1 * size))
    assert most_likely(Loss(1e-10, 1e10, 10.0), R, ONE) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("delta", [1e-3, 1e-2, 3e-2])
def test_huber_in_closed_form(delta: float) -> None:
    rho = Loss(delta).value(R).sum()

    def minus(log_s: float) -> float:
        s = np.exp(log_s)
        core = np.sqrt(2 * np.pi * s) * special.erf(delta / np.sqrt(2 * s))
        return float(rho / s + 200 * np.log(core + 2 * s / delta * np.exp(-(delta**2) / (2 * s))))

    best = optimize.minimize_scalar(minus, bounds=(-16, -4), method="bounded", options={"xatol": 1e-10})
    assert most_likely(Loss(delta), R, ONE) == pytest.approx(-best.fun, abs=1e-6)


def test_the_printed_likelihood_of_the_replication(shared: Path) -> None:
    """The log-likelihood of 240 runs is 879.773, as published by Besiroglu et al. 2024.

    With ``delta`` = 1e-9 the Huber loss is proportional to the absolute residual.
    """
    runs = read_runs(shared / "runs" / "chinchilla_epoch.csv", {}, "epoch_kept_240 = 1")
    found = criteria(fit(FitSpec(delta=1e-9, bootstrap=0), runs), runs)
    assert found.log_likelihood == pytest.approx(879.773, abs=0.01)
    assert found.parameters == 6
    assert found.aic == pytest.approx(12 - 2 * found.log_likelihood)
    assert found.bic == pytest.approx(6 * np.log(240) - 2 * found.log_likelihood)


def test_a_held_parameter_is_not_counted() -> None:
    runs = make_runs(surface(40, noise=0.01))
    free, held = (criteria(fit(FitSpec(bootstrap=0, fixed=f), runs), runs) for f in ({}, {"E": 1.8}))
    assert (free.parameters, held.parameters) == (6, 5)
    assert held.log_likelihood <= free.log_likelihood + 1e-6


def test_what_has_no_likelihood_says_so() -> None:
    runs = make_runs(sweep(np.geomspace(1e17, 1e21, 5)))
    with pytest.raises(PlannerError, match="describes minima"):
        criteria(fit(FitSpec(law="isoflop", bootstrap=0), runs), runs)
    with pytest.raises(PlannerError, match="exactly"):
        most_likely(SQUARE, np.zeros(5), np.ones(5))
