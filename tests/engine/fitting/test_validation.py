"""Tests of validation on withheld large budgets: hand calculations, scipy, and simulations with known parameters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.validation.comparison import compare, rows
from isoplan.engine.fitting.validation.extrapolation import (
    Points,
    last_point,
    leave_out,
    log_linear,
    nearest_cell,
    validate,
)
from isoplan.engine.schema import Metric, Runs
from isoplan.engine.store.files.table_files import read_runs
from tests.engine.fitting.tables import TRUTH, make_runs, surface

OLS = FitSpec(objective="ols-log", bootstrap=0)


def budgets(noise: float = 0.0, levels: int = 6) -> dict[str, np.ndarray]:
    """Simulate an iso-FLOP sweep of the law E + A N^-alpha + B D^-beta with seven sizes at each budget."""
    C = np.repeat(np.geomspace(1e18, 1e22, levels), 7)
    N = 0.1 * C**0.5 * np.tile(np.geomspace(0.3, 3, 7), levels)
    D = C / (6 * N)
    loss = TRUTH["E"] + TRUTH["A"] * N ** -TRUTH["alpha"] + TRUTH["B"] * D ** -TRUTH["beta"]
    return {
        "N": N, "D": D, "budget": C, "loss": loss * np.exp(noise * np.random.default_rng(0).normal(size=len(C))),
    }  # fmt: skip


def test_the_top_budgets_are_left_out_in_turn() -> None:
    found = validate(OLS, make_runs(budgets()))
    C = np.geomspace(1e18, 1e22, 6)
    assert found.size == "budget"
    assert [cut.limit for cut in found.cuts] == pytest.approx([C[4], C[3], C[2]])
    assert [len(cut.held) for cut in found.cuts] == [7, 14, 21]
    assert found.cuts[2].beyond == pytest.approx(np.repeat([0.8, 1.6, 2.4], 7))
    assert [int(cut.best.sum()) for cut in found.cuts] == [1, 2, 3]
    assert found.error("chinchilla") == pytest.approx(0, abs=1e-6)
    assert found.error("chinchilla", "best") == pytest.approx(0, abs=1e-6)
    assert found.methods == ("chinchilla", "isoflop", "last point", "log-linear", "nearest cell")
    assert np.isnan(found.error("isoflop"))
    assert 0 < found.error("isoflop", "best") < 0.05


def test_the_error_is_that_of_a_fit_by_hand() -> None:
    runs = make_runs(budgets(0.01))
    found = leave_out((OLS,), runs)
    by_hand = []
    for keep in (35, 28, 21):
        train, test = runs.take(np.arange(keep)), runs.take(np.arange(keep, 42))
        predicted = fit(OLS, train).predict({"N": test["N"], "D": test["D"]})
        by_hand.append(np.mean(np.abs(predicted / test["loss"] - 1)))
    assert [found.cut_error(cut, "chinchilla") for cut in found.cuts] == pytest.approx(by_hand, rel=1e-12)
    assert found.error("chinchilla") == pytest.approx(np.mean(by_hand), rel=1e-12)
    assert found.error("chinchilla") < 0.02 < found.error("last point")
    assert "7, 14, 21 runs are left out in turn. They lie up to 2.4 decades beyond" in found.sentence


def test_without_budgets_the_top_of_log_c_is_left_out() -> None:
    runs = make_runs(surface(80))
    found = validate(OLS, runs)
    log_c = np.log(runs["C"])
    edge = log_c.max() - np.array([0.15, 0.3, 0.45]) * np.ptp(log_c)
    assert [len(cut.held) for cut in found.cuts] == [int(np.sum(log_c > e)) for e in edge]
    assert found.laws == ("chinchilla",)
    assert found.error("chinchilla") == pytest.approx(0, abs=1e-5)
    assert np.isnan(found.error("chinchilla", "best"))


def test_baselines_by_hand() -> None:
    x = np.log(np.array([[1.0, 1], [10, 1], [1, 10], [10, 10], [10, 10]]))
    known = Points(np.array([1.0, 10, 10, 100, 100]), x, np.array([8.0, 4, 4, 1, 3]))
    new = Points(np.array([1000.0, 200]), np.log(np.array([[100.0, 10], [1, 20]])), np.zeros(2))
    assert last_point(known, new) == pytest.approx([2, 2])
    assert nearest_cell(known, new) == pytest.approx([2, 4])
    slope = np.polynomial.polynomial.polyfit(np.log([1.0, 10, 100]), np.log([8.0, 4, 2]), 1)
    line = Points(np.array([1.0, 10, 100]), np.log(np.array([[1.0], [10], [100]])), np.array([8.0, 4, 2]))
    at = Points(np.array([1e4]), np.log(np.array([[1e4]])), np.zeros(1))
    assert log_linear(line, at) == pytest.approx(np.exp(slope[0] + slope[1] * np.log(1e4)))
    signed = Points(line.size, line.x, np.array([1.0, 0, -1]))
    assert log_linear(signed, at) == pytest.approx([-3])
    assert log_linear(Points(np.ones(1), np.zeros((1, 1)), np.ones(1)), at) == pytest.approx([1])


def test_either_direction_has_the_same_meaning() -> None:
    values = budgets(0.01)
    runs = make_runs({**values, "auc": 3 - 0.5 * values["loss"]}, metrics=(Metric(column="auc"),))
    found = leave_out((FitSpec(y="auc", objective="ols"),), runs)
    cut = found.cuts[0]
    off = np.abs(cut.predicted["chinchilla"] / runs["auc"][cut.held] - 1)
    assert found.cut_error(cut, "chinchilla") == pytest.approx(off.mean())
    assert runs["auc"][cut.held][cut.best] == pytest.approx(runs["auc"][cut.held].max())
    shifted = make_runs({**values, "loss": values["loss"] - 2.5})
    errors = leave_out((FitSpec(objective="ols"),), shifted)
    assert errors.relative_to == pytest.approx(np.ptp(values["loss"]))


def test_rows_and_units_do_not_matter() -> None:
    values = budgets(0.01)
    found = leave_out((OLS,), make_runs(values))
    order = np.random.default_rng(3).permutation(42)
    again = leave_out((OLS,), make_runs({k: v[order] for k, v in values.items()}))
    thousand = leave_out((OLS,), make_runs({**values, "N": values["N"] / 1e3}))
    for method in found.methods:
        assert again.error(method) == pytest.approx(found.error(method), rel=1e-6)
    assert thousand.error("chinchilla") == pytest.approx(found.error("chinchilla"), rel=1e-5)


@settings(max_examples=12)
@given(st.integers(3, 9), st.integers(0, 2**31))
def test_cuts_never_leave_out_more_than_half(levels: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    C = np.repeat(np.geomspace(1, 10.0**levels, levels), 3) * 1e15
    runs = make_runs({"N": C**0.5, "D": C**0.5 / 6, "budget": C, "loss": random.uniform(1, 2, len(C))})
    found = leave_out((FitSpec(law="power", axis="N", objective="ols"),), runs)
    assert len(found.cuts) == min(3, levels // 2)
    for cut in found.cuts:
        assert len(cut.held) <= len(runs) / 2
        assert np.all(cut.beyond > 0)
        assert runs["budget"][cut.held].min() > cut.limit


def test_too_little_to_leave_out_is_one_sentence() -> None:
    with pytest.raises(PlannerError, match="requires three values of budget, but these runs have 2"):
        validate(OLS, make_runs(budgets(levels=2)))
    two = {"N": [1.0, 2, 2, 2], "loss": [3.0, 2, 2, 2]}
    with pytest.raises(PlannerError, match="requires three values of N"):
        validate(FitSpec(law="power", axis="N"), make_runs(two))
    few = {"N": [1.0, 2, 3, 4, 5, 6], "D": [1.0, 3, 2, 4, 6, 9], "loss": [6.0, 5, 4, 3, 2, 1]}
    with pytest.raises(
        PlannerError, match="The largest runs of this table cannot be predicted from the others: chinchilla has 5"
    ):
        validate(OLS, make_runs(few))
    with pytest.raises(PlannerError, match="There is no auc to predict"):
        validate(FitSpec(y="auc"), make_runs(budgets()))


def test_runs_of_no_weight_are_neither_fitted_nor_predicted() -> None:
    values = budgets(0.01)
    weight = np.where(np.arange(42) == 41, 0.0, 1.0)
    found = leave_out((OLS,), make_runs({**values, "weight": weight}))
    assert [len(cut.held) for cut in found.cuts] == [6, 13, 20]


def test_comparison_finds_the_law_that_made_the_runs() -> None:
    runs = make_runs(budgets(0.003))
    heard: list[float] = []
    found = compare(OLS, runs, progress=heard.append)
    table = rows(found)
    # Only the best run of each budget is compared, because one of the laws predicts only the lowest loss of
    # each budget.
    assert found.targets == "best"
    assert table[0]["law"] == "chinchilla"
    known = [r["rank"] for r in table if r["error"] is not None]
    assert known == list(range(1, len(known) + 1))
    assert [r["rank"] for r in table] == known + [None] * (len(table) - len(known))
    errors = [r["error"] for r in table if r["error"] is not None]
    assert errors == sorted(errors)
    by_law = {r["law"]: r for r in table}
    assert by_law["chinchilla"]["AIC"] == min(r["AIC"] for r in table if r["AIC"] is not None)
    assert by_law["isoflop"]["AIC"] is None
    assert "no likelihood" in by_law["isoflop"]["note"]
    assert heard == sorted(heard)
    assert heard[-1] == pytest.approx(1)
    second = found.ranked[1]
    assert found.best is found.ranked[0]
    assert found.verdict == (
        f"Loss over size and data (Chinchilla) predicts the largest runs best: its mean error is "
        f"{errors[0]:.2%}, that of {second.title} is {errors[1]:.2%}."
    )


def test_the_verdict_names_a_better_baseline_and_the_law_of_aic() -> None:
    found = compare(OLS, make_runs(budgets(0.003)))
    v = found.validation
    assert v is not None
    cuts = tuple(replace(c, predicted={**c.predicted, "nearest cell": v.runs[v.y][c.held]}) for c in v.cuts)
    first, second, *others = found.ranked
    changed = replace(
        found,
        ranked=(replace(first, error=first.error + 1), replace(second, aic=first.aic - 40), *others),
        validation=replace(v, cuts=cuts),
    )
    assert "The baseline nearest run is better (0.00%)." in changed.verdict
    assert f"AIC prefers {second.title} by 40." in changed.verdict
    nothing = replace(found, ranked=tuple(replace(one, error=float("nan")) for one in found.ranked))
    assert nothing.best is None
    assert nothing.verdict.startswith("No law could be ranked.")


def test_comparison_says_what_the_others_lack() -> None:
    found = compare(FitSpec(law="power", axis="D"), make_runs({"D": surface(20)["D"], "loss": surface(20)["loss"]}))
    assert [one.key for one in found.ranked] == ["power-D"]
    lacks = dict(found.refused)
    assert "chinchilla needs N: map a column to it" in lacks["chinchilla"]
    assert "needs C" in lacks["power-C"]


def test_a_table_too_small_to_validate_is_ranked_by_aic() -> None:
    N = np.array([1e6, 1e6, 1e7, 1e7, 1e8, 1e8, 1e8])
    loss = [4, 4.1, 3, 3.1, 2.5, 2.6, 2.4]
    two = make_runs({"N": N, "D": np.repeat(1e9, 7), "C": np.where(N > 1e6, 2e18, 1e18), "loss": loss})
    found = compare(FitSpec(law="power", axis="N", objective="ols"), two)
    assert found.validation is None
    assert "requires three values" in found.note
    assert [r["AIC"] for r in rows(found)] == sorted(r["AIC"] for r in rows(found))
    assert rows(found)[0]["error"] is None


def test_published_table_extrapolates_better_than_every_baseline(shared: Path) -> None:
    runs: Runs = read_runs(shared / "runs" / "chinchilla_epoch.csv", {}, "")
    found = validate(FitSpec(), runs)
    ours = found.error("chinchilla")
    assert ours < 0.02
    assert all(found.error(name) > 2 * ours for name in ("last point", "log-linear", "nearest cell"))


def test_a_typed_formula_is_validated_and_ranked_like_any_law() -> None:
    runs = make_runs(budgets(0.003))
    typed = FitSpec(law="formula", formula="E + a*N^(-b) + c*D^(-d)", objective="ols-log", bootstrap=0)
    found = validate(typed, runs)
    assert found.laws[0] == "formula"
    assert found.error("formula") == pytest.approx(leave_out((OLS,), runs).error("chinchilla"), rel=1e-3)
    ranked = {one.key: one for one in compare(typed, runs, [typed, OLS]).ranked}
    assert ranked["formula"].aic == pytest.approx(ranked["chinchilla"].aic, abs=1e-3)


def test_a_law_of_minima_needs_budgets_to_be_judged() -> None:
    runs = make_runs(surface(60, noise=0.01))
    with pytest.raises(PlannerError, match="envelope predicts only the best run of a budget"):
        validate(FitSpec(law="envelope", bootstrap=0), runs)
    found = compare(OLS, runs, [OLS, FitSpec(law="envelope", bootstrap=0)])
    assert found.targets == "runs"
    assert "no budgets" in next(one.note for one in found.ranked if one.key == "envelope")
