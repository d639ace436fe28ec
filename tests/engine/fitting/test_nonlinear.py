"""Tests of fits of typed and nonlinear formulas: optimum, bounds, errors and fit cards."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares
from scipy.special import huber

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import fit
from isoplan.engine.fitting.cards import read_fit, to_json
from isoplan.engine.fitting.diagnostics.residuals import residuals
from isoplan.engine.fitting.estimators import formula
from isoplan.engine.fitting.solver import threads
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.laws import typed_law
from isoplan.engine.schema import Metric
from tests.engine.fitting.tables import TRUTH, make_runs, surface

SURFACE = "E + A/N^alpha + B/D^beta"


def typed(text: str = SURFACE, **options: object) -> FitSpec:
    return FitSpec.model_validate({"law": "formula", "formula": text, "bootstrap": 0, **options})


@pytest.mark.parametrize("objective", ["huber-log", "ols", "ols-log", "lad"])
def test_noise_free_truth_comes_back(objective: str) -> None:
    found = fit(typed(objective=objective), make_runs(surface(60)))
    for name, value in TRUTH.items():
        assert float(found.values[name]) == pytest.approx(value, rel=1e-6)


def test_noisy_truth_comes_back_within_four_standard_errors() -> None:
    found = fit(typed(objective="ols-log", bootstrap=300), make_runs(surface(200, noise=0.01, seed=3)))
    for parameter in found.parameters:
        assert parameter.se is not None
        assert abs(parameter.value - TRUTH[parameter.name]) < 4 * parameter.se


def test_the_published_table_has_the_published_optimum(shared: Path) -> None:
    table = pd.read_csv(shared / "runs" / "chinchilla_epoch.csv").query("epoch_kept_240 == 1")
    runs = make_runs({name: table[name].to_numpy() for name in ("N", "D", "loss")})
    references = json.loads((shared / "runs" / "reference_fits.json").read_text())["fits"]
    names = {"huber-log": "huber_log_sum", "ols": "ls_loss_sum"}
    for objective, name in names.items():
        reference = next(
            r for r in references if r["file"] == "chinchilla_epoch.csv" and r["n"] == 240 and r["objective"] == name
        )
        found = fit(typed(objective=objective), runs)
        assert found.objective is not None
        assert found.objective <= reference["objective_value"] * (1 + 1e-6)


DECAY, STEP = "a + b*exp(-k*lr)", "a/(1 + exp(-k*(lr - m)))"


@pytest.mark.parametrize(
    ("text", "truth", "start"),
    [(DECAY, (0.3, 2.0, 0.9), (0.2, 1.0, 1.0)), (STEP, (2.0, 2.0, 3.0), (1.0, 1.0, 2.5))],
)
def test_an_exponential_and_a_logistic_agree_with_scipy(
    text: str, truth: tuple[float, ...], start: tuple[float, ...]
) -> None:
    lr = np.linspace(0.1, 6, 80)
    law = typed_law(text, columns=("lr",))
    loss = law.predict(truth, {"lr": lr}) + 0.01 * np.random.default_rng(1).normal(size=lr.size)
    found = fit(typed(text, objective="ols"), make_runs({"lr": lr, "loss": loss}))

    def off(theta: Floats) -> Floats:
        return law.predict(theta, {"lr": lr}) - loss

    known = least_squares(off, start, xtol=1e-14, ftol=1e-14, gtol=1e-14)
    assert found.objective == pytest.approx(2 * known.cost, rel=1e-9)
    np.testing.assert_allclose(found.theta, known.x, rtol=1e-6)


def test_a_metric_of_which_more_is_better_is_what_the_formula_says() -> None:
    N = np.geomspace(1e5, 1e9, 30)
    runs = make_runs({"N": N, "recall": 0.9 - 3 / N**0.3}, metrics=(Metric(column="recall"),))
    found = fit(typed("R - A/N^alpha", y="recall", objective="ols"), runs)
    np.testing.assert_allclose(found.theta, [0.9, 3, 0.3], rtol=1e-6)
    np.testing.assert_allclose(found.predict({"N": N}), 0.9 - 3 / N**0.3, rtol=1e-8)
    assert residuals(found, runs).rms < 1e-8


def test_bounds_and_fixed_parameters_hold() -> None:
    runs = make_runs(surface(60))
    found = fit(typed(bounds={"alpha": (0.0, 0.2)}, fixed={"beta": 0.5}), runs)
    assert float(found.values["alpha"]) == pytest.approx(0.2, abs=1e-15)
    assert float(found.values["beta"]) == 0.5
    assert next(p for p in found.parameters if p.name == "beta").fixed


def test_the_spread_of_optima_is_said() -> None:
    found = fit(typed(), make_runs(surface(60, noise=0.01)))
    (said,) = [w.text for w in found.warnings if w.code.startswith("starts")]
    assert "of 64 starts" in said or "All 64 starts" in said


def test_the_number_of_threads_changes_no_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formula, "AT_ONCE", 8)
    runs, found = make_runs(surface(40, 0.02)), []
    for workers in (1, 2, 16):
        with ThreadPoolExecutor(workers) as pool:
            monkeypatch.setattr(threads, "pool", lambda pool=pool: pool)
            found.append(fit(typed(bootstrap=40), runs).resamples)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_the_same_specification_gives_the_same_digits_and_progress_ends_at_one() -> None:
    runs, heard = make_runs(surface(40, noise=0.01)), list[float]()
    one = fit(typed(bootstrap=40), runs, progress=heard.append)
    other = fit(typed(bootstrap=40), runs)
    np.testing.assert_array_equal(one.resamples, other.resamples)
    assert one.hash == other.hash
    assert heard[-1] == 1.0
    more = fit(typed(bootstrap=60), runs)
    np.testing.assert_allclose(more.resamples[:40], one.resamples, rtol=1e-9)


def test_columns_that_the_runs_have_are_read() -> None:
    values = surface(60)
    lr = np.geomspace(1e-4, 1e-1, 60)
    runs = make_runs({**values, "lr": lr, "loss": values["loss"] + 0.02 * np.log(lr / 3e-3) ** 2})
    found = fit(typed(SURFACE + " + c*log(lr/best)^2"), runs)
    assert found.spec.columns == ("D", "N", "lr")
    assert found.law.axes == ("N", "D", "lr")
    assert float(found.values["best"]) == pytest.approx(3e-3, rel=1e-6)


def test_a_card_reads_back_and_predicts_alike() -> None:
    made = fit(typed(bootstrap=30), make_runs(surface(40, noise=0.01)))
    back = read_fit(json.loads(json.dumps(to_json(made))))
    assert back.spec == made.spec
    at = {"N": np.array([1e8]), "D": np.array([1e10])}
    np.testing.assert_array_equal(back.predict(at), made.predict(at))
    np.testing.assert_array_equal(back.predict_draws(at), made.predict_draws(at))


@pytest.mark.parametrize("text", ["__import__('os').system('true')", "E + A/N.real", "(" * 500, "E + A/N^1e9", "E"])
def test_a_formula_in_a_card_is_as_safe_as_a_typed_one(text: str) -> None:
    card = to_json(fit(typed(), make_runs(surface(40))))
    card["spec"]["formula"] = text
    with pytest.raises(PlannerError):
        read_fit(card)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("E + A/U^alpha", "needs U: map a column to it"),
        ("E + A/N^alpha + 0*B", "parameter B has no effect"),
        ("E + A/(N - N)", "divides by zero in row 0"),
        ("E + A*log(0 - D)", "no finite number in row 0"),
        ("-exp(A + N*0) ", "no finite prediction above zero"),
        ("loss*E + A/N", "contains 'loss', the quantity that it predicts"),
        ("a + b/N + c/D + d/N^2 + e/D^2 + f*N + g*D", "7 free parameters .* but only 6 runs are selected"),
    ],
)
def test_what_cannot_be_fitted_is_refused(text: str, why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        fit(typed(text), make_runs(surface(6)))


def test_a_formula_belongs_to_the_law_formula() -> None:
    runs = make_runs(surface(20))
    with pytest.raises(PlannerError, match="chinchilla takes no formula: use the law formula"):
        fit(FitSpec(formula="E + A/N"), runs)
    with pytest.raises(PlannerError, match="chinchilla takes no bounds: use the law formula"):
        fit(FitSpec(bounds={"E": (0, 1)}), runs)
    with pytest.raises(PlannerError, match="formula has no axis"):
        fit(FitSpec(law="formula", formula="E + A/N", axis="N"), runs)


def test_parameters_that_only_act_together_are_named() -> None:
    found = fit(typed("E*F + A/N^alpha + B/D^beta", bounds={"E": (0.1, 10), "F": (0.1, 10)}), make_runs(surface(60)))
    (said,) = [w.text for w in found.warnings if w.code == "unconstrained"]
    assert said.startswith("The runs constrain only a combination of E and F")


@settings(max_examples=3)
@given(st.integers(0, 2**31), st.sampled_from([1e-6, 1e-3, 1e3]), st.sampled_from([1e-9, 1e3]))
def test_order_of_rows_and_units_change_nothing(seed: int, n_unit: float, d_unit: float) -> None:
    values = surface(30, noise=0.01, seed=4)
    order = np.random.default_rng(seed).permutation(30)
    other = {"N": values["N"][order] * n_unit, "D": values["D"][order] * d_unit, "loss": values["loss"][order]}
    one, two = (fit(typed(objective="ols-log"), make_runs(v)) for v in (values, other))
    assert one.objective == pytest.approx(two.objective, rel=1e-9)
    for name in ("E", "alpha", "beta"):
        assert float(one.values[name]) == pytest.approx(float(two.values[name]), rel=1e-5)


CONSTRAINED = {"E": 1.87, "A": 520.0, "B": 1488.0, "alpha": 0.35, "beta": 0.35, "R_D": 15.4, "R_N": 5.3}
BROKEN = {"a": 1.0, "b": 50.0, "c0": 0.1, "c1": 0.3, "d1": 1e8, "f1": 0.5, "c2": -0.2, "r2": 1e3, "f2": 0.5}
KAPLAN = {"N_c": 6.4e13, "alpha_N": 0.076, "D_c": 1.8e13, "alpha_D": 0.103}


def _columns(name: str) -> dict[str, Floats]:
    if name.startswith("broken"):
        return {"D": np.geomspace(1e4, 1e14, 50)}
    table = surface(60)
    if name == "kaplan":
        return {"N": table["N"], "D": table["D"]}
    U = np.exp(np.random.default_rng(5).uniform(np.log(1e8), np.log(1e10), 60))
    return {"N": table["N"], "U": U, "D": U * np.exp(np.random.default_rng(6).uniform(0, np.log(200), 60))}


@pytest.mark.parametrize("noise", [0.0, 0.005])
@pytest.mark.parametrize(
    ("name", "truth"),
    [("kaplan", KAPLAN), ("data-constrained", CONSTRAINED), ("broken", BROKEN), ("broken-2", BROKEN)],
)
def test_laws_that_are_formulas_recover_their_truth(name: str, truth: dict[str, float], noise: float) -> None:
    spec = FitSpec(
        law=name, axis="D" if name.startswith("broken") else None, objective="ols-log", bootstrap=30 if noise else 0
    )
    law, columns = spec.find_law(), _columns(name)
    loss = law.predict([truth[n] for n in law.names], columns)
    loss = loss * np.exp(noise * np.random.default_rng(7).normal(size=loss.size))
    found = fit(spec, make_runs({**columns, "loss": loss}))
    for parameter in found.parameters:
        if not noise:
            assert parameter.value == pytest.approx(truth[parameter.name], rel=1e-6)
        else:
            assert parameter.se is not None
            assert abs(parameter.value - truth[parameter.name]) < 4 * parameter.se


def test_the_published_fit_of_repeated_data(shared: Path) -> None:
    """A fit of only R_D and R_N is not worse than the published values (Muennighoff et al. 2023)."""
    table = pd.read_csv(shared / "runs" / "scalebench_data_constrained.csv")
    runs = make_runs({name: table[name].to_numpy() for name in ("N", "D", "U", "loss")})
    held = {"E": math.exp(0.6254804), "A": math.exp(6.255414), "B": math.exp(7.3049974), "alpha": 0.3526596}
    held["beta"] = held["alpha"]
    everything = held | {"R_D": 15.387756, "R_N": 5.309743}
    law = FitSpec(law="data-constrained").find_law()
    predicted = law.predict([everything[name] for name in law.names], {a: runs[a] for a in law.axes})
    published = float(np.sum(huber(1e-3, np.log(predicted / runs["loss"]))))
    assert published == pytest.approx(0.0158259366, rel=1e-6)
    found = fit(FitSpec(law="data-constrained", fixed=held, bootstrap=0), runs)
    assert found.objective is not None
    assert found.objective <= published


def test_the_known_law_of_a_table_has_its_residuals(shared: Path) -> None:
    table = pd.read_csv(shared / "runs" / "scalebench_farseer.csv")
    law = typed_law("exp(s*N^q + S) + exp(B*N^b + Q)*D^(-exp(A*N^a + E))")
    known = {"s": -0.062465473, "q": 0.13, "S": 0.1284880679442551, "B": 230.73437075885855, "b": -0.1729}
    known |= {"Q": -1.544209554, "A": -1.665630816, "a": 0.0458999999999619, "E": 3.133347198805445}
    predicted = law.predict([known[name] for name in law.names], {a: table[a].to_numpy() for a in ("N", "D")})
    assert float(np.sum((predicted - table["loss"].to_numpy()) ** 2)) == pytest.approx(0.0017373, abs=5e-8)


@settings(max_examples=2)
@given(st.integers(0, 2**31), st.sampled_from([1e-6, 1e3]))
@pytest.mark.parametrize(("name", "scale"), [("kaplan", "D_c"), ("broken", "d1")])
def test_laws_that_are_formulas_keep_their_exponents(name: str, scale: str, seed: int, unit: float) -> None:
    truth = KAPLAN if name == "kaplan" else BROKEN
    spec = FitSpec(law=name, axis="D" if name == "broken" else None, objective="ols-log", bootstrap=0)
    law, columns = spec.find_law(), _columns(name)
    loss = law.predict([truth[n] for n in law.names], columns)
    loss = loss * np.exp(0.003 * np.random.default_rng(7).normal(size=loss.size))
    order = np.random.default_rng(seed).permutation(loss.size)
    other = {axis: x[order] * (unit if axis == "D" else 1.0) for axis, x in columns.items()}
    one, two = fit(spec, make_runs({**columns, "loss": loss})), fit(spec, make_runs({**other, "loss": loss[order]}))
    assert one.objective == pytest.approx(two.objective, rel=1e-9)
    for parameter in one.parameters:
        if parameter.name not in ("b", scale):
            assert parameter.value == pytest.approx(float(two.values[parameter.name]), rel=1e-4)
    assert float(two.values[scale]) == pytest.approx(unit * float(one.values[scale]), rel=1e-4)


FORMULAS = {"kaplan": KAPLAN, "data-constrained": CONSTRAINED, "broken": BROKEN, "broken-2": BROKEN}


def _drawn(name: str, unit: float = 1.0, seed: int | None = None) -> tuple[FitSpec, dict[str, Floats]]:
    """Return a fit specification and runs with 0.3 % noise. ``unit`` multiplies D and U; ``seed`` shuffles the rows."""
    spec = FitSpec(law=name, axis="D" if name.startswith("broken") else None, objective="ols-log", bootstrap=0)
    law, columns = spec.find_law(), _columns(name)
    loss = law.predict([FORMULAS[name][n] for n in law.names], columns)
    loss = loss * np.exp(0.003 * np.random.default_rng(7).normal(size=loss.size))
    order = np.arange(loss.size) if seed is None else np.random.default_rng(seed).permutation(loss.size)
    scaled = {axis: x[order] * (unit if axis in ("D", "U") else 1.0) for axis, x in columns.items()}
    return spec, {**scaled, "loss": loss[order]}


@settings(max_examples=1)
@given(st.integers(0, 2**31), st.sampled_from([1e-3, 1e3]))
@pytest.mark.parametrize("name", ["data-constrained", "broken-2"])
def test_order_and_unit_leave_repeated_data_and_two_breaks_alone(name: str, seed: int, unit: float) -> None:
    spec, values = _drawn(name)
    _, other = _drawn(name, unit, seed)
    one, two = fit(spec, make_runs(values)), fit(spec, make_runs(other))
    assert two.objective == pytest.approx(one.objective, rel=1e-7)
    for parameter in one.parameters:
        if parameter.name not in ("b", "B"):  # The unit of b and B depends on a fitted exponent.
            moved = parameter.value * (unit if parameter.name == "d1" else 1.0)
            assert float(two.values[parameter.name]) == pytest.approx(moved, rel=1e-3), parameter.name


@pytest.mark.parametrize("name", list(FORMULAS))
def test_larger_is_better_is_the_mirror_image_of_a_loss(name: str) -> None:
    spec, every = _drawn(name)
    values = {column: x[::3] for column, x in every.items()}
    spec = spec.model_copy(update={"objective": "ols"})
    mirrored = {**{k: x for k, x in values.items() if k != "loss"}, "score": -values["loss"]}
    loss = fit(spec, make_runs(values))
    score = fit(spec.model_copy(update={"y": "score"}), make_runs(mirrored, metrics=(Metric(column="score"),)))
    assert score.objective == pytest.approx(loss.objective, rel=1e-9)
    np.testing.assert_allclose(score.theta, loss.theta, rtol=1e-6)
    columns = {axis: values[axis] for axis in loss.law.axes}
    np.testing.assert_allclose(score.predict(columns), -loss.predict(columns), rtol=1e-8)
