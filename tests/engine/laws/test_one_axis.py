"""Tests of laws of one variable: published numbers, simulated runs with known parameters, closed forms, invariances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, curve_fit, minimize_scalar

from benchmarks.jets_laws.repeated import amplification
from isoplan.data.files import records
from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit, residuals
from isoplan.engine.fitting.samples.sample import sample
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws import ONE_AXIS, get_law
from isoplan.engine.laws.catalogue.chinchilla import CHINCHILLA
from isoplan.engine.laws.catalogue.dimension import least_exponent, phase_space_dimension
from isoplan.engine.schema import Metric
from tests.engine.fitting.tables import make_runs

SHARE = np.geomspace(0.005, 0.5, 12)
LOSS = np.linspace(0.5, 1.2, 12)
# For each law: the axis, the values on the axis, and the true parameters of simulated runs.
TRUTHS: dict[str, tuple[str, Floats, dict[str, float]]] = {
    "starvation": ("share", SHARE, {"E": 2.0, "a": 1.5, "b": 0.02, "alpha": 0.8, "beta": 0.6}),
    "log-parabola": ("share", SHARE, {"c": 3.4, "b": 0.31, "a": 0.05}),
    "critical-batch": ("batch", np.geomspace(64, 4096, 12), {"S_min": 1200.0, "E_min": 4.2e5}),
    "metric-map": ("loss", LOSS, {"A": 5e4, "B": -7.0, "C": 12.0}),
    "metric-power": ("loss", LOSS, {"A": 40.0, "B": -4.5, "C": 12.0}),
    "repetition": ("D", np.geomspace(1e3, 1e6, 12), {"L_inf": 0.32, "B_rep": 5.79, "beta_rep": 0.22}),
    "dimension-bound": ("D", np.geomspace(1e2, 1e6, 12), {"K": 0.004, "X_c": 50.0, "d": 5.0}),
    "power": ("width", np.geomspace(8, 1024, 12), {"K": 0.4, "X_c": 30.0, "alpha": 0.7}),
}
NAMES = list(TRUTHS)


def curve(name: str, noise: float = 0.0, seed: int = 0) -> tuple[str, dict[str, Floats]]:
    """Simulate runs of the law ``name`` with log-normal noise.

    Return the name of the axis, and two columns: the values on the axis and the ``score``.
    """
    axis, x, truth = TRUTHS[name]
    y = get_law(name, axis).predict(list(truth.values()), {axis: x})
    return axis, {axis: x, "score": y * np.exp(noise * np.random.default_rng(seed).normal(size=len(x)))}


def found(axis: str, values: dict[str, Any], law: str, direction: str = "min", **spec: Any) -> Fit:
    metric = Metric.model_validate({"column": "score", "direction": direction})
    options = {"bootstrap": 0, "objective": "ols-log", **spec}
    return fit(FitSpec(law=law, axis=axis, y="score", **options), make_runs(values, metrics=(metric,)))


def numbers(f: Fit) -> dict[str, float]:
    return {p.name: p.value for p in f.parameters}


@pytest.mark.parametrize("objective", ["ols-log", "ols", "huber-log"])
@pytest.mark.parametrize("name", NAMES)
def test_noise_free_runs_give_the_truth_back(name: str, objective: str) -> None:
    axis, values = curve(name)
    assert numbers(found(axis, values, name, objective=objective)) == pytest.approx(TRUTHS[name][2], rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_noisy_runs_give_the_truth_within_four_errors(name: str) -> None:
    axis, values = curve(name, noise=0.002, seed=1)
    f = found(axis, values, name, bootstrap=80)
    for p in f.parameters:
        assert abs(p.value - TRUTHS[name][2][p.name]) < 4 * (p.se or 0), p


@settings(deadline=None, max_examples=8)
@given(st.sampled_from(NAMES), st.floats(1e-4, 1e4), st.permutations(range(12)))
def test_unit_of_the_axis_and_order_of_rows_do_not_matter(name: str, unit: float, order: list[int]) -> None:
    axis, values = curve(name, noise=0.002, seed=2)
    base = found(axis, values, name)
    moved = {k: v[order] * (unit if k == axis else 1.0) for k, v in values.items()}
    other = found(axis, moved, name)
    assert other.objective == pytest.approx(base.objective, rel=1e-6)
    x = values[axis][[0, 5, 11]]
    assert other.predict({axis: x * unit}) == pytest.approx(base.predict({axis: x}), rel=1e-5)


# A metric map is excluded, because it describes the metric itself and not a loss.
@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("metric-")])
def test_larger_is_better_is_the_mirror_image_of_a_loss(name: str) -> None:
    axis, values = curve(name, noise=0.002, seed=3)
    loss = found(axis, values, name, objective="ols")
    score = found(axis, {**values, "score": -values["score"]}, name, "max", objective="ols")
    assert numbers(score) == pytest.approx(numbers(loss), rel=1e-6)
    assert score.predict({axis: values[axis]}) == pytest.approx(-loss.predict({axis: values[axis]}), rel=1e-6)


@pytest.mark.parametrize("direction", ["min", "max"])
@pytest.mark.parametrize(("A", "B"), [(5e4, -7.0), (-0.4, 1.1), (0.05, 2.0)])
def test_a_map_describes_the_metric_itself_in_either_direction(direction: str, A: float, B: float) -> None:
    y = A * np.exp(B * LOSS) + 3.0
    f = found("loss", {"loss": LOSS, "score": y}, "metric-map", direction, objective="ols")
    assert numbers(f) == pytest.approx({"A": A, "B": B, "C": 3.0}, rel=1e-6)
    assert f.predict({"loss": LOSS}) == pytest.approx(y, rel=1e-6)
    assert f.law.inverse is not None
    assert f.law.inverse(f.values, y) == pytest.approx(LOSS, rel=1e-6)
    # The metric does not reach values beyond its limit C = 3 at any loss.
    assert np.isnan(f.law.inverse(f.values, np.array(3.0 - np.sign(A))))


def test_a_noisy_map_is_scipys() -> None:
    y = (2e4 * np.exp(-6 * LOSS) + 8) * np.exp(0.02 * np.random.default_rng(5).normal(size=12))
    best, _ = curve_fit(lambda x, a, b, c: np.log(a * np.exp(b * x) + c), LOSS, np.log(y), p0=(2e4, -6, 8))
    f = found("loss", {"loss": LOSS, "score": y}, "metric-map", "max")
    assert list(numbers(f).values()) == pytest.approx(best, rel=1e-4)


def test_the_size_of_an_exponential_far_from_zero_is_a_number() -> None:
    loss = 8.7 + np.array([0.16, 0.0, 0.003, 0.006, 0.008, -0.006, -0.014])
    recall = np.array([0.2984, 0.3102, 0.3119, 0.3113, 0.3098, 0.3108, 0.3102])
    made = found("loss", {"loss": loss, "score": recall}, "metric-map", "max", objective="ols")
    assert np.isfinite(made.theta).all()
    assert made.predict({"loss": loss}) == pytest.approx(recall, abs=0.002)
    assert "at-bound" in {warning.code for warning in made.warnings}


def test_a_level_outside_the_values_of_the_metric_is_a_warning() -> None:
    """Accuracy is almost linear in the loss, so the fitted level C of A exp(B loss) + C lies outside 0 to 1."""
    loss = np.linspace(2.0, 3.2, 7)
    accuracy = 0.9 - 0.25 * (loss - 2.0) - 0.002 * np.sin(9 * loss)
    runs = make_runs({"loss": loss, "accuracy": accuracy}, metrics=(Metric(column="accuracy", direction="max"),))
    made = fit(FitSpec(law="metric-map", axis="loss", y="accuracy", objective="ols", bootstrap=0), runs)
    level = float(made.values["C"])
    assert not 0 <= level <= 1
    (said,) = (w.text for w in made.warnings if w.code == "level")
    assert said.startswith(f"The level C = {level:.3g} of the map is not a possible value of accuracy (0 to 1)")


def test_a_straight_line_is_no_exponential_and_says_so() -> None:
    f = found("loss", {"loss": LOSS, "score": 3 - 2 * LOSS}, "metric-map", objective="ols")
    assert f.predict({"loss": LOSS}) == pytest.approx(3 - 2 * LOSS, abs=1e-3)
    assert "at-bound" in {w.code for w in f.warnings}


@settings(deadline=None, max_examples=40)
@given(st.floats(0.01, 9), st.floats(0.01, 9), st.floats(0.1, 3), st.floats(0.1, 3))
def test_the_best_x_is_the_numerical_minimum(a: float, b: float, alpha: float, beta: float) -> None:
    law = get_law("starvation", "x")
    assert law.optimum is not None
    at = float(np.log(law.optimum(law.values([1.0, a, b, alpha, beta]))))
    least = minimize_scalar(lambda u: a * np.exp(alpha * u) + b * np.exp(-beta * u), bracket=(at - 1, at + 1))
    assert at == pytest.approx(least.x, abs=1e-4)
    assert law.optimum(law.values([1.0, 0.0, b, alpha, beta])) == np.inf
    assert law.optimum(law.values([1.0, a, 0.0, alpha, beta])) == 0.0
    assert np.isnan(law.optimum(law.values([1.0, 0.0, 0.0, alpha, beta])))
    parabola = get_law("log-parabola", "x")
    assert parabola.optimum is not None
    assert float(parabola.optimum(parabola.values([1.0, -2 * a, 1 + b]))) == pytest.approx(np.exp(a / (1 + b)))
    assert np.isnan(parabola.optimum(parabola.values([1.0, 1.0, -b])))


def test_published_updates_to_target_give_the_published_critical_batches() -> None:
    """Fits to the numbers of training steps in Table 3 (behavioural paper) give the critical batch sizes in Table 3."""
    table = records("papers/behavior/table03_updates_to_target.csv")
    published = {r["metric"]: r for r in records("papers/behavior/table03_critical_batch.csv")}
    assert len(published) == 5
    for metric, row in published.items():
        own = [r for r in table if r["metric"] == metric]
        values = {k: np.array([float(r[c]) for r in own]) for k, c in (("batch", "batch_size"), ("score", "updates"))}
        f = found("batch", values, "critical-batch", objective="ols", bootstrap=40)
        (critical,) = f.derived
        shown = next(r for r in f.rows if r["parameter"] == "B_crit")
        if not row["B_crit"]:
            assert f.values["S_min"] < 0
            assert not np.isfinite(critical.value)
            assert shown["text"] == "no plateau"
            assert any(w.code == "not-defined" and "no plateau" in w.text for w in f.warnings)
            continue
        assert critical.value == pytest.approx(float(row["B_crit"]), abs=0.5)
        metric_runs = make_runs(values, metrics=(Metric(column="score", direction="min"),))
        assert residuals(f, metric_runs).r2 == pytest.approx(float(row["r_squared"]), abs=0.005)
        assert f.law.inverse is not None
        assert f.law.inverse(f.values, 2 * f.values["S_min"]) == pytest.approx(critical.value)


def test_published_optima_come_back_from_curves_with_the_published_exponents() -> None:
    """Simulate curves with the alpha, beta and optimal share s* of Table 2 (behavioural paper), and fit them.

    The nominal share 0 % is simulated as 0.5 %.
    """
    optima = {
        r["budget_flops"]: float(r["s_star_percent"])
        for r in records("papers/behavior/table02_embedder_share.csv")
        if r["metric"] == "val_loss"
    }
    share = np.array([0, 1, 2, 3.5, 5, 10, 20, 35, 50]) / 100
    realised = np.where(share == 0, 0.005, share)
    for row in records("papers/behavior/table02_exponents.csv"):
        alpha, beta, best = float(row["alpha"]), float(row["beta"]), optima[row["budget_flops"]] / 100
        b = 0.05 * best**beta
        a = b * beta / alpha * best ** -(alpha + beta)
        y = 3 + a * realised**alpha + b * realised**-beta
        f = found("share", {"share": share, "score": y}, "starvation", objective="ols", realised=0.005)
        assert numbers(f) == pytest.approx({"E": 3.0, "a": a, "b": b, "alpha": alpha, "beta": beta}, rel=1e-5)
        (x_star,) = f.derived
        assert x_star.value == pytest.approx(best, rel=1e-6)
        said = f.optimum_location
        assert said is not None
        assert said.place == "inside"


def test_depth_sweeps_are_numpys_parabolas() -> None:
    """Behavioural paper, Table 11: for each budget the fitted parabola in log depth equals that of ``np.polyfit``."""
    table = [r for r in records("papers/behavior/table11_depth_val_loss.csv") if r["sweep"] == "diagonal"]
    for budget in ("1e15", "1e16", "1e17", "1e18"):
        own = [r for r in table if r["budget_flops"] == budget]
        L, y = (np.array([float(r[k]) for r in own]) for k in ("L_ctx", "val_loss"))
        f = found("L_ctx", {"L_ctx": L, "score": y}, "log-parabola", objective="ols")
        assert list(numbers(f).values()) == pytest.approx(np.polyfit(np.log(L), y, 2)[::-1], rel=1e-6)


def test_published_repetition_laws_come_back_from_the_demo_table() -> None:
    """The demo runs are simulated from Table 2 (jets paper). Fits agree with this table within four standard errors."""
    runs = records("demo/jets_repetition.csv")
    table = records("papers/jets/table2_repetition.csv")
    for inputs in dict.fromkeys(r["inputs"] for r in table):
        truth = {r["parameter"]: float(r["value"]) for r in table if r["inputs"] == inputs}
        own = [r for r in runs if r["inputs"] == inputs]
        values = {"D": [float(r["unique_jets"]) for r in own], "loss": [float(r["loss"]) for r in own]}
        f = fit(FitSpec(law="repetition", axis="D", objective="ols-log", bootstrap=80), make_runs(values))
        for p in f.parameters:
            assert abs(p.value - truth[p.name]) < 4 * (p.se or 0), (inputs, p)


@pytest.mark.parametrize("D", [1e3, 1e5, 1e7])
def test_repeated_data_is_worth_omega_times_itself(D: float) -> None:
    """At infinite N, repeated training on D jets gives the loss of one epoch on omega * D jets (omega: amplification).

    Source: the jets paper, eq. 5 with Tables 1 and 2.
    """
    one_pass = CHINCHILLA.values([0.32, 11.27, 7.22, 0.44, 0.22])
    law = get_law("repetition", "D")
    repeated = law.values([0.32, 5.79, 0.22])
    loss = float(law.predict([0.32, 5.79, 0.22], {"D": D}))
    worth = brentq(lambda u: 0.32 + 7.22 * np.exp(-0.22 * u) - loss, 0, 60)
    omega = amplification(repeated, one_pass, np.array(D))
    assert float(omega) * D == pytest.approx(np.exp(worth), rel=1e-9)
    # The exponents of both laws are equal, so the amplification omega does not depend on D.
    assert float(omega) == pytest.approx((7.22 / 5.79) ** (1 / 0.22))
    assert law.inverse is not None
    assert float(law.inverse(repeated, np.array(loss))) == pytest.approx(D)
    assert np.isinf(law.inverse(repeated, np.array(0.32)))
    assert law.least_compute is not None
    assert float(law.least_compute(repeated, np.array(loss), ComputeRule()).D) == pytest.approx(D)


def test_the_dimension_bound_is_that_of_the_published_processes() -> None:
    """The phase space of n_f final particles has 3 n_f - 4 dimensions.

    The least possible data exponent of ttH (n_f = 3) is therefore 4/5. Source: the amplitudes paper, sec. 2 and 4.1.
    """
    for row in records("papers/amplitudes/processes.csv"):
        assert phase_space_dimension(int(row["n_f"])) == int(row["dimension"])
        assert phase_space_dimension(int(row["n_f"]), fixed_energy=True) == int(row["dimension_fixed_s"])
    assert least_exponent(phase_space_dimension(3)) == 0.8
    fixed = {"d": 5.0, "K": 1e-4}
    spec = FitSpec(law="dimension-bound", axis="D", fixed=fixed, objective="ols-log", bootstrap=0)
    made = fit(spec, make_runs({"D": [1e4, 1e4], "loss": [2.2e-3, 2e-3 / 1.1]}))
    assert made.predict({"D": [1e4, 1e6]}) == pytest.approx([2e-3, 1e-4 + 1.9e-3 * 100**-0.8])
    with pytest.raises(PlannerError, match="above zero"):
        least_exponent(0)
    with pytest.raises(PlannerError, match="two or more"):
        phase_space_dimension(1)


def test_one_anchor_and_the_bound_give_a_conservative_law() -> None:
    """At D = 10^4, a law with the bound as its exponent equals the fitted law of ttH. At larger D, it lies above.

    Source: the amplitudes paper, Table 2.
    """
    own = records("papers/amplitudes/tables02_15_fits.csv")
    row = next(r for r in own if (r["process"], r["x"], r["fixed_value"]) == ("ttH", "D", "1e6"))
    fitted = get_law("power", "D")
    theta = [float(row[name]) for name in ("K", "X_c", "alpha")]
    anchor = float(fitted.predict(theta, {"D": 1e4}))
    bound = get_law("dimension-bound", "D")
    held = fit(
        FitSpec(law="dimension-bound", axis="D", fixed={"d": 5.0, "K": 0.0}, objective="ols-log", bootstrap=0),
        make_runs({"D": [1e4, 1e4], "loss": [anchor * 1.1, anchor / 1.1]}),
    )
    assert float(held.predict({"D": 1e4})) == pytest.approx(anchor, rel=1e-9)
    D = np.geomspace(2e4, 1e8, 7)
    assert (held.predict({"D": D}) > fitted.predict(theta, {"D": D})).all()
    assert bound.least_compute is not None
    at = bound.least_compute(held.values, np.array(anchor / 10), ComputeRule())
    assert float(at.D) == pytest.approx(1e4 * 10 ** (5 / 4))


def test_published_data_scaling_of_ttH_respects_its_bound() -> None:
    """Amplitudes paper, Fig. 10: all data exponents of the process ttH are above the bound 4/5."""
    fits = [r for r in records("papers/amplitudes/tables02_15_fits.csv") if (r["process"], r["x"]) == ("ttH", "D")]
    assert len(fits) > 3
    assert all(float(r["alpha"]) > 0.8 for r in fits)


def test_cells_at_zero_are_fitted_only_where_they_are_said_to_lie() -> None:
    axis, values = curve("starvation", noise=0.001)
    nominal = {**values, axis: np.r_[0.0, values[axis][1:]]}
    left_out = found(axis, nominal, "starvation")
    assert left_out.n == 11
    assert any("1 run has share = 0" in w.text for w in left_out.warnings if w.code == "at-zero")
    alone = found(axis, {k: v[1:] for k, v in values.items()}, "starvation")
    assert left_out.theta == pytest.approx(alone.theta)
    placed = found(axis, nominal, "starvation", realised=0.005)
    assert placed.n == 12
    assert placed.theta == pytest.approx(found(axis, values, "starvation").theta)
    assert placed.data.ranges[axis] == (0.005, 0.5)
    runs = make_runs(nominal, metrics=(Metric(column="score", direction="min"),))
    assert np.isnan(residuals(left_out, runs).residual[0])
    assert np.isfinite(residuals(left_out, runs).rms)
    assert np.isfinite(residuals(placed, runs).residual).all()
    with pytest.raises(PlannerError, match="is 0 in row 0"):
        sample(FitSpec(law="repetition", axis="D"), make_runs({"D": [0.0, 1, 2, 3, 4], "loss": [5.0, 4, 3, 2, 1]}))


@pytest.mark.parametrize("name", ["critical-batch", "power"])
def test_runs_that_rise_where_the_law_falls_are_said(name: str) -> None:
    axis, values = curve(name, noise=0.05)
    assert not [w for w in found(axis, values, name).warnings if w.code == "rises"]
    values["score"][-1] = 1.6 * values["score"].min()
    said = [w.text for w in found(axis, values, name).warnings if w.code == "rises"]
    least = values[axis][values["score"].argmin()]
    ends = f"{values['score'].min():.4g} at {least:.4g} to {values['score'][-1]:.4g} at the largest"
    assert said == [
        f"The values of the runs rise with {axis}, from {ends} {axis}, but the law falls in this range: do not use the "
        f"floor or plateau of the law. Check the runs beyond {least:.4g}."
    ]


def test_refusals_name_the_axis() -> None:
    axis, values = curve("starvation")
    two = {axis: np.repeat([0.01, 0.1], 6), "score": values["score"]}
    with pytest.raises(PlannerError, match=r"share has only 2 values .* a, alpha, b and beta need 5"):
        found(axis, two, "starvation")
    with pytest.raises(PlannerError, match="starvation needs depth: map a column"):
        found("depth", values, "starvation")
    with pytest.raises(PlannerError, match=r"share is -0.005 in row 0: a law needs positive values"):
        found(axis, {**values, axis: np.r_[-0.005, values[axis][1:]]}, "starvation")
    with pytest.raises(PlannerError, match="is nan in row 0: a law needs finite values"):
        found("loss", {"loss": np.r_[np.nan, LOSS[1:]], "score": LOSS}, "metric-map")
    with pytest.raises(PlannerError, match="'score' is both"):
        found("score", {"score": LOSS, "loss": LOSS}, "metric-map")
    for law in ONE_AXIS:
        with pytest.raises(PlannerError, match="needs an axis"):
            get_law(law.name)
