"""Tests of fits of several groups with a shared exponent and separate floors: known truth, scipy's joint optimum."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares
from scipy.special import stdtrit

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit, fit_groups, groups_to_json, read_fit
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.schema import Runs
from tests.engine.fitting.tables import TRUTH, make_runs, surface

FLOORS = {"3 features": 0.60, "21 features": 0.52, "40 particles": 0.45, "128 particles": 0.30}
SCALES = {"3 features": 6e4, "21 features": 1.5e4, "40 particles": 4e4, "128 particles": 2e4}
X = np.geomspace(1e4, 1e8, 9)
NAMES = [name for name in FLOORS for _ in X]
EXACT = np.concatenate([FLOORS[name] + (SCALES[name] / X) ** 0.42 for name in FLOORS])
SHARED = FitSpec(law="power", axis="D", share=("alpha",), objective="ols-log", bootstrap=0)


def inputs(noise: float = 0.0, seed: int = 0, order: Any = slice(None)) -> Runs:
    """Simulate runs of four groups (input configurations) with a common exponent and a separate floor per group."""
    loss = EXACT * np.exp(noise * np.random.default_rng(seed).normal(size=36))
    return make_runs({"D": np.tile(X, 4)[order], "loss": loss[order]}, groups=list(np.array(NAMES)[order]))


def curves(t: Any) -> Any:
    """Compute the losses of the four groups, in the order of FLOORS.

    ``t`` contains the exponent, then the floor and the log scale of each group.
    """
    return np.concatenate([t[1 + 2 * g] + np.exp(t[0] * (t[2 + 2 * g] - np.log(X))) for g in range(4)])


def by_scipy(runs: Runs, residuals: Any) -> Any:
    start = [0.5, *np.ravel([[0.9 * FLOORS[n], np.log(2e4)] for n in FLOORS])]
    return least_squares(residuals, start, x_scale="jac", xtol=1e-15, ftol=1e-15, gtol=1e-15, args=(runs["loss"],))


@pytest.mark.parametrize("objective", ["huber-log", "ols", "ols-log", "lad"])
def test_noise_free_groups_give_the_truth_back(objective: Any) -> None:
    found = fit_groups(SHARED.model_copy(update={"objective": objective}), inputs())
    value = {p.name: p.value for p in found.parameters}
    assert value["alpha"] == pytest.approx(0.42, rel=1e-6)
    for name in FLOORS:
        assert value[f"K[{name}]"] == pytest.approx(FLOORS[name], rel=1e-6)
        assert value[f"X_c[{name}]"] == pytest.approx(SCALES[name], rel=1e-6)


def test_noisy_groups_give_the_truth_within_four_errors_and_the_shared_exponent_better() -> None:
    found = fit_groups(SHARED.model_copy(update={"bootstrap": 200}), inputs(noise=0.005))
    truth = {"alpha": 0.42} | {f"K[{n}]": v for n, v in FLOORS.items()} | {f"X_c[{n}]": v for n, v in SCALES.items()}
    assert {p.name for p in found.parameters} == set(truth)
    for p in found.parameters:
        assert abs(p.value - truth[p.name]) < 4 * (p.se or 0), p
    alone = fit(SHARED.model_copy(update={"share": (), "bootstrap": 200}), inputs(0.005).take(np.arange(9)))
    assert (found.parameters[-1].se or 1) < (alone.parameters[2].se or 0)
    columns = found.resamples.T
    assert columns.shape == (9, 200)
    assert all(np.array_equal(columns[-1], f.resamples[:, 2]) for f in found.fits.values())


def test_the_joint_optimum_is_scipys() -> None:
    runs = inputs(noise=0.02, seed=1)
    found = fit_groups(SHARED, runs)
    best = by_scipy(runs, lambda t, y: np.log(np.maximum(curves(t), 1e-9) / y))
    assert found.objective == pytest.approx(2 * best.cost, rel=1e-9)
    assert found.parameters[-1].value == pytest.approx(best.x[0], rel=1e-5)
    assert found.objective == pytest.approx(sum(f.objective or 0 for f in found.fits.values()))


def test_priors_errors_and_fixed_parameters_work_across_groups() -> None:
    runs = inputs(noise=0.02, seed=2)
    prior = {"alpha": (0.40, 0.01), "K": (0.5, 0.05)}  # K is a floor: its prior applies to each group.
    spec = SHARED.model_copy(update={"objective": "ols", "relative_error": 0.02, "prior": prior})
    found = fit_groups(spec, runs)

    def pulls(t: Any, y: Any) -> Any:
        return np.concatenate([(curves(t) - y) / (0.02 * y), [(t[0] - 0.4) / 0.01], (t[1::2] - 0.5) / 0.05])

    best = by_scipy(runs, pulls)
    assert found.chi2 == (found.objective, 36 - 9)
    assert groups_to_json(found)["objective"]["degrees_of_freedom"] == 27
    assert "All groups: 36 runs, objective" in repr(found)
    value = {p.name: p.value for p in found.parameters}
    assert value["alpha"] == pytest.approx(best.x[0], rel=1e-5)
    assert [value[f"K[{name}]"] for name in FLOORS] == pytest.approx(best.x[1::2], rel=1e-4)
    assert found.objective == pytest.approx(np.sum(((curves(best.x) - runs["loss"]) / (0.02 * runs["loss"])) ** 2))
    loose = fit_groups(SHARED.model_copy(update={"prior": {"alpha": (0.3, 0.02)}, "bootstrap": 100}), runs)
    assert loose.parameters[-1].se is not None
    held = fit_groups(SHARED.model_copy(update={"fixed": {"alpha": 0.42}, "share": ("K",)}), runs)
    assert [p.name for p in held.parameters] == ["K", *(f"X_c[{n}]" for n in sorted(FLOORS)), "alpha"]
    assert held.parameters[-1].fixed
    each = (fit(SHARED.model_copy(update={"share": ()}), runs.take(np.arange(9) + 9 * g)) for g in range(4))
    apart = sum(f.objective or 0.0 for f in each)
    assert apart < fit_groups(SHARED, runs).objective < held.objective


def test_a_surface_shares_all_but_its_floor() -> None:
    parts = [surface(25, noise=0.004, seed=g, truth={**TRUTH, "E": e}) for g, e in enumerate((1.5, 1.8))]
    values = {k: np.concatenate([part[k] for part in parts]) for k in parts[0]}
    spec = FitSpec(share=("A", "B", "alpha", "beta"), bootstrap=40)
    found = fit_groups(spec, make_runs(values, groups=["web"] * 25 + ["books"] * 25))
    assert [p.name for p in found.parameters] == ["E[books]", "E[web]", "A", "B", "alpha", "beta"]
    truth = {"E[books]": 1.8, "E[web]": 1.5, **TRUTH}
    for p in found.parameters:
        assert abs(p.value - truth[p.name]) < 4 * (p.se or 0), p
    # The draws of the two floors are correlated, so their difference is more precise than each floor.
    gap = found.resamples[:, 0] - found.resamples[:, 1]
    assert np.std(gap) < 0.5 * np.std(found.resamples[:, 0])


def test_few_runs_get_the_t_intervals_of_a_linear_law() -> None:
    noisy = EXACT + 0.01 * np.random.default_rng(4).normal(size=36)
    runs = make_runs({"D": np.tile(X, 4), "loss": noisy}, groups=NAMES)
    how = {"objective": "ols", "fixed": {"alpha": 0.42}, "share": ("K",), "bootstrap": 2000, "interval": "residual"}
    spec = SHARED.model_copy(update=how)
    found = fit_groups(spec, runs)
    x = np.zeros((36, 5))  # Columns: K, then the amplitude X_c^0.42 of each group.
    x[:, 0] = 1
    for g in range(4):
        x[9 * g : 9 * g + 9, 1 + g] = X**-0.42
    best, rss = np.linalg.lstsq(x, noisy)[:2]
    # The interval method "residual" enlarges the standard error by sqrt(n / (n - p)) = sqrt(36 / 31).
    error = np.sqrt(36 / 31) * np.sqrt(rss[0] / 31 * np.linalg.inv(x.T @ x)[0, 0])
    floor = found.parameters[0]
    assert found.fits["3 features"].resampling.method == "residual"
    assert floor.value == pytest.approx(best[0], rel=1e-8)
    assert floor.ci68 == pytest.approx(best[0] + error * stdtrit(31, [0.16, 0.84]), abs=0.1 * error)
    assert floor.ci95 == pytest.approx(best[0] + error * stdtrit(31, [0.025, 0.975]), abs=0.2 * error)
    drawn = fit_groups(spec.model_copy(update={"interval": "bc", "bootstrap": 400}), runs)
    assert drawn.parameters[0].se == pytest.approx(error, rel=0.5)
    with pytest.raises(PlannerError, match="no interval profile"):
        fit_groups(spec.model_copy(update={"interval": "profile", "bootstrap": 30}), runs)


@settings(deadline=None, max_examples=3)
@given(st.permutations(range(36)), st.floats(1e-3, 1e3))
def test_neither_the_order_of_rows_nor_a_unit_matters(order: list[int], unit: float) -> None:
    base, runs = fit_groups(SHARED, inputs(0.01)), inputs(0.01, order=order)
    runs = make_runs({"D": runs["D"] * unit, "loss": runs["loss"]}, groups=list(runs.labels["group"]))
    found = fit_groups(SHARED, runs)
    assert found.objective == pytest.approx(base.objective, rel=1e-8)
    assert found.parameters[-1].value == pytest.approx(base.parameters[-1].value, rel=1e-5)


def test_each_group_is_a_fit_and_the_card_gives_it_back() -> None:
    found = fit_groups(SHARED.model_copy(update={"bootstrap": 30}), inputs(0.005))
    card = json.loads(json.dumps(groups_to_json(found), allow_nan=False))
    assert list(card["parameters"]) == [p.name for p in found.parameters]
    assert np.array_equal(card["resamples"], found.resamples)
    for name in FLOORS:
        back, was = read_fit(card, name), found.fits[name]
        assert np.array_equal(back.theta, was.theta)
        assert np.array_equal(back.resamples, was.resamples)
        assert (back.n, back.objective, back.data, back.warnings) == (9, was.objective, was.data, was.warnings)
        assert back.runs is not None
        assert back.runs.y == pytest.approx(inputs(0.005)["loss"][np.array(NAMES) == name], rel=1e-12)
        assert back.runs.columns["D"] == pytest.approx(X, rel=1e-12)
        assert back.predict({"D": X}) == pytest.approx(EXACT[np.array(NAMES) == name], rel=0.02)
        assert plan_target(back, 1.2 * FLOORS[name]).allocation["D"].value == pytest.approx(
            SCALES[name] * (0.2 * FLOORS[name]) ** (-1 / 0.42), rel=0.2
        )
    assert len({f.hash for f in found.fits.values()}) == 4
    with pytest.raises(PlannerError, match=r"several groups: choose one of 128 particles, 21 features"):
        read_fit(card)
    with pytest.raises(PlannerError, match="no group 'x': choose one of"):
        read_fit(card, "x")
    assert "K[3 features]" in repr(found)
    assert repr(found).count("Intervals (") == 1
    assert repr(found).count("\nalpha ") == 1


GOOD = {"D": np.tile(X, 2), "loss": EXACT[:18]}
TWO = ["a"] * 9 + ["b"] * 9
REFUSED: list[tuple[str, dict[str, Any], dict[str, Any], list[str] | None, str]] = [
    (
        "a group with two runs",
        {},
        {k: v[:11] for k, v in GOOD.items()},
        TWO[:11],
        "Group b: power has 2 free .* only 2",
    ),
    ("one group", {}, GOOD, ["a"] * 18, "All runs are of one group, a: shared parameters need at least two"),
    ("no groups", {}, GOOD, None, "map a column to the role group"),
    ("nothing shared", {"share": ()}, GOOD, TWO, "No parameter is shared"),
    ("unknown", {"share": ("beta",)}, GOOD, TWO, "power has no parameter 'beta'"),
    ("fixed", {"share": ("alpha",), "fixed": {"alpha": 0.4}}, GOOD, TWO, "alpha is fixed and shared"),
    ("all", {"share": ("K", "X_c", "alpha")}, GOOD, TWO, "Every free parameter of power is shared"),
    ("amplitude alone", {"share": ("X_c",)}, GOOD, TWO, "X_c is shared but alpha is not"),
    ("parabolas", {"law": "isoflop", "axis": None, "share": ("a",)}, GOOD, TWO, "isoflop cannot share parameters"),
    ("one value", {}, {**GOOD, "D": np.r_[X, np.full(9, 1e6)]}, TWO, r"Group b: D \(column tokens\) has one value"),
    ("no run", {}, {**GOOD, "weight": np.zeros(18)}, TWO, "No run is selected"),
]


@pytest.mark.parametrize(
    ("spec", "values", "groups", "sentence"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_refusals(spec: dict[str, Any], values: dict[str, Any], groups: list[str] | None, sentence: str) -> None:
    with pytest.raises(PlannerError, match=sentence) as caught:
        fit_groups(SHARED.model_copy(update=spec), make_runs(values, groups=groups))
    assert "\n" not in str(caught.value)


def test_a_fit_without_groups_shares_nothing() -> None:
    with pytest.raises(PlannerError, match="shared over groups"):
        fit(SHARED, inputs())
