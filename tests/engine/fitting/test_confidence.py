"""Tests of the confidence curve of a floor: comparison with an exact t test, limits, and use in a plan."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import Fit, FitSpec, fit, read_fit, to_json
from isoplan.engine.fitting.resampling.floor_profile import floor_confidence, signed_scores
from isoplan.engine.fitting.samples.sample import sample
from isoplan.engine.fitting.types.intervals import FloorConfidence
from isoplan.engine.planning.plan.document import read_plan
from isoplan.engine.planning.plan.document import to_json as plan_json
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.schema import Roles, Runs
from tests.engine.fitting.tables import make_runs, surface


def straight(noise: float = 0.02, seed: int = 0, repeats: int = 1) -> Runs:
    """Simulate runs of loss = 2 + 300 D^-0.5 plus noise; the ``repeats`` seeds of one D have equal losses."""
    D = np.repeat(np.geomspace(1e3, 1e6, 12), repeats)
    eps = np.repeat(np.random.default_rng(seed).normal(size=12), repeats)
    values = {"D": D, "loss": 2 + 300 * D**-0.5 + noise * eps}
    labels = {"seed": np.tile(np.arange(repeats).astype(str), 12)} if repeats > 1 else {}
    return Runs(np.arange(len(D)), values, Roles(loss="loss"), labels, "straight")


def t_test(runs: Runs, floors: list[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Compute the confidence that the loss at infinite D is below each of ``floors``, by an exact t test.

    The loss is a straight line in D^-0.5, so its floor is the intercept of a linear regression.
    """
    x = runs["D"] ** -0.5
    line = stats.linregress(x, runs["loss"])
    t = (np.array(floors) - line.intercept) / line.intercept_stderr
    return np.asarray(stats.t.cdf(t, len(x) - 2))


FIXED = FitSpec(law="power", axis="D", objective="ols", fixed={"alpha": 0.5}, bootstrap=20)


def test_a_linear_law_has_the_confidence_of_its_t_test() -> None:
    runs = straight()
    found = floor_confidence(sample(FIXED, runs), 0)
    assert found is not None
    floors = [1.97, 1.985, 2.0, 2.01, 2.03]
    assert found.below(floors) == pytest.approx(t_test(runs, floors), abs=0.01)
    assert found.resolved
    assert t_test(runs, [found.upper(0.95)]) == pytest.approx(0.95, abs=0.005)


def test_diverged_runs_do_not_hide_what_the_others_say_of_the_floor() -> None:
    """A Huber fit limits the floor although some runs diverged. Least squares would allow much larger floors."""
    N, D = (x.ravel() for x in np.meshgrid(np.geomspace(1e7, 1e9, 6), np.geomspace(1e9, 1e11, 5)))
    loss = (1.69 + 406 / N**0.34 + 411 / D**0.28) * np.exp(0.003 * np.random.default_rng(3).normal(size=30))
    loss[::7] = 11.2
    made = fit(FitSpec(law="chinchilla", bootstrap=50), make_runs({"N": N, "D": D, "loss": loss}))
    assert made.confidence is not None
    low = float(np.min(loss))
    assert made.confidence.upper(0.95) < 1.05 * low < floor_upper_of_least_squares(made, N, D, loss)
    assert made.confidence.below(1.69) < 0.95
    (E,) = (p for p in made.parameters if p.name == "E")
    assert E.ci95 is not None
    assert E.ci95[1] < 1.05 * low


def floor_upper_of_least_squares(made: Fit, N: Floats, D: Floats, loss: Floats) -> float:
    found = floor_confidence(sample(made.spec, make_runs({"N": N, "D": D, "loss": loss})), 0)
    assert found is not None
    return found.upper(0.95)


def test_single_runs_do_not_change_the_curve_of_runs_that_scatter_alike() -> None:
    N, D = (x.ravel() for x in np.meshgrid(np.geomspace(1e7, 1e9, 6), np.geomspace(1e9, 1e11, 5)))
    loss = (1.69 + 406 / N**0.34 + 411 / D**0.28) * np.exp(0.02 * np.random.default_rng(3).normal(size=30))
    runs = make_runs({"N": N, "D": D, "loss": loss})
    made = fit(FitSpec(law="chinchilla", bootstrap=50), runs)
    assert made.confidence == floor_confidence(sample(made.spec, runs), 0)


