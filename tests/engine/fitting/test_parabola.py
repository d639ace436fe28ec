"""Tests of iso-FLOP minima: published allocations, simulated sweeps, and budgets without a minimum."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from isoplan.engine.costs import ComputeRule, TwoPart
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit, parabolas, power_through, residuals
from isoplan.engine.schema import Metric
from tests.engine.fitting.tables import make_runs, sweep

BUDGETS = np.geomspace(1e17, 1e21, 5)


def test_behavioural_table_4_gives_its_published_allocation() -> None:
    C = np.array([1e15, 1e16, 1e17, 1e18, 1e19])
    size = power_through(C, np.array([695e3, 2.51e6, 8.67e6, 38.9e6, 216e6]))
    data = power_through(C, np.array([240e6, 664e6, 1.92e9, 4.28e9, 7.73e9]))
    assert size == pytest.approx([3.33e-4, 0.6175], rel=2e-3)
    assert data == pytest.approx([499, 0.3825], rel=2e-3)
    exponents = [
        power_through(C, np.array([0.92e6, 1.95e6, 10.9e6, 31.9e6, 251e6]))[1],  # N* (train surrogate, Table 13)
        power_through(C, np.array([62e6, 251e6, 537e6, 1.80e9, 3.65e9]))[1],
    ]
    assert exponents == pytest.approx([0.609, 0.440], abs=5e-4)


def test_power_through_holds_what_is_given_and_skips_nan() -> None:
    x = np.array([1.0, 10, 100, 1000])
    y = 3 * x**0.5
    assert power_through(x, np.array([*y[:3], np.nan])) == pytest.approx([3, 0.5])
    assert power_through(x, y, scale=3.0) == pytest.approx([3, 0.5])
    assert power_through(x, y, exponent=0.5) == pytest.approx([3, 0.5])
    assert power_through(x, y, scale=2.0, exponent=0.4) == pytest.approx([2, 0.4])
    assert power_through(x, np.stack([y, 2 * y])) == pytest.approx(np.array([[3, 0.5], [6, 0.5]]))


@pytest.mark.parametrize("objective", ["huber-log", "ols", "ols-log"])
def test_noise_free_parabolas_give_the_truth_back(objective: Any) -> None:
    values = sweep(BUDGETS)
    # Objectives with log residuals fit a parabola to the log of the loss.
    if objective != "ols":
        offset = np.log(values["N"] / (0.1 * values["budget"] ** 0.5))
        values["loss"] = (1.5 + (1e18 / values["budget"]) ** 0.12) * np.exp(0.02 * offset**2)
    found = fit(FitSpec(law="isoflop", objective=objective, bootstrap=20), make_runs(values))
    truth = {"k": 0.1, "a": 0.5, "k_D": 1 / 0.6, "b": 0.5, "E": 1.5, "C_L": 1e18, "gamma": 0.12}
    assert {p.name: p.value for p in found.parameters} == pytest.approx(truth, rel=1e-6)
    assert found.resamples == pytest.approx(np.tile(found.theta, (20, 1)), rel=1e-4)
    assert found.warnings == ()


def test_noisy_parabolas_cover_the_truth() -> None:
    found = fit(FitSpec(law="isoflop", objective="ols", bootstrap=300), make_runs(sweep(BUDGETS, noise=0.003, seed=1)))
    p = {x.name: x for x in found.parameters}
    for name, truth in {"a": 0.5, "b": 0.5, "E": 1.5, "gamma": 0.12}.items():
        assert abs(p[name].value - truth) < 4 * (p[name].se or 0), name
    assert p["a"].se == pytest.approx(0.005, rel=1.0)
    again = fit(FitSpec(law="isoflop", objective="ols", bootstrap=300), make_runs(sweep(BUDGETS, noise=0.003, seed=1)))
    assert np.array_equal(again.resamples, found.resamples)


def test_noisy_parabolas_give_an_open_floor_within_four_errors() -> None:
    """With eight budgets, the losses at the minima determine the floor E, the scale C_L and the exponent gamma."""
    values = sweep(np.geomspace(1e17, 1e22, 8), noise=0.001, seed=2)
    found = fit(FitSpec(law="isoflop", objective="ols", bootstrap=100), make_runs(values))
    truth = {"k": 0.1, "a": 0.5, "k_D": 1 / 0.6, "b": 0.5, "E": 1.5, "C_L": 1e18, "gamma": 0.12}
    for p in found.parameters:
        assert not p.fixed
        assert p.se is not None
        assert abs(p.value - truth[p.name]) < 4 * p.se, p


@pytest.mark.parametrize("name", ["E", "gamma", "C_L"])
def test_a_metric_with_an_open_ceiling_is_the_mirror_image_of_its_loss(name: str) -> None:
    values = sweep(BUDGETS, noise=0.001, seed=4)
    spec = FitSpec(law="isoflop", objective="ols", bootstrap=0)
    loss = fit(spec, make_runs(values))
    mirrored = {**{k: x for k, x in values.items() if k != "loss"}, "auc": -values["loss"]}
    auc = fit(spec.model_copy(update={"y": "auc"}), make_runs(mirrored, metrics=(Metric(column="auc"),)))
    assert float(auc.values[name]) == pytest.approx(float(loss.values[name]), rel=1e-6)


def test_the_parabolas_are_those_of_polyfit_and_of_scipys_huber() -> None:
    values = sweep(BUDGETS, noise=0.01, seed=2)
    runs = make_runs(values)
    for p, budget in zip(parabolas(runs, FitSpec(law="isoflop", objective="ols")), BUDGETS, strict=True):
        at = values["budget"] == budget
        x, y = np.log(values["N"][at]), values["loss"][at]
        c2, c1, c0 = np.polyfit(x - p.centre, y, 2)
        assert p.coefficients == pytest.approx((c0, c1, c2), rel=1e-8)
        assert p.N_star == pytest.approx(np.exp(p.centre - c1 / (2 * c2)), rel=1e-8)
        assert p.D_star == pytest.approx(budget / (6 * p.N_star), rel=1e-9)
        assert p.loss_star == pytest.approx(c0 - c1**2 / (4 * c2), rel=1e-9)
        assert float(p.predict(np.array(p.N_star))) == pytest.approx(p.loss_star)
        assert (p.n, p.inside, p.located) == (9, True, True)
        assert p.C == pytest.approx(budget)

    def huber(c: Any, x: Any, y: Any) -> float:
        r = np.abs(c[0] + c[1] * x + c[2] * x * x - y)
        return float(1e3 * np.sum(np.where(r <= 1e-3, r * r / 2, 1e-3 * (r - 5e-4))))

    for p in parabolas(runs, FitSpec(law="isoflop")):
        at = values["budget"] == p.budget
        x, y = np.log(values["N"][at]) - p.centre, np.log(values["loss"][at])
        ours = huber(p.coefficients, x, y)
        best = min(
            minimize(huber, start, args=(x, y), method="Nelder-Mead", options={"xatol": 1e-12, "fatol": 1e-14}).fun
            for start in (np.polyfit(x, y, 2)[::-1], np.array(p.coefficients))
        )
        assert ours <= best * (1 + 1e-4)


def test_measured_compute_takes_d_from_the_sweep() -> None:
    values = sweep(BUDGETS)
    values["C"] = values["budget"]
    values["D"] = values["C"] / (8 * values["N"] ** 0.95)  # C = 8 N^0.95 D, which is no compute rule of Isoplan.
    found = parabolas(make_runs(values), FitSpec(law="isoflop", objective="ols"))
    for p in found:
        assert p.D_star == pytest.approx(p.C / (8 * p.N_star**0.95), rel=1e-8)


def test_a_rule_that_is_no_product_takes_d_from_the_runs() -> None:
    runs = make_runs(sweep(BUDGETS))
    step = ComputeRule(rule="step", parts=TwoPart(s=0.02, h=100, B=256))
    runs = replace(runs, roles=runs.roles.model_copy(update={"compute": step}))
    for p in parabolas(runs, FitSpec(law="isoflop", objective="ols")):
        assert p.D_star == pytest.approx(p.C / (6 * p.N_star), rel=1e-8)


@settings(deadline=None, max_examples=10)
@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.permutations(range(45)))
def test_units_of_n_and_d_and_the_order_of_rows_do_not_matter(n_unit: float, d_unit: float, order: list[int]) -> None:
    values = sweep(BUDGETS, noise=0.003, seed=3)
    values["C"] = values["budget"]
    spec = FitSpec(law="isoflop", objective="ols", bootstrap=0)
    base = fit(spec, make_runs(values))
    units = {"N": n_unit, "D": d_unit}
    found = fit(spec, make_runs({name: v[order] * units.get(name, 1.0) for name, v in values.items()}))
    scaled = {"k": n_unit, "k_D": d_unit}
    expected = {name: float(v) * scaled.get(name, 1.0) for name, v in base.values.items()}
    assert {p.name: p.value for p in found.parameters} == pytest.approx(expected, rel=1e-5)


def test_a_larger_is_better_metric_has_a_maximum() -> None:
    values = sweep(BUDGETS)
    runs = make_runs({**values, "auc": 5 - values["loss"]}, metrics=(Metric(column="auc"),))
    spec = FitSpec(law="isoflop", y="auc", objective="ols", bootstrap=30)
    for p, budget in zip(parabolas(runs, spec), BUDGETS, strict=True):
        assert p.N_star == pytest.approx(0.1 * budget**0.5, rel=1e-8)
        assert p.loss_star == pytest.approx(3.5 - (1e18 / budget) ** 0.12, rel=1e-8)
        assert p.coefficients[2] < 0
    found = fit(spec, runs)
    assert found.values["a"] == pytest.approx(0.5, rel=1e-8)
    assert found.predict({"C": 1e19}) == pytest.approx(3.5 - (1e18 / 1e19) ** 0.12, rel=1e-6)


def test_an_optimum_outside_or_missing_is_said_and_a_wrong_curve_left_out() -> None:
    values = sweep(BUDGETS)
    offset = np.log(values["N"] / (0.1 * values["budget"] ** 0.5))
    first, second = values["budget"] == BUDGETS[0], values["budget"] == BUDGETS[1]
    outside = np.where(first, 1.8 + 0.03 * (offset - 2.5) ** 2, values["loss"])
    wrong = np.where(second, 2.5 - 0.03 * offset**2, outside)
    spec = FitSpec(law="isoflop", objective="ols", bootstrap=0)
    found = {w.code: w.text for w in fit(spec, make_runs({**values, "loss": wrong})).warnings}
    assert "budget 1e+17 lies outside its sweep" in found["outside-sweep"]
    assert "budget 1e+18 has no optimum" in found["not-located"]
    one, two, *_ = parabolas(make_runs({**values, "loss": wrong}), spec)
    assert (one.inside, one.located) == (False, True)
    assert (two.inside, two.located) == (False, False)
    assert np.isnan([two.N_star, two.D_star, two.loss_star]).all()


def test_with_three_budgets_the_floor_is_taken_as_zero_and_said() -> None:
    found = fit(FitSpec(law="isoflop", objective="ols", bootstrap=40), make_runs(sweep(BUDGETS[:3])))
    assert found.values["E"] == 0.0
    assert next(p for p in found.parameters if p.name == "E").fixed
    assert "With 3 budgets the floor" in next(w.text for w in found.warnings if w.code == "floor-fixed")
    assert found.values["a"] == pytest.approx(0.5, rel=1e-6)


def test_fixed_parameters_and_runs_without_a_budget() -> None:
    values = sweep(BUDGETS, noise=0.003)
    values["budget"] = np.where(np.arange(45) == 4, np.nan, values["budget"])
    spec = FitSpec(law="isoflop", objective="ols", fixed={"E": 1.5, "a": 0.5}, bootstrap=30)
    found = fit(spec, make_runs(values))
    assert [found.values["E"], found.values["a"]] == pytest.approx([1.5, 0.5], rel=1e-14)
    assert (found.resamples[:, [1, 4]] == [0.5, 1.5]).all()
    assert "1 of 45 runs belong to no budget" in next(w.text for w in found.warnings if w.code == "no-budget")


def test_a_budget_with_two_runs_is_named_and_left_out() -> None:
    values = sweep(BUDGETS, noise=0.003)
    kept = np.r_[0, 8, 9:45]  # Keep only two runs of the first budget.
    found = fit(FitSpec(law="isoflop", bootstrap=0), make_runs({k: v[kept] for k, v in values.items()}))
    thin = next(w.text for w in found.warnings if w.code == "thin-budget")
    assert f"left out (number of runs in parentheses): {BUDGETS[0]:.3g} (2)." in thin
    full = fit(FitSpec(law="isoflop", bootstrap=0), make_runs({k: v[9:] for k, v in values.items()}))
    assert found.theta == pytest.approx(full.theta, rel=1e-9)


def test_refusals() -> None:
    with pytest.raises(PlannerError, match="at least two budgets with three model sizes each: 1 of 1"):
        fit(FitSpec(law="isoflop"), make_runs(sweep(BUDGETS[:1])))
    with pytest.raises(PlannerError, match="0 of 5 budgets"):
        fit(FitSpec(law="isoflop"), make_runs(sweep(BUDGETS, sizes=2)))
    values = sweep(BUDGETS)
    with pytest.raises(PlannerError, match="Only 0 of 5 budgets have an optimum near their sweep"):
        fit(FitSpec(law="isoflop"), make_runs({**values, "loss": 5 - values["loss"]}))
    found = fit(FitSpec(law="isoflop", bootstrap=0), make_runs(values))
    with pytest.raises(PlannerError, match="look at its parabolas"):
        residuals(found, make_runs(values))
