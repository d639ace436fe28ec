"""The law of trained cells (one training run each): compared with simulated tables and an independent fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import curve_fit

from isoplan.data.amplitudes import published_exponents
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.amplitude.cell_laws import exponents, fit_cells
from tests.engine.planning.amplitude.trained import POINTS, cells, table


@settings(max_examples=15, deadline=None)
@given(st.floats(0.4, 2.2), st.integers(0, 50))
def test_the_law_of_a_noisy_table_holds_its_truth(alpha: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    D = np.repeat(POINTS, 3).astype(float)
    law = fit_cells("D", D, (10 / D) ** alpha * np.exp(0.1 * rng.standard_normal(len(D))))
    low, high = law.interval("alpha")
    assert low < law.value("alpha") < high
    assert abs(law.value("alpha") - alpha) < 4 * (high - low) / 2
    assert law.scatter == pytest.approx(0.1, rel=0.75)


def test_intervals_are_those_of_an_independent_fit_of_the_logs() -> None:
    """With errors of 10 %, half the width of a profile interval equals the standard error that scipy computes."""
    rng = np.random.default_rng(2)
    D = np.repeat(POINTS, 3).astype(float)
    loss = (1e-3 + (10 / D) ** 1.3) * np.exp(0.1 * rng.standard_normal(len(D)))
    law = fit_cells("D", D, loss)

    def model(x: np.ndarray, logs: float, alpha: float, K: float) -> np.ndarray:
        return np.log(K + np.exp(alpha * (logs - np.log(x))))

    best, cov = curve_fit(model, D, np.log(loss), (np.log(9), 1.2, 8e-4), np.full(len(D), 0.1), absolute_sigma=True)
    assert law.value("alpha") == pytest.approx(best[1], rel=1e-4)
    for name, at in (("alpha", 1), ("K", 2)):
        low, high = law.interval(name)  # type: ignore[arg-type]
        assert (high - low) / 2 == pytest.approx(np.sqrt(cov[at, at]), rel=0.05)
    low, high = law.interval("X_c")
    assert np.log(high / low) / 2 == pytest.approx(np.sqrt(cov[0, 0]), rel=0.05)


def test_a_floor_of_zero_is_the_lower_end_and_few_places_hold_it() -> None:
    D = np.repeat(POINTS, 3).astype(float)
    assert fit_cells("D", D, (10 / D) ** 1.3).interval("K")[0] == 0
    three = fit_cells("D", D[:9], (10 / D[:9]) ** 1.3)
    assert three.interval("K") == (0, 0)
    assert three.value("alpha") == pytest.approx(1.3)
    with pytest.raises(PlannerError, match="cells with at least two values of D"):
        fit_cells("D", [100, 100], [0.1, 0.2])


def test_exponents_of_all_processes_beside_the_published() -> None:
    both = cells(table("Zg", 2, 2.0), table("Zgg", 5, 1.3), table("ttH", 5, 1.5, points=(1000, 3000)))
    assert [(one.process, one.d) for one in exponents(both)] == [("Zg", 2), ("Zgg", 5)]
    assert exponents(both)[1].alpha == pytest.approx(1.3, rel=1e-5)
    printed = {one.process: one for one in published_exponents()}
    assert [printed[name].alpha for name in ("Zg", "Zgg", "Zggg")] == [2.084, 1.301, 1.008]
    assert printed["Zg"].ends == pytest.approx((2.057, 2.111))
    assert {one.process: one.d for one in published_exponents()}["Zgggg"] == 11


def test_losses_that_scatter_by_more_than_a_tenth_widen_the_interval_by_as_much() -> None:
    """If the losses scatter by 40 %, the interval equals that of a NumPy fit with errors from the residuals."""
    rng = np.random.default_rng(5)
    D = np.repeat(POINTS, 3).astype(float)
    loss = (10 / D) ** 1.3 * np.exp(0.4 * rng.standard_normal(len(D)))
    law = fit_cells("D", D[:9], loss[:9])
    best, cov = np.polyfit(np.log(D[:9]), np.log(loss[:9]), 1, cov=True)
    low, high = law.interval("alpha")
    assert law.value("alpha") == pytest.approx(-best[0], rel=1e-4)
    assert law.scatter > 0.2
    assert (high - low) / 2 == pytest.approx(np.sqrt(cov[0, 0]), rel=0.02)
