"""Tests of the bias of iso-FLOP fits: the error of D* at 1e24 FLOPs after a fit at 1e17 to 1e21 (arXiv:2603.22339)."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.validation.isoflop_minima import ParabolaBias, parabola_bias
from isoplan.engine.schema import Runs
from tests.engine.fitting.tables import make_runs

SURFACES = {
    "symmetric": (0.31, 0.31, 400.0, 400.0),
    "chinchilla": (0.34, 0.28, 406.4, 410.7),
    "three to one": (0.465, 0.155, 406.4, 410.7),
}
SPEC = FitSpec(law="isoflop", objective="ols", bootstrap=0)


def design(surface: str, width: float, off: float = 1.0, drift: float = 1.0, noise: float = 0.0) -> Runs:
    """Simulate an iso-FLOP sweep of five budgets with fifteen sizes from ``N_c / width`` to ``N_c * width``.

    The centre N_c is the optimal N divided by ``off`` and by a factor that increases from 1 at the first budget to
    ``drift`` at the last.
    """
    alpha, beta, A, B = SURFACES[surface]
    C = np.geomspace(1e17, 1e21, 5)
    best = (alpha * A / (beta * B)) ** (1 / (alpha + beta)) * (C / 6) ** (beta / (alpha + beta))
    centre = best / off / drift ** (np.arange(5) / 4)
    N = (centre[:, None] * np.geomspace(1 / width, width, 15)).ravel()
    budget = np.repeat(C, 15)
    loss = 1.69 + A * N**-alpha + B * (budget / (6 * N)) ** -beta
    loss *= np.exp(noise * np.random.default_rng(0).normal(size=75))
    return make_runs({"N": N, "D": budget / (6 * N), "budget": budget, "loss": loss})


def bias(runs: Runs) -> ParabolaBias:
    return parabola_bias(fit(SPEC, runs), runs)


PUBLISHED = [
    ("symmetric", {}, (0, 0, 0, 0)),
    ("chinchilla", {}, (-0.33, -1.30, -2.90, -5.10)),
    ("three to one", {}, (-1.67, -6.50, -13.91, -23.12)),
    ("symmetric", {"off": 3.0}, (3.97, None, None, 1.51)),
    ("chinchilla", {"off": 3.0}, (7.11, None, None, 0.24)),
    ("three to one", {"off": 3.0}, (19.2, None, None, -2.4)),
    ("symmetric", {"drift": 3.0}, (6.07, None, None, None)),
    ("chinchilla", {"drift": 3.0}, (11.6, None, None, None)),
    ("three to one", {"drift": 3.0}, (34.6, None, None, None)),
]


@pytest.mark.parametrize(("surface", "how", "percent"), PUBLISHED)
def test_published_errors_of_d_three_decades_beyond(
    surface: str, how: dict[str, float], percent: tuple[float | None, ...]
) -> None:
    for width, expected in zip((2, 4, 8, 16), percent, strict=True):
        if expected is not None:
            found = bias(design(surface, width, **how))
            assert 100 * found.at[-1].D == pytest.approx(expected, abs=0.05 if how else 0.006)
            assert found.at[-1].C == pytest.approx(1e24)


def test_a_constant_offset_leaves_the_exponent_right_and_drift_does_not() -> None:
    steady = bias(design("chinchilla", 4, off=3.0))
    assert steady.truth == pytest.approx(0.28 / 0.62, rel=1e-6)
    assert steady.bias == pytest.approx(0, abs=1e-8)
    assert [one.N for one in steady.at] == pytest.approx([steady.at[0].N] * 4, rel=1e-5)
    drifting = bias(design("chinchilla", 4, drift=3.0))
    assert drifting.bias < -0.005
    # The fitted and the true optimum both satisfy N* D* = C / 6.
    assert (1 + drifting.at[-1].N) * (1 + drifting.at[-1].D) == pytest.approx(1, rel=1e-9)
    assert "bias -0.0073" in drifting.sentence


def test_noise_hardly_moves_it() -> None:
    assert bias(design("three to one", 4, noise=1e-3)).at[-1].D == pytest.approx(-0.065, abs=0.01)


def test_d_follows_from_measured_compute() -> None:
    runs = design("chinchilla", 8)
    assert runs.roles.C is None
    measured = make_runs({**runs.values, "C": runs["C"]})
    assert bias(measured).at[-1].D == pytest.approx(bias(runs).at[-1].D, rel=1e-9)


def test_a_surface_without_a_term_has_no_optimum() -> None:
    runs = design("chinchilla", 8)
    flat = make_runs({**runs.values, "loss": 2 + 50 * runs["N"] ** -0.3 + 0.01 * np.log(runs["D"])})
    found = fit(SPEC, runs)
    with pytest.raises(PlannerError, match="is zero, so the surface has no optimum"):
        parabola_bias(found, flat)