def test_repeats_of_a_cell_count_once() -> None:
    """Three seeds with equal losses give the same confidence in the floor as one seed."""
    once, thrice = (floor_confidence(sample(FIXED, straight(repeats=n)), 0) for n in (1, 3))
    assert once is not None
    assert thrice is not None
    assert thrice.below([1.98, 2.02]) == pytest.approx(once.below([1.98, 2.02]), abs=1e-3)


def test_without_noise_the_floor_is_certain() -> None:
    found = floor_confidence(sample(FIXED, straight(noise=0.0)), 0)
    assert found is not None
    assert found.below([1.99, 2.01]) == pytest.approx([0, 1], abs=1e-6)


def test_a_fit_without_a_degree_of_freedom_has_no_curve() -> None:
    """Two seeds at each of three D leave no degree of freedom, because repeated runs count once."""
    runs = straight(repeats=2)
    cells = runs.take(np.arange(24) < 6)
    assert floor_confidence(sample(FitSpec(law="power", axis="D"), cells), 0) is None


def test_roots_have_the_sign_of_their_side() -> None:
    at, best = np.array([1.0, 2.0, 3.0]), np.full(3, 2.0)
    found = signed_scores(at, best, np.array([1.5, 1.0, 1.5]), np.full(3, 1.0), 20, 1e-12)
    assert found[1] == 0
    assert found[2] == -found[0] == pytest.approx(stats.norm.ppf(stats.t.cdf(math.sqrt(10), 20)))


CURVE = FloorConfidence("E", (0.0, 0.2, 0.5, 0.9), (-1.0, 0.0, 1.5, 4.0))


@given(st.floats(-1, 3), st.floats(-1, 3))
def test_confidence_rises_with_the_floor(one: float, other: float) -> None:
    low, high = sorted((one, other))
    below = CURVE.below([low, high])
    assert 0 <= below[0] <= below[1] <= 1
    assert CURVE.below(-1e-9) == 0


@given(st.floats(0.17, 0.99))
def test_a_limit_is_where_the_confidence_is_its_level(level: float) -> None:
    assert CURVE.below(CURVE.upper(level)) == pytest.approx(level, abs=1e-9)


def test_a_curve_that_ends_early_has_no_limit() -> None:
    short = FloorConfidence("E", (0.0, 1.0), (-3.0, 1.0))
    assert math.isinf(short.upper(0.95))
    assert not short.resolved
    assert not CURVE.resolved
    assert FloorConfidence("E", (0.0, 1.0, 2.0), (-3.0, 0.0, 3.0)).resolved


@pytest.fixture(scope="module")
def open_floor() -> Fit:
    """Fit a few noisy runs far above their floor. These runs do not exclude a floor of zero."""
    N, D = (x.ravel() for x in np.meshgrid(np.geomspace(1e3, 1e5, 5), np.geomspace(1e4, 1e6, 5)))
    noise = np.exp(0.05 * np.random.default_rng(1).normal(size=25))
    return fit(FitSpec(bootstrap=100), make_runs({"N": N, "D": D, "loss": (0.15 + 60 * N**-0.7 + 6 * D**-0.2) * noise}))


@pytest.fixture(scope="module")
def known_floor() -> Fit:
    return fit(FitSpec(bootstrap=100), make_runs(surface(80, 0.005)))


def test_no_probability_where_the_floor_is_not_resolved(open_floor: Fit) -> None:
    curve = open_floor.confidence
    assert curve is not None
    assert not curve.resolved
    for target in (1e-6, 0.05, 0.5 * curve.upper(0.95)):
        plan = plan_target(open_floor, target)
        assert plan.p_reach is None
        assert plan.reach is not None
        assert plan.reach.verdict == "not determined"
        assert "probability" not in plan.sentence
        assert f"below {curve.upper(0.95):.3g} (95 %) and zero is not excluded" in plan.sentence
        assert "is not determined. Train runs with D above 1.0 M" in plan.sentence
        assert read_plan(plan_json(plan)) == plan.shown


