"""Plans under limits: the optimum, the limits that it reaches, and the shadow prices of these limits."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from isoplan.engine.costs import compute_rule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.laws import get_law
from isoplan.engine.planning.drawing.picture import plan_curve
from isoplan.engine.planning.optimum.constrained import best_loss, least_cost_within, money
from isoplan.engine.planning.optimum.frontier import frontier, least_compute
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.document import read_plan, to_json
from isoplan.engine.planning.plan.parts import Worth
from isoplan.engine.planning.plan.solve import room
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.limits import Limits
from isoplan.engine.planning.scenario.prices import Inference, Prices, Simulation
from tests.engine.planning.conftest import EPOCH, RANGES, curved, make_fit, scattered

H200 = Machine(find_device("H200"), 8, price=3.0)
TRAINING = Prices(H200)
ALL = Prices(H200, Simulation(price=1e-7), Inference(queries=1e8, tokens=100))
REPEATING = (*EPOCH, 15.4, 5.3)
"""The law ``EPOCH`` with the constants R_D = 15.4 and R_N = 5.3 for repeated samples (Muennighoff et al. 2023)."""
LAWS = {
    "chinchilla": EPOCH,
    "kaplan": (8.8e13, 0.076, 5.4e13, 0.095),
    "data-constrained": REPEATING,
}


def known(plan: Plan, name: str = "C") -> float:
    value = plan.allocation[name].value
    assert value is not None
    return value


def worth_of(plan: Plan, name: str) -> Worth:
    return next(w for w in plan.worth if w.limit == name)


def binding(plan: Plan) -> set[str]:
    return {w.limit for w in plan.worth if w.binds}


def repeating(r: int = 60) -> Fit:
    return make_fit(REPEATING, scattered(REPEATING, r), law="data-constrained", ranges=RANGES)


exponents = st.floats(0.1, 1.2)


@settings(max_examples=60)
@given(exponents, exponents, st.floats(-2, 6), st.floats(-2, 6), st.floats(0, 3), st.floats(14, 26), st.floats(0.05, 3))
def test_closed_forms_agree_with_the_search(
    alpha: float, beta: float, a: float, b: float, E: float, log_c: float, excess: float
) -> None:
    law = get_law("chinchilla")
    v = law.values([E, 10**a, 10**b, alpha, beta])
    rule = compute_rule("6ND")
    closed = frontier(law, v, np.asarray(10**log_c), rule)
    assume(min(closed.N, closed.D) > 1)
    found = best_loss(law, v, room(law, {"budget": 10**log_c}, None), rule)
    assert found.loss == pytest.approx(closed.loss, rel=1e-12)
    assert found.N == pytest.approx(closed.N, rel=1e-6)
    assert found.D == pytest.approx(closed.D, rel=1e-6)
    goal = np.asarray(E + excess)
    least = least_cost_within(law, v, goal, room(law, {}, None), rule)
    exact = least_compute(law, v, goal, rule)
    if 1 < min(exact.N, exact.D) and max(exact.N, exact.D) < 1e36:  # the solver searches sizes up to 1e40
        assert least.C == pytest.approx(exact.C, rel=1e-6)
        assert least.N == pytest.approx(exact.N, rel=1e-6)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("formula", ["", "6*N*D + 1e9*D"])
def test_every_law_and_rule_agrees_with_the_search(name: str, formula: str) -> None:
    law, rule = get_law(name), compute_rule("formula" if formula else "6ND", formula=formula)
    v = law.values(LAWS[name])
    for C in (1e18, 1e21, 1e24):
        found, known = best_loss(law, v, room(law, {"budget": C}, None), rule), frontier(law, v, np.asarray(C), rule)
        assert found.loss == pytest.approx(known.loss, rel=1e-10)
        assert found.N == pytest.approx(known.N, rel=1e-5)
        least = least_cost_within(law, v, known.loss, room(law, {}, None), rule)
        assert least.C == pytest.approx(C, rel=1e-6)


@settings(max_examples=40)
@given(st.floats(7, 11), st.floats(8, 12), st.floats(18, 24))
def test_a_limited_budget_is_the_clipped_frontier(log_n: float, log_d: float, log_c: float) -> None:
    """The loss has one minimum in N at a fixed budget, so limits move N* to the nearest allowed size."""
    fit, C, most_n, most_d = make_fit(EPOCH), 10**log_c, 10**log_n, 10**log_d
    free = known(plan_budget(fit, C), "N")
    N = min(max(free, C / 6 / most_d), most_n)
    D = min(C / 6 / N, most_d)
    plan = plan_budget(fit, C, limits=Limits(unique=most_d, parameters=most_n))
    assert known(plan, "N") == pytest.approx(N, rel=1e-6)
    assert known(plan, "D") == pytest.approx(D, rel=1e-6)
    assert known(plan) <= C * (1 + 1e-12)


def test_repeated_samples_are_worth_what_the_law_says() -> None:
    """The plan is as good as the best of 20,001 model sizes. With a limit of four epochs the plan uses four epochs."""
    fit, U, C = repeating(), 2e9, 3e19
    plan = plan_budget(fit, C, limits=Limits(unique=U))
    N = np.geomspace(1e6, 1e12, 20001)
    grid = fit.predict({"N": N, "D": C / 6 / N, "U": np.full_like(N, U)})
    assert known(plan, "loss") <= grid.min()
    assert known(plan, "loss") == pytest.approx(grid.min(), rel=1e-7)
    assert plan.derived["passes"].value == pytest.approx(known(plan, "D") / U)
    four = plan_budget(fit, C, limits=Limits(unique=U, epochs=4))
    assert four.derived["passes"].value == pytest.approx(4)
    assert known(four, "loss") > known(plan, "loss")
    assert {"epochs", "unique"} <= binding(four)
    back = plan_target(fit, known(four, "loss"), limits=Limits(unique=U, epochs=4))
    assert known(back) == pytest.approx(C, rel=1e-6)
    assert not any(w.code == "epochs-not-credited" for w in plan.warnings)


def test_a_law_without_repetition_credits_no_epoch(epoch: Fit) -> None:
    plan = plan_budget(epoch, 1e22, limits=Limits(unique=1e9, epochs=10))
    assert known(plan, "D") == 1e9
    assert plan.derived["passes"].value == 1.0
    assert binding(plan) == {"unique", "budget"}
    (text,) = [w.text for w in plan.warnings if w.code == "epochs-not-credited"]
    assert text.startswith("The law chinchilla does not describe repeated tokens, so the plan has no second epoch")


@pytest.mark.parametrize(
    ("limits", "binds"),
    [
        (Limits(hours=10), "hours"),
        (Limits(money=500), "money"),
        (Limits(parameters=1e8), "parameters"),
        (Limits(memory=16e9), "memory"),
        (Limits(unique=1e10), "unique"),
    ],
)
def test_each_limit_binds_and_its_worth_is_a_step_of_one_percent(epoch: Fit, limits: Limits, binds: str) -> None:
    C = 1e22
    plan = plan_budget(epoch, C, limits=limits, prices=TRAINING)
    found = worth_of(plan, binds)
    assert binds in binding(plan)
    assert found.used == pytest.approx(found.most, rel=1e-6)
    more = replace(limits, **{binds: found.most * 1.01})
    gain = known(plan, "loss") - known(plan_budget(epoch, C, limits=more, prices=TRAINING), "loss")
    assert found.slope.value == pytest.approx(gain / (0.01 * found.most), rel=0.02)
    assert gain > 0
    ten = plan_budget(epoch, C, limits=replace(limits, **{binds: found.most * 1.1}), prices=TRAINING)
    assert found.ten.value == pytest.approx(known(plan, "loss") - known(ten, "loss"), rel=1e-9)
    assert found.ten.ci68 is not None
    assert found.ten.value is not None
    assert found.ten.ci68[0] < found.ten.value < found.ten.ci68[1]


def test_the_worth_of_a_target_is_money_or_flops(epoch: Fit) -> None:
    for prices, unit in ((None, "FLOPs"), (TRAINING, "EUR")):
        plan = plan_target(epoch, 2.5, limits=Limits(unique=6e9, parameters=1e12), prices=prices)
        found = worth_of(plan, "unique")
        more = known(plan_target(epoch, 2.5, limits=Limits(unique=6e9 * 1.01)))
        per_flop = float(H200.money(1.0)) if prices else 1.0
        assert found.slope.unit == unit
        assert found.slope.value == pytest.approx((known(plan) - more) * per_flop / (0.01 * 6e9), rel=0.05)
        slack = worth_of(plan, "parameters")
        assert (slack.binds, slack.slope.value, slack.ten.value) == (False, 0.0, 0.0)


def test_a_worth_is_one_sided_where_another_limit_begins_to_bind() -> None:
    """Training at the limits of N and U costs the whole budget.

    More unique samples do not help, and fewer increase the loss.
    """
    fit, C = make_fit(EPOCH), 1e21
    plan = plan_budget(fit, C, limits=Limits(parameters=1e8, unique=C / 6 / 1e8))
    found = worth_of(plan, "unique")
    assert found.binds
    assert found.slope.value == 0.0  # the budget does not pay for more samples
    assert found.one_sided
    assert not worth_of(plan_budget(fit, C, limits=Limits(parameters=1e8)), "parameters").one_sided


def test_slack_limits_change_nothing_and_are_worth_nothing(epoch: Fit) -> None:
    free = plan_budget(epoch, 1e21)
    plan = plan_budget(
        epoch, 1e21, limits=Limits(unique=1e14, parameters=1e13, hours=1e9, memory=1e15, money=1e12), prices=ALL
    )
    assert binding(plan) == {"budget"}
    for name in ("N", "D", "C", "loss"):
        assert known(plan, name) == pytest.approx(known(free, name), rel=1e-6)
        ends = plan.allocation[name].ci95
        assert ends == pytest.approx(free.allocation[name].ci95, rel=1e-6)
    assert all(w.slope.value == w.ten.value == 0 for w in plan.worth if not w.binds)


@settings(max_examples=20)
@given(st.floats(8, 12), st.floats(7, 11), st.floats(0, 2), st.floats(0.02, 0.3))
def test_a_looser_limit_is_never_a_dearer_plan_nor_a_worse_loss(
    log_u: float, log_n: float, looser: float, excess: float
) -> None:
    fit = make_fit(EPOCH)
    U, N, times = 10**log_u, 10**log_n, 10**looser

    def ask(limits: Limits) -> tuple[float, float]:
        loss = known(plan_budget(fit, 1e21, limits=limits), "loss")
        try:
            return loss, known(plan_target(fit, EPOCH[0] + excess, limits=limits))
        except PlannerError:
            return loss, math.inf

    tight = ask(Limits(unique=U, parameters=N))
    for loose in (Limits(unique=U * times, parameters=N), Limits(unique=U, parameters=N * times), Limits(unique=U)):
        loss, C = ask(loose)
        assert loss <= tight[0] + 1e-9
        assert C <= tight[1] * (1 + 1e-9)


@settings(max_examples=30)
@given(st.floats(15, 25), st.floats(0, 3), st.sampled_from([None, 1e9]))
def test_more_budget_never_gives_a_worse_loss(log_c: float, more: float, unique: float | None) -> None:
    fit, limits = repeating(0), Limits(unique=unique)
    poor, rich = (known(plan_budget(fit, 10**c, limits=limits), "loss") for c in (log_c, log_c + more))
    assert rich <= poor + 1e-12


@settings(max_examples=10)
@given(st.floats(-9, 9), st.floats(-9, 9))
def test_units_of_size_and_samples_change_no_answer(log_n: float, log_d: float) -> None:
    """If ``n`` and ``d`` are the units of N and D, then A, B and the compute rule change. The plan is the same."""
    n, d = 10**log_n, 10**log_d
    E, A, B, alpha, beta = EPOCH
    usual, limits = make_fit(EPOCH), Limits(unique=2e9, parameters=1e12)
    other = make_fit(
        (E, A / n**alpha, B / d**beta, alpha, beta), rule=compute_rule("formula", formula=f"6*N*D*{n * d!r}")
    )
    scaled = Limits(unique=2e9 / d, parameters=1e12 / n)
    for one, two in (
        (plan_budget(usual, 1e22), plan_budget(other, 1e22)),
        (plan_budget(usual, 1e22, limits=limits), plan_budget(other, 1e22, limits=scaled)),
        (plan_target(usual, 2.3), plan_target(other, 2.3)),
        (plan_target(usual, 2.8, limits=limits), plan_target(other, 2.8, limits=scaled)),
    ):
        assert known(two, "N") * n == pytest.approx(known(one, "N"), rel=1e-5)
        assert known(two, "D") * d == pytest.approx(known(one, "D"), rel=1e-5)
        assert known(two) == pytest.approx(known(one), rel=1e-6)
        assert known(two, "loss") == pytest.approx(known(one, "loss"), rel=1e-9)


def test_money_pays_for_everything_that_has_a_price(epoch: Fit) -> None:
    plan = plan_budget(epoch, 1e24, limits=Limits(money=1e6), prices=ALL)
    total = next(line.amount for line in plan.bill if line.part == "total")
    assert total.value == pytest.approx(1e6, rel=1e-9)
    assert binding(plan) == {"money"}
    rates = ALL.rates
    N = known(plan, "N") * np.array([0.9, 1.1])
    D = (1e6 - rates.parameter * N - rates.fixed) / (6 * rates.flop * N + rates.sample)
    assert (epoch.predict({"N": N, "D": D}) > known(plan, "loss")).all()
    assert worth_of(plan, "money").ten.value is not None


def test_a_target_takes_least_money_and_none_below_it_is_enough() -> None:
    fit = make_fit(EPOCH)
    total = total_of(plan_target(fit, 2.3, prices=ALL))
    plan = plan_target(fit, 2.3, prices=ALL, limits=Limits(money=1.03 * total))
    assert total_of(plan) == pytest.approx(total, rel=1e-9)
    assert worth_of(plan, "money").used == pytest.approx(total)
    assert not worth_of(plan, "money").binds
    with pytest.raises(
        PlannerError, match=r"contradicts the limit of .* EUR: the target needs at least .* EUR; loosen it"
    ):
        plan_target(fit, 2.3, prices=ALL, limits=Limits(money=0.97 * total))


def total_of(plan: Plan) -> float:
    value = next(line.amount.value for line in plan.bill if line.part == "total")
    assert value is not None
    return value


def test_money_of_a_point_is_the_total_of_its_bill() -> None:
    left = room(get_law("chinchilla"), {"unique": 1e9}, ALL)
    N, D, C = np.array([1e8, 1e9]), np.array([5e8, 5e9]), np.array([1e20, 1e21])
    total = ALL.lines(C, N, np.minimum(D, 1e9))[-1].amount
    assert money(N, D, C, left.U, ALL.rates) == pytest.approx(total, rel=1e-12)
    fixed = Prices(H200, inference=Inference(queries=1e8, flops=1e12))
    assert money(N, D, C, left.U, fixed.rates) == pytest.approx(fixed.lines(C, N, D)[-1].amount, rel=1e-12)


def test_resamples_beyond_the_limits_count_as_never() -> None:
    resamples = np.tile(EPOCH, (100, 1))
    resamples[:, 2] *= np.linspace(0.9, 1.3, 100)  # B determines whether 6e9 samples suffice
    fit = curved(make_fit(EPOCH, resamples, ranges=RANGES))
    goal = float(fit.predict({"N": 1e11, "D": 6e9}))
    plan = plan_target(fit, goal, limits=Limits(unique=6e9))
    assert plan.p_reach is not None
    assert 0.2 < plan.p_reach < 0.6
    assert plan.allocation["C"].ci68 is not None
    assert math.isinf(plan.allocation["C"].ci68[1])
    assert "If the law holds, the target can be reached within the limits with probability" in plan.sentence
    assert any("within the limits" in w.text for w in plan.warnings)


def test_laws_of_the_frontier_alone_keep_limits_on_compute() -> None:
    theta = (3.33e-4, 0.6175, 499.0, 0.3825, 1.0, 1e12, 0.1)
    fit = make_fit(theta, scattered(theta, spread=0.001), law="isoflop")
    hours = float(H200.hours(1e20))
    plan = plan_budget(fit, 1e22, limits=Limits(hours=hours), prices=TRAINING)
    assert known(plan) == pytest.approx(1e20)
    assert binding(plan) == {"hours"}
    with pytest.raises(
        PlannerError, match="isoflop describes only the best model of each budget, so a limit on unique"
    ):
        plan_budget(fit, 1e22, limits=Limits(unique=1e9))
    with pytest.raises(PlannerError, match="contradicts the limit of 10⁻⁶ hours: the target needs at least 10²¹ FLOPs"):
        plan_target(fit, 1 + 10**-0.9, limits=Limits(hours=1e-6), prices=TRAINING)
    size = make_fit((0.1, 1e6, 0.4), law="power", axis="N")
    with pytest.raises(
        PlannerError, match="A law on N alone does not determine the cost of training, so limits are not possible"
    ):
        plan_target(size, 0.2, limits=Limits(parameters=1e9))


def test_limited_plans_survive_json_and_speak(epoch: Fit) -> None:
    from isoplan.engine.planning.plan.document import as_text

    limits = Limits(unique=6e9, hours=1e5, memory=800e9)
    other = compute_rule("6npND", 2)
    for plan in (
        plan_budget(epoch, 1e22, limits=limits, prices=ALL, other=other),
        plan_target(epoch, 2.55, limits=limits, prices=ALL, other=other),
    ):
        assert read_plan(json.loads(json.dumps(to_json(plan), allow_nan=False))) == plan
        shown = as_text(plan)
        assert "The limit of 6.00 B unique samples is reached: ten per cent more " in shown
        assert "The limit of 800 GB of memory on each device is not reached: the plan uses " in shown
        assert "By C = 6 n_p N D with n_p = 2 the same plan costs 2.00 times as much" in shown
        assert "Machine: 8 x H200 at 40 % of 989 TFLOP/s bf16 (peaks of the NVIDIA H200 data sheet, SXM" in shown
        assert "Total, money" in shown
    bare = to_json(plan_budget(epoch, 1e22))
    assert not {"prices", "bill", "worth", "restated"} & set(bare)
    assert bare["question"] == {"budget": 1e22}


def test_the_picture_of_a_limited_plan_shows_its_answer(epoch: Fit) -> None:
    plan = plan_budget(epoch, 1e22, limits=Limits(unique=1e10))
    curve = plan_curve(plan, epoch).isoflop
    assert curve is not None
    assert (curve.N_best, curve.D_best) == (known(plan, "N"), 1e10)
    assert np.interp(np.log(curve.N_best), np.log(curve.N), curve.loss) == pytest.approx(curve.loss_best, rel=1e-3)
    assert plan_curve(plan_target(epoch, 2.6, limits=Limits(unique=6e9)), epoch).isoflop is not None


PICTURED = {
    "samples": Limits(unique=1e10),
    "size": Limits(parameters=1e9),
    "both": Limits(unique=3e10, parameters=5e9),
    "nothing": Limits(unique=1e14, parameters=1e14),
    "time": Limits(hours=20.0),
    "memory and epochs": Limits(unique=5e9, epochs=4, memory=30e9),
    "money": Limits(money=2e4, unique=1e11),
}


@pytest.mark.parametrize("law", ["epoch", "repeating"])
@pytest.mark.parametrize("case", PICTURED)
def test_the_answer_is_the_lowest_point_of_the_curve_within_its_limits(epoch: Fit, law: str, case: str) -> None:
    fit, limits = epoch if law == "epoch" else repeating(), PICTURED[case]
    if law == "repeating" and limits.unique is None:
        limits = replace(limits, unique=1e11)
    plan = plan_budget(fit, 1e22, limits=limits, prices=ALL)
    picture = plan_curve(plan, fit)
    curve, left = picture.isoflop, picture.room
    assert curve is not None
    assert left is not None
    assert np.min(curve.loss) == pytest.approx(known(plan, "loss"), rel=1e-9)
    assert curve.N[np.argmin(curve.loss)] == pytest.approx(known(plan, "N"), rel=1e-3)
    assert np.all(curve.N <= left.N)
    assert np.all(curve.D <= left.D)
    assert np.all(plan.compute.flops(curve.N, curve.D) <= known(plan) * (1 + 1e-9))
    if picture.free is not None:  # the loss without limits is never larger
        free = fit.predict({"N": curve.N, "D": plan.compute.samples(known(plan), curve.N)})
        assert np.all(free <= curve.loss * (1 + 1e-9))


def test_samples_at_their_limit_are_exactly_that_many(epoch: Fit) -> None:
    plan = plan_target(epoch, 2.4, limits=Limits(unique=6e9), prices=ALL)
    assert (known(plan, "D"), plan.derived["passes"].value) == (6e9, 1.0)
    assert "on 6.0 B" in plan.sentence.replace("6.00", "6.0")
    assert "6.0 B to 6.0 B" not in plan.sentence
