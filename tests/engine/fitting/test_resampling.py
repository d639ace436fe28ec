"""Tests of the intervals of all resampling methods: closed forms, scipy, and simulations with known parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, stats

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit, read_fit, to_json
from isoplan.engine.fitting.resampling.bootstrap import noise
from isoplan.engine.fitting.resampling.likelihood_draws import deviance_scale
from isoplan.engine.fitting.samples.sample import clusters
from isoplan.engine.fitting.solver.objectives import Loss
from isoplan.engine.fitting.types.intervals import Resampling, choose
from isoplan.engine.planning.answer.quantity import thin
from isoplan.engine.planning.plan.target import plan_target
from tests.engine.fitting.tables import make_runs, surface, sweep

D = 10 ** np.arange(3, 6.01, 0.5)


def scan(floor: float, seed: int = 0, sd: float = 0.02) -> dict[str, Floats]:
    """Simulate seven runs of loss = floor + (1000 / D)^0.5 with log-normal noise of standard deviation ``sd``."""
    random = np.random.default_rng(seed)
    return {"D": D, "loss": (floor + (1e3 / D) ** 0.5) * np.exp(sd * random.normal(size=7))}


def power(**options: object) -> FitSpec:
    return FitSpec.model_validate({"law": "power", "axis": "D", "objective": "ols-log", **options})


@pytest.mark.parametrize(("method", "raised"), [("residual", np.sqrt(9 / 6)), ("profile", 1.0)])
def test_a_linear_law_has_students_interval(method: str, raised: float) -> None:
    """With fixed exponents the law E + A N^-alpha + B D^-beta is linear, so its intervals are Student t intervals.

    The standard error is multiplied by ``raised``: the method "residual" enlarges it by sqrt(n / (n - p)).
    """
    values = surface(9, seed=2)
    values["loss"] += 0.01 * np.random.default_rng(5).normal(size=9)
    spec = FitSpec(objective="ols", fixed={"alpha": 0.35, "beta": 0.37}, interval=method, bootstrap=10_000)  # type: ignore[arg-type]
    found = fit(spec, make_runs(values))
    x = np.column_stack([np.ones(9), values["N"] ** -0.35, values["D"] ** -0.37])
    theta, rss, *_ = np.linalg.lstsq(x, values["loss"])
    se = raised * np.sqrt(rss[0] / 6 * np.diag(np.linalg.inv(x.T @ x)))
    for i, level, ends in [(i, a, e) for i in range(3) for a, e in ((0.68, "ci68"), (0.95, "ci95"))]:
        made = getattr(found.parameters[i], ends)
        assert made == pytest.approx(stats.t.interval(level, 6, theta[i], se[i]), abs=0.12 * se[i])


def test_the_profile_of_an_exponent_is_the_f_test_interval() -> None:
    """Profile intervals of alpha, K and an extrapolated loss equal F-test intervals that are computed with scipy.

    If the quantity is fixed at an interval end, the minimum of the sum of squares is S_min (1 + F / (n - p)). S_min is
    the minimum without this constraint.
    """
    values = scan(0.05)
    found = fit(power(interval="profile", bootstrap=10_000), make_runs(values))
    log_y = np.log(values["loss"])

    def least(hold: object) -> float:
        """Minimize the sum of squares under the constraint hold(K, a, alpha) = 0."""

        def rest(v: Floats) -> Floats:
            with np.errstate(invalid="ignore"):
                r = np.log(np.maximum(v[0] + np.exp(v[1]) * D ** -v[2], 1e-9)) - log_y
            return np.r_[r, 1e4 * hold(v)]  # type: ignore[operator]

        start = [found.theta[0], found.theta[2] * math.log(found.theta[1]), found.theta[2]]
        return float(np.sum(optimize.least_squares(rest, start, x_scale=[1e-3, 1e-2, 1e-2], xtol=1e-14).fun[:7] ** 2))

    far, (k, _, alpha) = 1e7, found.theta
    at_far = float(found.predict({"D": np.array(far)}))
    draws = found.predict_draws({"D": np.array(far)})
    cases = [
        (alpha, found.parameters[2].ci68, lambda t: lambda v: v[2] - t, 0.02),
        (k, found.parameters[0].ci68, lambda t: lambda v: (v[0] - t) * 10, 0.06),
        (at_far, found.resampling.interval(at_far, draws, 0.68),
         lambda t: lambda v: (v[0] + np.exp(v[1]) * far ** -v[2] - t) * 10, 0.06),
    ]  # fmt: skip
    limit = found.objective * (1 + stats.f.ppf(0.68, 1, 4) / 4)  # type: ignore[operator]
    for centre, ends, hold, within in cases:
        assert ends is not None
        width = (ends[1] - ends[0]) / 2
        for side, end in ((-1, ends[0]), (1, ends[1])):
            exact = optimize.brentq(
                lambda h, side=side, c=centre, g=hold, w=width: least(g(c + side * h * w)) - limit, 0.3, 2.5, rtol=1e-3
            )
            assert abs(end - centre) == pytest.approx(exact * width, abs=within * width)


def test_deviance_scale_is_the_integral_over_normal_noise() -> None:
    """The two factors of a Huber loss for normal noise equal numerical integrals (psi: derivative of the loss).

    The factors are 2 E[psi'] / E[psi^2] and E[psi^2] / E[psi']^2. For abs(r) the second factor is pi / 2 * variance.
    """
    assert deviance_scale(Loss(np.inf, scale=2.0), 0.04) == pytest.approx((1 / 0.04, 0.04))
    for delta in (0.3, 1.0, 3.0):
        loss = Loss(delta)
        r = np.linspace(-40, 40, 400_001) * 0.7
        p = stats.norm.pdf(r, scale=0.7) * (r[1] - r[0])
        psi, bend, _ = loss.slopes(r)
        square, inside = float(p @ psi**2), float(p @ bend)
        expected = (2 * inside / square, square / inside**2)
        assert deviance_scale(loss, float(p @ loss.value(r))) == pytest.approx(expected, rel=1e-3)
    assert deviance_scale(Loss(1e-6), 1e-6 * 0.01 * math.sqrt(2 / math.pi))[1] == pytest.approx(
        1e-4 * math.pi / 2, rel=1e-3
    )


def test_noise_has_the_spread_of_the_residuals_and_students_tails() -> None:
    residual = np.random.default_rng(0).normal(size=40)
    drawn = noise(residual, np.arange(40), 5).draw(0, 0, 4000)
    expected = 40 / 35 * np.sqrt(np.mean(residual**2) * 35 / 33)  # t with 35 degrees of freedom has variance 35 / 33
    assert np.std(drawn) == pytest.approx(expected, rel=0.03)
    assert noise(residual, np.arange(40), 5).draw(0, 7, 9) == pytest.approx(drawn[7:9])
    assert (noise(np.zeros(5), np.arange(5), 2).draw(0, 0, 10) == 0).all()


def test_repeats_are_drawn_together() -> None:
    values = {k: np.repeat(v, 3) for k, v in surface(30, seed=1).items()}
    values["loss"] *= np.exp(0.01 * np.random.default_rng(2).normal(size=90))
    runs = make_runs(values)
    assert clusters(runs).tolist() == list(range(90))
    seeded = make_runs(values)
    object.__setattr__(seeded, "labels", {"seed": np.tile(["1", "2", "3"], 30)})
    member = clusters(seeded)
    assert len(set(member)) == 30
    assert (member.reshape(30, 3) == member[::3, None]).all()
    drawn = noise(np.repeat(np.random.default_rng(3).normal(size=30), 3), member, 5).draw(0, 0, 50).reshape(50, 30, 3)
    assert drawn == pytest.approx(np.repeat(drawn[..., :1], 3, axis=2))


def test_a_floor_that_is_open_is_spanned_by_both_answers() -> None:
    values = scan(0.0)
    found = fit(power(bootstrap=1000), make_runs(values))
    how = found.resampling
    assert (how.method, how.floorless) == ("residual", 500)
    assert (found.resamples[500:, 0] == 0).all()
    floor = found.parameters[0]
    assert floor.ci68 is not None
    assert floor.ci95 is not None
    assert found.confidence is not None
    assert not found.confidence.resolved
    assert floor.ci68[0] == floor.ci95[0] == -np.inf
    assert floor.ci68[1] == pytest.approx(found.confidence.upper(0.68))
    assert floor.ci95[1] == pytest.approx(found.confidence.upper(0.95))
    assert to_json(found)["parameters"]["K"]["ci95"] == [None, pytest.approx(floor.ci95[1])]
    alone = fit(power(fixed={"K": 0.0}, bootstrap=1000), make_runs(values))
    far = {"D": np.array(1e7)}
    both = how.interval(float(found.predict(far)), found.predict_draws(far), 0.68)
    without = alone.resampling.interval(float(alone.predict(far)), alone.predict_draws(far), 0.68)
    assert both is not None
    assert without is not None
    assert both[0] == pytest.approx(without[0], rel=0.02)
    assert both[1] >= without[1] * 0.99
    text = next(w.text for w in found.warnings if w.code in ("floor-zero", "floor-weak"))
    assert f"the loss is {float(alone.predict(far)):.3g} without a floor" in text
    few = thin(found, 100)
    assert (few.resamples[:, 0] == 0).sum() >= few.resampling.floorless == 50
    assert read_fit(to_json(found)).resampling == how
    assert read_fit(to_json(found)).confidence == found.confidence
    line = (
        "Intervals (residual): the same runs with noise drawn from their residuals, half of the refits without a floor."
    )
    assert line in repr(found)
    assert plan_target(found, 0.02).allocation["D"].ci95 is not None


def test_what_is_chosen_by_itself() -> None:
    assert choose("auto", 7, 3) == "residual"
    assert choose("auto", 45, 5) == choose("auto", 240, 5) == "bc"
    assert choose("profile", 7, 3) == "profile"
    assert fit(FitSpec(bootstrap=20), make_runs(surface(60, 0.01))).resampling == Resampling(
        "bc", runs=60, parameters=5
    )


@pytest.mark.parametrize("floor", [0.0, 0.05])
def test_seven_runs_are_covered(floor: float) -> None:
    """In 40 simulated tables, 68 % intervals of the loss at D = 10^7 contain the truth at about the nominal rate."""
    held = 0
    for seed in range(40):
        found = fit(power(bootstrap=40, seed=seed), make_runs(scan(floor, seed)))
        ends = found.resampling.interval(
            float(found.predict({"D": np.array(1e7)})), found.predict_draws({"D": np.array(1e7)}), 0.68
        )
        assert ends is not None
        held += ends[0] <= floor + 0.01 <= ends[1]
    assert held / 40 > 0.65 - 3 * math.sqrt(0.68 * 0.32 / 40)


def test_what_a_method_cannot_do_is_refused() -> None:
    with pytest.raises(PlannerError, match="isoflop has no interval profile: choose auto, residual, bc or percentile"):
        fit(FitSpec(law="isoflop", interval="profile"), make_runs(sweep([1e18, 1e19, 1e20, 1e21])))
    with pytest.raises(PlannerError, match="asymmetric has no likelihood to profile"):
        fit(FitSpec(objective="asymmetric", interval="profile"), make_runs(surface(30, 0.01)))


def test_resampled_runs_are_expanded_to_students_interval() -> None:
    """Draws from resampled runs are too narrow by sqrt((n - p) / n); the method "bc" expands them to the t interval."""
    draws = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000, 5.0, np.sqrt(16 / 21))
    how = Resampling("bc", runs=21, parameters=5)
    assert how.interval(5.0, draws, 0.95) == pytest.approx(stats.t.interval(0.95, 16, 5.0, 1.0), abs=0.01)
    assert Resampling("percentile", runs=21, parameters=5).interval(5.0, draws, 0.95) == pytest.approx(
        stats.norm.interval(0.95, 5.0, np.sqrt(16 / 21)), abs=0.01
    )


def test_a_typed_law_is_resampled_as_the_law_of_terms() -> None:
    runs = make_runs(scan(0.05))
    typed = FitSpec(
        law="formula", formula="K + A * D^(-alpha)", objective="ols-log", bootstrap=60, bounds={"K": (0, None)}
    )
    one, other = fit(typed.read_from(runs), runs), fit(power(bootstrap=60), runs)
    assert one.resampling.method == other.resampling.method == "residual"
    far = {"D": np.array(1e7)}
    assert one.predict_draws(far) == pytest.approx(other.predict_draws(far), rel=1e-5)
    with pytest.raises(PlannerError, match="formula has no interval profile"):
        fit(typed.model_copy(update={"interval": "profile"}).read_from(runs), runs)
