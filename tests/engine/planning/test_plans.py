"""Plans for a budget or a target: their values, intervals, text and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.engine.costs import compute_rule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.types.result import Fit, FitWarning
from isoplan.engine.planning.answer.format import decades as decades_text
from isoplan.engine.planning.answer.quantity import NOT_RESAMPLED, UNPUBLISHED, Quantity, beyond
from isoplan.engine.planning.drawing.picture import plan_curve
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.document import as_text, read_plan, rows, to_json
from isoplan.engine.planning.plan.feasibility import floor_of
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.store.files.table_files import read_runs
from tests.engine.planning.conftest import EPOCH, JETS, RANGES, make_fit, scattered, with_floors

POWER = (0.1, 1e6, 0.4)


def codes(plan: Plan) -> list[str]:
    return [w.code for w in plan.warnings]


def test_a_budget_is_spent_and_its_numbers_have_intervals(epoch: Fit) -> None:
    plan = plan_budget(epoch, 5.76e23)
    N, D, C, loss = (plan.allocation[k] for k in ("N", "D", "C", "loss"))
    assert N.value is not None
    assert D.value is not None
    assert 6 * N.value * D.value == pytest.approx(5.76e23, rel=1e-12)
    assert C.ci68 == C.ci95 == (5.76e23, 5.76e23)
    for q in (N, D, loss, plan.derived["D/N"]):
        assert q.value is not None
        assert q.ci68 is not None
        assert q.ci95 is not None
        assert q.ci95[0] < q.ci68[0] < q.value < q.ci68[1] < q.ci95[1]
    assert plan.p_reach is None
    assert plan.fit == epoch.hash


def test_decades_beyond_the_runs(epoch: Fit) -> None:
    plan = plan_budget(epoch, 6e24)
    assert plan.allocation["C"].beyond == pytest.approx(2.0)
    assert plan.allocation["N"].beyond == pytest.approx(math.log10(float(plan.allocation["N"].value or 0) / 1e10))
    assert codes(plan)[0] == "far-extrapolated"
    assert "C by 2 decades" in plan.warnings[0].text
    assert rows(plan)[2].beyond == "2 decades"
    assert [decades_text(x) for x in (0.13, 1.0, 12.3, 157.2)] == [
        "0.13 decades",
        "1 decade",
        "12 decades",
        "157 decades",
    ]
    inside = plan_budget(epoch, 1e20)
    assert [q.beyond for q in inside.allocation.values()] == [0, 0, 0, 0]
    assert codes(inside) == []


@pytest.mark.parametrize(
    ("value", "decades"), [(5.0, 0.0), (1.0, 0.0), (10.0, 0.0), (1e3, 2.0), (0.1, 1.0), (None, 0.0), (-1.0, 0.0)]
)
def test_beyond_counts_both_ways(value: float | None, decades: float) -> None:
    assert beyond(value, (1.0, 10.0)) == pytest.approx(decades)
    assert beyond(value, None) == 0.0


@pytest.mark.parametrize("C", [1e4, 1e60, 1e300])
def test_absurd_budgets_still_make_sound_json(epoch: Fit, C: float) -> None:
    plan = plan_budget(epoch, C)
    assert read_plan(json.loads(json.dumps(to_json(plan), allow_nan=False))) == plan.shown
    assert plan_curve(plan, epoch).isoflop is not None


def test_how_flat_the_optimum_is(epoch: Fit) -> None:
    plan = plan_budget(epoch, 1e21)
    assert plan.flat is not None
    best = float(plan.allocation["loss"].value or 0)
    for N, D in zip(plan.flat.N, plan.flat.D, strict=True):
        assert epoch.predict({"N": N, "D": D}) == pytest.approx(1.01 * best, rel=1e-9)
        assert 6 * N * D == pytest.approx(1e21, rel=1e-12)
    assert plan.flat.N[0] < float(plan.allocation["N"].value or 0) < plan.flat.N[1]
    assert "The loss is within 1 % of the best loss from N = " in as_text(plan)


@settings(max_examples=25)
@given(st.floats(17, 24))
def test_a_target_is_the_inverse_of_a_budget(log_c: float) -> None:
    fit = make_fit(EPOCH, scattered(EPOCH, 60), ranges=RANGES)
    budget = plan_budget(fit, 10.0**log_c)
    target = plan_target(fit, float(budget.allocation["loss"].value or 0))
    assert target.allocation["C"].value == pytest.approx(10.0**log_c, rel=1e-8)
    assert target.allocation["N"].value == pytest.approx(budget.allocation["N"].value, rel=1e-8)


def test_a_harder_target_is_never_cheaper(epoch: Fit) -> None:
    costs = [plan_target(epoch, x).allocation["C"].value or math.inf for x in (3.0, 2.5, 2.2, 2.0, 1.9)]
    assert costs == sorted(costs)


def test_resamples_that_cannot_reach_make_the_upper_end_unbounded() -> None:
    """70 of 100 resamples have a floor below the target, so upper ends above the 70th percentile are infinite."""
    fit = with_floors(np.concatenate([np.linspace(1.70, 1.90, 70), np.full(30, 2.01)]))
    plan = plan_target(fit, 2.0)
    C = plan.allocation["C"]
    assert plan.p_reach == pytest.approx(0.7)
    assert C.value is not None
    assert C.ci68 is not None
    assert C.ci95 is not None
    assert math.isfinite(C.ci68[0])
    assert C.ci68[1] == C.ci95[1] == math.inf
    raw = to_json(plan)["allocation"]["C"]
    assert raw["ci68"][0] > 0
    assert raw["ci68"][1] is None
    assert codes(plan)[0] == "uncertain-floor"
    assert "count as infinite cost" in plan.warnings[0].text
    assert "probability about 70 %" in plan.sentence
    assert "at least" in rows(plan)[2].ci68


def test_all_but_the_outer_end_is_bounded_where_ninety_percent_reach() -> None:
    fit = with_floors(np.concatenate([np.linspace(1.70, 1.80, 45), np.linspace(1.83, 1.90, 45), np.full(10, 2.01)]))
    C = plan_target(fit, 2.0).allocation["C"]
    assert C.ci68 is not None
    assert C.ci95 is not None
    assert math.isfinite(C.ci68[1])
    assert math.isinf(C.ci95[1])


def test_a_target_below_the_best_fits_floor_that_some_resample_reaches_has_no_value() -> None:
    plan = plan_target(with_floors(np.concatenate([np.full(40, 1.5), np.full(60, 1.9)])), 1.7)
    raw = to_json(plan)
    assert [raw["allocation"][k]["value"] for k in ("N", "D", "C")] == [None, None, None]
    assert raw["allocation"]["loss"]["value"] == 1.7
    assert raw["p_reach"] == pytest.approx(0.4)
    assert raw["allocation"]["C"]["ci68"] == [pytest.approx(raw["allocation"]["C"]["ci95"][0]), None]
    assert codes(plan)[0] == "best-fit-fails"
    assert (
        plan.sentence == "The best fit does not reach loss 1.7 at any cost. If the law holds, the target can be "
        "reached with probability about 40 %."
    )


def test_an_interval_whose_lower_end_is_not_reachable_says_so() -> None:
    plan = plan_target(with_floors(np.concatenate([np.full(5, 1.5), np.full(95, 1.9)])), 1.7)
    C = plan.allocation["C"]
    assert C.ci68 == (math.inf, math.inf)
    assert rows(plan)[2].ci68 == "not reachable"
    assert to_json(plan)["allocation"]["C"]["ci68"] == [None, None]
    assert read_plan(json.loads(json.dumps(to_json(plan)))) == plan


@pytest.mark.parametrize(
    ("target", "why"),
    [
        (1.0, r"loss of 1 is out of reach: no resample of this fit reaches it, because the floor is 1\.8.* \(95 %: "),
        (0.0, "loss of 0 is not possible: give a target above 0"),
        (-1.0, "loss of -1 is not possible"),
        (math.nan, "target nan is not a finite number"),
        (math.inf, "target inf is not a finite number"),
    ],
)
def test_a_bad_target_is_refused(epoch: Fit, target: float, why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        plan_target(epoch, target)


@pytest.mark.parametrize("C", [0.0, -1e20, math.nan, math.inf])
def test_a_bad_budget_is_refused(epoch: Fit, C: float) -> None:
    with pytest.raises(PlannerError, match=r"is not positive\. Give a positive number"):
        plan_budget(epoch, C)


def test_a_target_at_the_floor_is_refused() -> None:
    with pytest.raises(PlannerError, match=r"this law never reaches it, because the floor is 0\.320; ask for a higher"):
        plan_target(make_fit(JETS), 0.32)


def test_a_published_law_plans_at_its_central_values() -> None:
    plan = plan_budget(make_fit(JETS, objective=None, rule=compute_rule("6npND", 40)), 1e18)
    for q in (plan.allocation["N"], plan.allocation["D"], plan.allocation["loss"]):
        assert q.value is not None
        assert q.ci68 is q.ci95 is None
        assert q.note == UNPUBLISHED == "no interval: correlations unpublished"
    assert codes(plan) == ["no-range", "no-interval"]
    assert plan_target(make_fit(JETS), 0.4).p_reach is None


def test_a_fit_without_resampling_says_why_it_has_no_interval() -> None:
    assert plan_budget(make_fit(EPOCH), 1e20).allocation["N"].note == NOT_RESAMPLED
    few = plan_budget(make_fit(EPOCH, scattered(EPOCH, 5)), 1e20)
    assert few.allocation["N"].note == "no interval: the fit has fewer than 20 resamples"


def test_a_flat_stretch_without_an_end_is_not_put_in_words() -> None:
    plan = plan_budget(make_fit(EPOCH, ranges=RANGES), 1e21)
    assert plan.flat is not None
    endless = replace(plan, flat=replace(plan.flat, N=(plan.flat.N[0], math.inf), D=(plan.flat.D[0], 0.0)))
    assert "is within 1 % of the best loss" in as_text(plan)
    assert "is within 1 % of the best loss" not in as_text(endless)


def test_laws_on_one_axis_answer_what_they_can() -> None:
    size = make_fit(POWER, scattered(POWER), law="power", axis="N", ranges={"N": (1e3, 1e6), "loss": (0.2, 1.0)})
    plan = plan_target(size, 0.2)
    N = plan.allocation["N"]
    assert N.value == pytest.approx(1e6 * 0.1**-2.5)
    assert N.ci68 is not None
    assert N.beyond == pytest.approx(math.log10(float(N.value or 0) / 1e6))
    assert plan.allocation["D"] == Quantity(None, unit="tokens", note="the law on N does not determine D")
    assert plan.sentence.startswith("To reach loss 0.2 use ")
    with pytest.raises(PlannerError, match="A law on N alone does not determine how to spend a budget"):
        plan_budget(size, 1e20)
    compute = make_fit((0.1, 1e12, 0.1), scattered((0.1, 1e12, 0.1)), law="power", axis="C")
    assert plan_budget(compute, 1e20).allocation["loss"].value == pytest.approx(0.1 + 10**-0.8)
    assert plan_budget(compute, 1e20).sentence.startswith("With 10²⁰ FLOPs expect loss ")
    assert plan_target(compute, 0.2).allocation["C"].value == pytest.approx(1e22)


def test_an_isoflop_law_plans_both_ways() -> None:
    """Plan with the optima N* = 3.33e-4 C^0.6175 and D* = 499 C^0.3825 (behavioural paper, eqs. 4 and 5)."""
    theta = (3.33e-4, 0.6175, 499.0, 0.3825, 1.0, 1e12, 0.1)
    fit = make_fit(theta, scattered(theta, spread=0.001), law="isoflop")
    plan = plan_budget(fit, 1e18)
    assert plan.allocation["N"].value == pytest.approx(3.33e-4 * 1e18**0.6175)
    assert plan.derived["D/N"].value == pytest.approx(499 / 3.33e-4 * 1e18 ** (0.3825 - 0.6175))
    assert plan.flat is None
    assert "cost-mismatch" not in codes(plan)
    back = plan_target(fit, float(plan.allocation["loss"].value or 0))
    assert back.allocation["C"].value == pytest.approx(1e18, rel=1e-9)


def test_an_isoflop_law_says_where_its_two_power_laws_miss_the_budget() -> None:
    """N* = k C^a and D* = k_D C^b cost 6 k k_D C^(a + b) FLOPs. With a + b = 1.03 this is not the budget C."""
    theta = (3.33e-4, 0.6175, 499.0, 0.4125, 1.0, 1e12, 0.1)
    fit = make_fit(theta, scattered(theta, spread=0.001), law="isoflop")
    share = 6 * 3.33e-4 * 499 * 1e21**0.03
    for plan in (plan_budget(fit, 1e21), plan_target(fit, 1 + 10**-0.9)):
        (text,) = [w.text for w in plan.warnings if w.code == "cost-mismatch"]
        assert text == f"N* and D* were fitted separately. By C = 6 N D they cost {share:.3g} times the budget."


def test_the_ratio_has_no_interval_where_some_resamples_never_get_there() -> None:
    fit = with_floors(np.concatenate([np.linspace(1.70, 1.90, 70), np.full(30, 2.01)]))
    ratio = plan_target(fit, 2.0).derived["D/N"]
    assert ratio.value is not None
    assert ratio.ci68 is ratio.ci95 is None
    assert ratio.note == "no interval: not every resample reaches the target"
    assert plan_target(fit, 2.5).derived["D/N"].ci68 is not None


def test_a_metric_where_larger_is_better_keeps_its_direction() -> None:
    """The law is fitted to the negative metric, whose floor is -0.95. The metric is therefore at most 0.95."""
    theta = (-0.95, 20.0, 60.0, 0.3, 0.3)
    fit = make_fit(theta, scattered(theta, spread=0.005), direction="max")
    ceiling = floor_of(fit)
    assert ceiling.value == 0.95
    assert ceiling.ci68 is not None
    assert ceiling.ci68[0] < 0.95 < ceiling.ci68[1]
    poor, rich = (plan_budget(fit, C).allocation["loss"].value or 0 for C in (1e18, 1e21))
    assert 0 < poor < rich < 0.95
    assert plan_target(fit, rich).allocation["C"].value == pytest.approx(1e21, rel=1e-8)
    with pytest.raises(PlannerError, match=r"the ceiling is 0\.95.*ask for a lower target"):
        plan_target(fit, 1.2)


def test_losses_below_zero_may_be_asked_for_where_the_runs_have_them() -> None:
    fit = make_fit((-4.0, 400.0, 2000.0, 0.35, 0.35), ranges=RANGES | {"loss": (-3.0, -1.0)})
    assert plan_target(fit, -2.5).allocation["C"].value is not None


def test_passes_over_the_unique_samples_are_counted() -> None:
    fit = make_fit(EPOCH, scattered(EPOCH), ranges=RANGES | {"U": (1e8, 1e9)})
    plan = plan_budget(fit, 6e20)
    D = plan.allocation["D"].value or 0
    assert plan.derived["epochs"].value == pytest.approx(D / 1e9)
    assert "repeats-data" in codes(plan)
    few = plan_budget(fit, 1e17)
    assert "repeats-data" not in codes(few)


def test_resamples_without_an_optimum_are_counted_and_left_out() -> None:
    resamples = scattered(EPOCH, 100)
    resamples[:7, 1] = 0.0
    fit = make_fit(EPOCH, resamples)
    for plan in (plan_budget(fit, 1e20), plan_target(fit, 2.5)):
        (text,) = [w.text for w in plan.warnings if w.code == "degenerate-resamples"]
        assert text.startswith("7 of 100 resamples have no optimum")
        assert plan.allocation["N"].ci68 is not None


def test_a_best_fit_without_an_optimum_is_refused() -> None:
    gone = make_fit((1.8, 0.0, 2000.0, 0.3, 0.3))
    with pytest.raises(
        PlannerError, match=r"no compute-optimal point for this question, because one of its terms is .*A = 0"
    ):
        plan_budget(gone, 1e20)
    with pytest.raises(PlannerError, match="no compute-optimal point"):
        plan_target(gone, 2.5)


def test_another_compute_rule_may_be_asked_for(epoch: Fit) -> None:
    usual, dear = plan_budget(epoch, 1e20), plan_budget(epoch, 1e20, compute_rule("6npND", 10))
    assert dear.compute.n_p == 10
    assert float(dear.allocation["loss"].value or 0) > float(usual.allocation["loss"].value or 0)
    with pytest.raises(PlannerError, match=r"Under C = 6\*N\*D \+ 1e22 no N and D cost 1e\+20 FLOPs"):
        plan_budget(epoch, 1e20, compute_rule("formula", formula="6*N*D + 1e22"))


def test_the_fits_own_warnings_come_along(epoch: Fit) -> None:
    warned = replace(epoch, warnings=(FitWarning("few-runs", "Only nine runs."),))
    assert plan_budget(warned, 1e20).warnings == warned.warnings


@pytest.mark.parametrize("ask", ["budget", "target", "unreachable", "published", "axis"])
def test_plans_survive_json(ask: str, epoch: Fit) -> None:
    axis = make_fit(POWER, scattered(POWER), law="power", axis="N")
    asked: dict[str, Callable[[], Plan]] = {
        "budget": lambda: plan_budget(epoch, 1e20, compute_rule("formula", formula="6*N*D + 1e9*D")),
        "target": lambda: plan_target(epoch, 2.0),
        "unreachable": lambda: plan_target(with_floors(np.linspace(1.5, 1.9, 100)), 1.7),
        "published": lambda: plan_budget(make_fit(JETS, objective=None), 1e18),
        "axis": lambda: plan_target(axis, 0.2),
    }
    plan = asked[ask]()
    raw = json.loads(json.dumps(to_json(plan), allow_nan=False))
    assert read_plan(raw) == plan
    assert raw["schema"] == 1
    assert list(raw["allocation"]) == ["N", "D", "C", "loss"]
    assert all({"value", "ci68", "ci95", "beyond"} <= set(q) for q in raw["allocation"].values())


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"schema": 2, "question": {"budget": 1.0}},
        {"schema": 1, "question": {"wish": 1.0}},
        {"schema": 1, "question": 3},
        {
            "schema": 1,
            "question": {"budget": 1.0},
            "compute": {"rule": "6ND", "n_p": 1.0},
            "fit": "",
            "law": "",
            "y": "",
        },
    ],
)
def test_what_is_no_plan_is_refused(raw: Mapping[str, object]) -> None:
    with pytest.raises(PlannerError, match=r"not a plan that Isoplan wrote|schema 2|asks for 'wish'"):
        read_plan(raw)


def test_rows_and_sentence_are_rounded_for_people(epoch: Fit) -> None:
    plan = plan_budget(epoch, 1e20)
    assert plan.sentence.startswith("With 10²⁰ FLOPs train 850 M parameters (68 %: ")
    assert "on 19.5 B tokens (68 %: " in plan.sentence
    table = rows(plan)
    assert [r.quantity for r in table][:4] == ["Model size N", "Training samples D", "Compute C", "loss"]
    assert table[2].value == "10²⁰"
    assert table[2].note == "given"
    assert max(len(line) for line in as_text(plan).splitlines()) < 200


def test_the_epoch_table_asks_for_about_twenty_tokens_a_parameter(shared: Path) -> None:
    """The 68 % interval at Chinchilla's budget contains 20 tokens per parameter, as in Besiroglu et al. 2024."""
    runs = read_runs(shared / "runs" / "chinchilla_epoch.csv", where="epoch_kept_240 = 1")
    plan = plan_budget(fit(FitSpec(bootstrap=400), runs), 5.76e23)
    ratio = plan.derived["D/N"]
    assert ratio.ci68 is not None
    assert ratio.ci68[0] < 20 < ratio.ci68[1]
    assert ratio.value == pytest.approx(18, abs=1)
    assert plan.allocation["N"].value == pytest.approx(73e9, rel=0.05)