def test_a_target_above_the_limit_is_reachable(open_floor: Fit) -> None:
    assert open_floor.confidence is not None
    plan = plan_target(open_floor, 1.02 * open_floor.confidence.upper(0.95))
    assert plan.reach is not None
    assert plan.reach.verdict == "reachable"
    assert plan.p_reach is None


def test_the_verdict_does_not_depend_on_how_many_refits_have_no_floor(open_floor: Fit) -> None:
    """The answer about a target loss is the same with 60 resamples as with 100."""
    half = replace(open_floor, resamples=open_floor.resamples[:60])
    assert plan_target(half, 0.1).reach == plan_target(open_floor, 0.1).reach


def test_an_open_floor_has_an_upper_limit_and_no_lower_end(open_floor: Fit) -> None:
    floor = next(p for p in open_floor.parameters if p.name == "E")
    assert floor.ci68 is not None
    assert floor.ci95 is not None
    assert floor.ci68[0] == floor.ci95[0] == -math.inf
    assert floor.value <= floor.ci68[1] <= floor.ci95[1]
    raw = to_json(open_floor)
    assert raw["parameters"]["E"]["ci95"][0] is None
    assert raw["confidence"]["resolved"] is False
    assert read_fit(raw).confidence == open_floor.confidence
    assert "at most" in repr(open_floor)


def test_a_resolved_floor_gives_the_probability_of_its_curve(known_floor: Fit) -> None:
    curve = known_floor.confidence
    assert curve is not None
    assert curve.resolved
    target = curve.upper(0.7)
    plan = plan_target(known_floor, target)
    assert plan.p_reach == pytest.approx(0.7, abs=1e-6)
    assert "If the law holds, the target can be reached with probability about 70 %." in plan.sentence
    with pytest.raises(PlannerError, match="out of reach"):
        plan_target(known_floor, 0.5 * curve.upper(0.5))


def test_a_fit_of_an_older_version_states_no_probability_with_an_open_floor(open_floor: Fit) -> None:
    raw = to_json(open_floor)
    del raw["confidence"]
    plan = plan_target(read_fit(raw), 0.05)
    assert plan.p_reach is None
    assert plan.reach is not None
    assert plan.reach.verdict == "not determined"


@pytest.mark.parametrize(
    ("at", "score"), [([0.0, 0.0], [-1.0, 1.0]), ([0.0, 1.0], [1.0, -1.0]), ([0.0, 1.0, 2.0], [-1.0, 1.0])]
)
def test_a_damaged_curve_is_refused(known_floor: Fit, at: list[float], score: list[float]) -> None:
    raw = to_json(known_floor) | {"confidence": {"name": "E", "at": at, "score": score}}
    with pytest.raises(PlannerError, match="confidence"):
        read_fit(raw)


def test_objectives_that_differ_about_a_floor_state_no_probability() -> None:
    """If least squares and Huber give different floors, a plan for a loss between the floors states no probability."""
    frame = surface(60, noise=0.002)
    frame["loss"][np.argsort(frame["loss"])[:8:2]] *= 1.02
    found = fit(FitSpec(bootstrap=60), make_runs(frame))
    curve = found.confidence
    assert curve is not None
    floor = float(found.values["E"])
    assert curve.resolved
    assert not curve.agrees(floor)
    assert curve.agrees(curve.upper(0.5))
    (caution,) = (w for w in found.warnings if w.code == "floor-objectives")
    assert caution.text.startswith(
        f"The objective huber-log gives E = {floor:.4g}, and least squares gives {curve.upper(0.5):.4g}"
    )
    between = plan_target(found, (floor + curve.upper(0.5)) / 2)
    assert between.p_reach is None
    assert "can be reached is not determined" in between.sentence
    assert "can be reached with both floors" in plan_target(found, 1.2 * curve.upper(0.99)).sentence


def test_an_objective_that_agrees_with_the_curve_keeps_the_probability() -> None:
    found = fit(FitSpec(objective="ols-log", bootstrap=60), make_runs(surface(60, noise=0.004)))
    assert found.confidence is not None
    assert found.confidence.agrees(float(found.values["E"]))
    assert "floor-objectives" not in {w.code for w in found.warnings}
