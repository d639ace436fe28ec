"""Tests of the location of an optimum (inside the sweep, outside, not located), for sweeps with a known optimum."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.verdicts import CASES, said, simulated
from isoplan.engine.fitting import FitSpec, fit, minima, parabolas
from isoplan.engine.fitting.cards import read_fit, to_json
from isoplan.engine.fitting.types.optimum_location import differs, locate_optimum, monotone_edge
from isoplan.engine.schema import Metric
from tests.engine.fitting.tables import make_runs, sweep


@pytest.mark.parametrize("case", list(CASES))
def test_the_right_verdict_comes_for_simulated_sweeps(case: str) -> None:
    found = said(case, "starvation", refits=12, total=5)
    assert sum(place == CASES[case][1] for place in found) >= 4


def test_shares_decide() -> None:
    inside, left, right, none = 0.1, 0.001, 5.0, np.nan
    for draws, place, shares in (
        ([inside] * 9 + [left], "inside", (0.9, 0.1, 0, 0)),
        ([inside] * 8 + [left] * 2, "not located", (0.8, 0.2, 0, 0)),
        ([inside] * 4 + [left] * 6, "outside left", (0.4, 0.6, 0, 0)),
        ([0.0] * 7 + [none] * 3, "outside left", (0, 0.7, 0, 0.3)),
        ([np.inf] * 6 + [right] * 2 + [inside] * 2, "outside right", (0.2, 0, 0.8, 0)),
        ([none] * 10, "not located", (0, 0, 0, 1)),
        ([left] * 4 + [right] * 4 + [none] * 2, "not located", (0, 0.4, 0.4, 0.2)),
    ):
        found = locate_optimum(inside, draws, 0.005, 0.5)
        assert found.place == place
        assert found.shares == pytest.approx(shares)
    assert locate_optimum(inside, [inside] * 10, 0.005, 0.5, flat=True).place == "not located"
    alone = locate_optimum(right, [], 0.005, 0.5)
    assert (alone.place, alone.shares) == ("outside right", ())
    assert alone.text == "right of the sweep from 0.005 to 0.5 (according to the best fit, without resamples)"
    assert locate_optimum(inside, [inside] * 19 + [left], 0.005, 0.5).text == (
        "inside the sweep from 0.005 to 0.5 (resamples: 95 % inside, 5 % outside left)"
    )


@pytest.mark.parametrize("law", ["log-parabola", "starvation"])
@pytest.mark.parametrize("shape", ["1/x", "power", "saturating", "rising"])
def test_runs_that_fall_throughout_have_no_optimum_inside(law: str, shape: str) -> None:
    x = np.geomspace(1, 100, 9)
    y = {"1/x": 1 + 1 / x, "power": 1 + x**-0.4, "saturating": 2 - x / (x + 2), "rising": 3 + 1e-3 * x}[shape]
    found = fit(FitSpec(law=law, axis="x", objective="ols", bootstrap=30), make_runs({"x": x, "loss": y}))
    place = found.optimum_location
    assert place is not None
    assert place.place != "inside"
    assert (place.place != "not located") or any(w.code in ("edge", "optimum") for w in found.warnings)


def test_a_parabola_through_a_monotone_sweep_says_whose_turn_it_is() -> None:
    x = np.geomspace(1, 100, 9)
    runs = make_runs({"x": x, "loss": 1 + 1 / x})
    found = fit(FitSpec(law="log-parabola", axis="x", objective="ols", bootstrap=40), runs)
    place = found.optimum_location
    assert place is not None
    assert (place.place, place.edge) == ("not located", True)
    assert "the runs improve up to one end of the sweep" in place.text
    (said,) = [w.text for w in found.warnings if w.code == "edge"]
    assert said.startswith("The runs improve up to x = 100, an end of the sweep: the optimum at ")
    assert read_fit(to_json(found)).optimum_location == place


def test_the_end_to_which_runs_fall_is_found_in_noise_and_a_turn_is_none() -> None:
    x = np.repeat(np.arange(1.0, 9), 2)
    noise = 0.02 * np.random.default_rng(0).normal(size=16)
    assert monotone_edge(x, 1 / x + noise) == 8.0
    assert monotone_edge(x, x + noise) == 1.0
    assert monotone_edge(x, (x - 6) ** 2 + noise) is None
    assert monotone_edge(np.arange(3.0), np.arange(3.0)) is None


def test_a_parabola_with_its_optimum_in_the_sweep_is_inside() -> None:
    inside = 0
    for seed in range(40):
        x = np.geomspace(0.005, 0.5, 9)
        y = 2 + 0.1 * np.log(x / 0.05) ** 2
        y = y + 0.005 * np.ptp(y) * np.random.default_rng(seed).normal(size=9)
        runs = make_runs({"x": x, "loss": y})
        place = fit(
            FitSpec(law="log-parabola", axis="x", objective="ols", bootstrap=20, seed=seed), runs
        ).optimum_location
        inside += place is not None and place.place == "inside"
    assert inside >= 36


def test_a_constant_is_told_from_a_curve() -> None:
    """At p < 0.05 the F test accepts a curve in 5 % of the tables of pure noise; a clear curve has p < 0.01."""
    random, x = np.random.default_rng(0), np.linspace(-1, 1, 12)
    design = np.stack([np.ones(12), x, x**2], axis=1)
    hat = design @ np.linalg.pinv(design)
    chances = []
    for _ in range(2000):
        y = random.normal(size=12)
        chances.append(differs(y, y - hat @ y, np.ones(12), 3))
    assert np.mean(np.array(chances) < 0.05) == pytest.approx(0.05, abs=0.015)
    y = 3 * x**2 + random.normal(size=12)
    assert differs(y, y - hat @ y, np.ones(12), 3) < 0.01
    assert differs(np.arange(4.0), np.zeros(4), np.ones(4), 3) == 0.0


def test_where_larger_is_better_the_best_is_the_maximum() -> None:
    x = np.geomspace(0.005, 0.5, 12)
    y = 0.5 - 0.02 * np.log(x / 0.03) ** 2 + 0.001 * np.sin(7 * np.arange(12))
    runs = make_runs({"x": x, "recall": y}, metrics=(Metric(column="recall", direction="max"),))
    for law in ("log-parabola", "starvation"):
        made = fit(FitSpec(law=law, axis="x", y="recall", objective="ols", bootstrap=40), runs)
        found = made.optimum_location
        assert found is not None
        assert found.place == "inside"
        assert made.law.optimum is not None
        assert float(made.law.optimum(made.values)) == pytest.approx(0.03, rel=0.1)


def test_the_verdict_is_in_text_and_survives_json() -> None:
    runs = next(simulated("a decade above the sweep", 1))
    made = fit(FitSpec(law="starvation", axis="x", objective="ols", bootstrap=40), runs)
    assert "The best x is right of the sweep from 0.005 to 0.5 (resamples: " in repr(made)
    assert any(w.code == "optimum" and "add runs at larger x" in w.text for w in made.warnings)
    assert read_fit(to_json(made)).optimum_location == made.optimum_location
    optimum = to_json(made)["optimum"]
    assert (optimum["place"], optimum["low"], optimum["high"]) == ("outside right", 0.005, 0.5)
    assert sum(optimum["shares"].values()) == pytest.approx(1)
    flat = fit(
        FitSpec(law="starvation", axis="x", objective="ols", bootstrap=0), next(simulated("flat within the noise", 1))
    )
    assert read_fit(to_json(flat)).optimum_location == flat.optimum_location
    assert "do not differ from a constant" in repr(flat)
    assert fit(FitSpec(law="power", axis="x", bootstrap=0), runs).optimum_location is None


def test_minima_of_budgets_have_verdicts_of_their_own() -> None:
    """Three budgets get three verdicts: optimum inside the sweep, optimum beyond the largest N, and flat loss."""
    C = 1e18
    values = sweep([C, 4 * C, 16 * C], noise=0.002, seed=1, width=1.0)
    random = np.random.default_rng(0)
    at = np.repeat([0, 1, 2], 9)
    values["N"][at == 1] /= np.exp(2.5)
    offset = np.log(values["N"] / (0.1 * values["budget"] ** 0.5))
    values["loss"] = 1.5 + (1e18 / values["budget"]) ** 0.12 + 0.03 * offset**2 + 0.0005 * random.normal(size=27)
    values["loss"][at == 2] = 2.0 + 0.0005 * random.normal(size=9)
    values["D"] = values["budget"] / (6 * values["N"])
    spec = FitSpec(law="isoflop", objective="ols", bootstrap=60)
    runs = make_runs(values)
    found = minima(runs, spec)
    assert [v.place for v in found] == ["inside", "outside right", "not located"]
    assert [v.flat for v in found] == [False, False, True]
    assert found == minima(runs, spec)
    assert sum(found[0].shares) == pytest.approx(1)
    for p, v in zip(parabolas(runs, spec), found, strict=True):
        assert (v.low, v.high) == pytest.approx((p.N_low, p.N_high))
