"""Smaller models trained longer: the curve of models with equal loss, and the size with the least lifetime cost."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.engine.costs import compute_rule
from isoplan.engine.costs.memory import training_memory
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.plan.bill import SMALL_MODEL
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.document import to_json as plan_json
from isoplan.engine.planning.plan.money import in_compute
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.questions.reading import read_given
from isoplan.engine.planning.scenario.limits import Limits, Question
from isoplan.engine.planning.scenario.prices import COMPUTE, Inference, Prices, Simulation
from isoplan.engine.planning.smaller.answer import lifetime, lifetime_curve, same_loss
from isoplan.engine.planning.smaller.question import QUESTION
from isoplan.engine.planning.smaller.reply import answer, chart_lifetime, chart_overhead
from isoplan.engine.planning.smaller.text import (
    as_document,
    half_sentence,
    lifetime_sentence,
    lifetime_text,
    same_loss_text,
    size_rows,
    smallest_sentence,
    to_json,
    warnings,
)
from tests.engine.planning.conftest import EPOCH, JETS, make_fit, scattered

HOFFMANN = (1.69, 406.4, 410.7, 0.336, 0.283)
"""E, A, B, alpha, beta of Hoffmann et al. 2022, sec. D.3, as used by Sardana et al. 2024 and de Vries 2023."""


def overhead_at(fit: Fit, fraction: float) -> float:
    curve = same_loss(fit, Question("budget", 1e22))
    return float(np.interp(fraction, curve.fraction, curve.overhead))


def test_the_curve_of_de_vries_comes_out() -> None:
    """A model with 30 % of the best size needs about 100 % more compute. A model with 50 % needs about 20 % more.

    Source: de Vries 2023.
    """
    fit = make_fit(HOFFMANN)
    assert overhead_at(fit, 0.3) == pytest.approx(1.0, abs=0.08)
    assert overhead_at(fit, 0.5) == pytest.approx(0.2, abs=0.02)
    assert overhead_at(fit, 1.0) == pytest.approx(0.0, abs=1e-9)


@settings(max_examples=20)
@given(st.floats(0.2, 0.8), st.floats(0.2, 0.8), st.floats(18, 24))
def test_the_curve_is_the_closed_form_at_any_budget(alpha: float, beta: float, log_c: float) -> None:
    fit = make_fit((1.7, 400.0, 900.0, alpha, beta))
    curve = same_loss(fit, Question("budget", 10**log_c))
    k = curve.fraction
    more = (1 - (k**-alpha - 1) * beta / alpha) ** (-1 / beta)
    assert curve.more == pytest.approx(more, rel=1e-6)
    assert curve.overhead == pytest.approx(k * more - 1, rel=1e-6, abs=1e-6)
    assert curve.smallest.value == pytest.approx((1 + alpha / beta) ** (-1 / alpha), rel=1e-4)
    assert fit.predict({"N": curve.N, "D": curve.D}) == pytest.approx(np.full(len(k), float(curve.best.loss)), rel=1e-9)


def test_the_saving_of_sardana_comes_out() -> None:
    """With 2e12 inference tokens a 7B model saves 17 % of the FLOPs of a 13B model (arXiv:2401.00448, Fig. 1)."""
    fit = make_fit(HOFFMANN)
    E, A, _, alpha, beta = HOFFMANN
    loss = E + A * 13e9**-alpha * (1 + alpha / beta)
    found = lifetime(fit, Question("target", loss), Inference(queries=2e12))
    assert found.saved.value == pytest.approx(0.17, abs=0.015)
    assert found.N.value == pytest.approx(7e9, rel=0.1)
    assert (found.training_alone.value or 0) - (found.total.value or 0) == pytest.approx(1.7e22, rel=0.1)


def test_the_cheapest_size_is_a_minimum_and_falls_with_use(epoch: Fit) -> None:
    sizes = []
    for queries in (1e9, 1e11, 1e13):
        asked = Inference(queries=queries)
        found = lifetime(epoch, Question("budget", 1e21), asked)
        N = (found.N.value or 0) * np.array([0.97, 1.03])
        loss = float(same_loss(epoch, Question("budget", 1e21)).best.loss)
        E, A, B, alpha, beta = EPOCH
        D = (B / (loss - E - A * N**-alpha)) ** (1 / beta)
        assert (6 * N * D + 2 * N * queries > (found.total.value or np.inf)).all()
        assert found.fraction.ci68 is not None
        sizes.append(found.N.value or 0)
    assert sizes[0] > sizes[1] > sizes[2]


def test_money_counts_the_machine_of_each(epoch: Fit) -> None:
    """Inference on a more expensive machine makes the best model smaller. Equal prices give the best model by FLOPs."""
    train, serve = (Machine(find_device("H200"), price=price) for price in (3.0, 30.0))
    prices, asked = Prices(train), Question("target", 2.2)
    plain = lifetime(epoch, asked, Inference(queries=1e11))
    same = lifetime(epoch, asked, Inference(queries=1e11), prices=prices)
    dear = lifetime(epoch, asked, Inference(queries=1e11, machine=serve), prices=prices)
    assert same.N.value == pytest.approx(plain.N.value, rel=1e-6)
    assert same.total.unit == "EUR"
    assert (dear.N.value or 0) < (same.N.value or 0)


def test_any_rule_and_the_band_holds_the_line(epoch: Fit) -> None:
    curve = same_loss(epoch, Question("target", 2.2), compute_rule("formula", formula="6*N*D + 1e9*D"))
    at = np.searchsorted(curve.fraction, 0.5)
    assert curve.low68[at] < curve.overhead[at] < curve.high68[at]
    assert curve.smallest.ci68 is not None


LIMITED = [
    Limits(parameters=3e8),
    Limits(unique=1.5e10),
    Limits(hours=7.0),
    Limits(memory=2.5e9),
    Limits(money=2e3),
    Limits(parameters=8e8, hours=20.0),
]
PAID = Prices(Machine(find_device("H200"), 8, price=3.0), Simulation(price=2e-8))


@pytest.mark.parametrize("limits", LIMITED)
@pytest.mark.parametrize("question", [Question("target", 2.6), Question("budget", 1e20)])
def test_limits_bound_the_models_that_there_may_be(epoch: Fit, question: Question, limits: Limits) -> None:
    """The answer is not more expensive than any of 20,000 models that have the same loss and respect the limits."""
    asked, served = replace(question, limits=limits), Inference(queries=3e10)
    ask = plan_target if question.kind == "target" else plan_budget
    plan = ask(epoch, question.value, limits=limits, prices=replace(PAID, inference=served))
    found = lifetime(epoch, asked, served, prices=PAID)
    loss = plan.allocation["loss"].value or 0.0
    E, A, B, alpha, beta = EPOCH
    N = np.geomspace(1.001 * (A / (loss - E)) ** (1 / alpha), 1e11, 20_000)
    D = (B / (loss - E - A * N**-alpha)) ** (1 / beta)
    C, machine = 6 * N * D, PAID.machine
    paid = machine.money(C + 2 * N * 3e10) + 2e-8 * D
    allowed = (N <= (limits.parameters or np.inf)) & (D <= (limits.unique or np.inf))
    allowed &= (machine.hours(C) <= (limits.hours or np.inf)) & (paid <= (limits.money or np.inf))
    allowed &= training_memory(N, 8) <= (limits.memory or np.inf)
    least, total = float(np.min(paid[allowed], initial=np.inf)), found.total.value or 0.0
    assert total <= least * (1 + 1e-9)
    if allowed.any():  # false if the only size that the limits allow lies between two points of the grid
        assert total == pytest.approx(least, rel=1e-3)
    # Only a target plan chooses N for the cost of training and inference.
    same = found.total if question.kind == "target" else found.training_alone
    assert same.value == pytest.approx(plan.bill[-1].amount.value)
    curve, life = same_loss(epoch, asked, prices=PAID), lifetime_curve(epoch, asked, served, prices=PAID)
    assert (float(curve.best.N), life.first) == pytest.approx((curve.plan.allocation["N"].value,) * 2)
    assert plan.allocation["N"].value == pytest.approx(life.best if question.kind == "target" else life.first)
    assert life.total[life.within].min() == pytest.approx(total)
    assert life.unit == "EUR"


def test_the_curve_of_a_lifetime_is_the_sum_of_its_parts(epoch: Fit) -> None:
    asked, served = Question("target", 2.2), Inference(queries=1e11, tokens=10)
    curve, found = lifetime_curve(epoch, asked, served), lifetime(epoch, asked, served)
    E, A, B, alpha, beta = EPOCH
    D = (B / (2.2 - E - A * curve.N**-alpha)) ** (1 / beta)
    assert curve.training == pytest.approx(6 * curve.N * D)
    assert curve.inference == pytest.approx(2 * curve.N * 1e12)
    assert (curve.simulation == 0).all()
    assert curve.N[np.argmin(curve.total)] == curve.best == pytest.approx(found.N.value)
    assert curve.total.min() == pytest.approx(found.total.value)
    assert curve.within.all()


def test_simulated_samples_make_the_model_larger(epoch: Fit) -> None:
    """If samples have a price, the best model is larger, because a larger model needs fewer samples."""
    asked, served = Question("target", 2.2), Inference(queries=1e9)
    cheap = lifetime(epoch, asked, served, prices=Prices(PAID.machine))
    dear = lifetime(epoch, asked, served, prices=replace(PAID, simulation=Simulation(price=1e-6)))
    assert (dear.N.value or 0) > (cheap.N.value or 0)


def test_no_model_within_the_limits_is_one_sentence(epoch: Fit) -> None:
    asked = Question("target", 2.0, Limits(parameters=1e7))
    with pytest.raises(
        PlannerError, match=r"contradicts the limit of 10\.0 M parameters: this limit allows loss 3\.59"
    ):
        same_loss(epoch, asked)
    with pytest.raises(PlannerError, match="A limit on hours needs a machine: name the device that trains"):
        lifetime(epoch, Question("budget", 1e20, Limits(hours=1.0)), Inference(queries=1e9))
    with pytest.raises(PlannerError, match="The target nan is not a finite number"):
        same_loss(epoch, Question("target", float("nan")))
    served = Inference(queries=1e9, machine=Machine(find_device("H200")))
    with pytest.raises(PlannerError, match="An hour of H200 has no price"):
        lifetime(epoch, Question("budget", 1e20), served, prices=PAID)


def test_the_curve_carries_the_plan_of_its_best_size(epoch: Fit) -> None:
    """The curve contains the plan of least compute. The JSON has the allocation and the warnings of this plan."""
    asked = Question("target", 2.2, Limits(unique=1e11))
    curve = same_loss(epoch, asked, prices=PAID)
    plan = plan_target(epoch, 2.2, limits=asked.limits, prices=PAID, aim=COMPUTE)
    assert plan.allocation["C"] == plan_target(epoch, 2.2, limits=asked.limits).allocation["C"]
    assert curve.plan == plan
    assert [w.code for w in curve.plan.warnings] == ["uncertain-floor", "epochs-not-credited"]
    raw = to_json(curve, None)
    for name in ("question", "fit", "law", "y", "compute", "allocation", "p_reach", "warnings"):
        assert raw[name] == plan_json(plan)[name], name
    assert raw["sentence"] == f"{half_sentence(curve)} {smallest_sentence(curve)}"
    assert "Caution: The law chinchilla does not describe repeated tokens" in same_loss_text(curve)
    assert "Compute rule: C = 6 N D." in same_loss_text(curve)


def test_what_lies_beyond_the_runs_is_marked(epoch: Fit) -> None:
    """The extrapolation in decades is the largest over N, D and C; the runs end at N = 1e10, D = 1e12 and C = 6e22."""
    asked, served = Question("budget", 5.76e25), Inference(queries=1e12)
    curve, found = same_loss(epoch, asked), lifetime(epoch, asked, served)
    C = 6 * curve.N * curve.D
    far = np.log10([curve.N / 1e10, curve.D / 1e12, C / 6e22]).max(axis=0)
    assert curve.beyond == pytest.approx(far)
    said = {row[0]: row[-1] for row in size_rows(curve)[1:]}
    assert "0.40" not in said
    assert said["1.00"] == "3 decades beyond the runs"
    assert found.D.beyond == pytest.approx(np.log10((found.D.value or 0) / 1e12))
    (own,) = found.warnings
    assert own.code == "far-extrapolated"
    assert own.text.startswith("The cheapest model over its life lies beyond the runs: N by ")
    assert own.text in lifetime_text(found)
    assert [w.code for w in warnings(curve, found)] == ["far-extrapolated", "far-extrapolated"]
    inside = same_loss(epoch, Question("budget", 1e20))
    assert inside.beyond[inside.fraction >= 0.5].max() == 0
    assert inside.plan.warnings == lifetime(epoch, Question("budget", 1e20), Inference(queries=1e9)).warnings == ()


def test_the_chart_shows_the_sizes_that_need_less_compute_than_the_limits_allow(epoch: Fit) -> None:
    """If a limit excludes the best size, models above the limit have a negative overhead. The y axis includes them."""
    axis = chart_overhead(same_loss(epoch, Question("target", 2.6))).y
    assert (axis.low, axis.high) == (-0.08, 2.0)
    curve = same_loss(epoch, Question("target", 2.6, Limits(parameters=3e8)))
    chart = chart_overhead(curve)
    assert curve.overhead.min() < -0.1
    assert chart.y.low == pytest.approx(1.2 * curve.overhead.min())
    assert curve.within.tolist() == (curve.N <= 3e8 * (1 + 1e-9)).tolist()


def test_the_charts_mark_the_cheapest_sizes_and_show_costs_up_to_a_limit(epoch: Fit) -> None:
    asked, served = Question("target", 2.2), Inference(queries=1e11, tokens=10)
    curve, life = same_loss(epoch, asked), lifetime(epoch, asked, served)
    cheapest = life.fraction.value or 0.0
    chart = chart_overhead(curve, cheapest)
    assert [(marker.x, marker.ring) for marker in chart.markers] == [(1.0, ""), (cheapest, "lifetime")]
    assert len(chart_overhead(curve).markers) == len(chart_overhead(curve, 0.01).markers) == 1
    assert [label.x for label in chart.labels] == [0.5, 2.0]
    assert (chart.x.low, chart.x.high) == pytest.approx((0.85 * curve.fraction[curve.overhead <= 2.0][0], 3.0))
    costs = lifetime_curve(epoch, asked, served)
    drawn = chart_lifetime(costs, life)
    shown = costs.N[costs.total <= 1.5 * 2.6 * costs.total.min()]
    assert (drawn.x.low, drawn.x.high) == (shown[0], shown[-1])
    assert (drawn.y.low, drawn.y.high) == pytest.approx((0.0, 2.6 * costs.total.min()))
    assert [area.name for area in drawn.areas] == ["training", "inference"]
    assert drawn.areas[1].high.max() == pytest.approx(drawn.y.high)


def test_the_sentence_names_the_saving_or_states_that_there_is_none(epoch: Fit) -> None:
    asked = Question("target", 2.2)
    found = lifetime(epoch, asked, Inference(queries=1e11))
    sentence = lifetime_sentence(found)
    assert sentence.startswith("Including inference, the cheapest model has ")
    assert f"costs {100 * (found.saved.value or 0):.2g} % (68 %: " in sentence
    none = lifetime(epoch, replace(asked, limits=Limits(unique=float(same_loss(epoch, asked).best.D))), Inference(1e11))
    assert 0 < (none.saved.value or 0) < 1e-6, "the limit allows a difference of a rounding error"
    assert lifetime_sentence(none).startswith("The best model for training alone is also the cheapest with inference: ")


def test_the_saving_and_its_interval_compare_the_same_resample(epoch: Fit) -> None:
    found = lifetime(epoch, Question("target", 2.2), Inference(queries=1e11))
    low, high = found.saved.ci68 or (0.0, 0.0)
    assert 0 < low < (found.saved.value or 0) < high < 1
    assert found.saved.value == pytest.approx(1 - (found.total.value or 0) / (found.training_alone.value or 1))


NEAR = {"N": (1e3, 1e5), "D": (1e4, 1e7), "C": (1e8, 1e13), "loss": (0.5, 2.0)}
PEAK = Prices(Machine(find_device("H100"), price=2.0))


def test_what_the_runs_do_not_support_has_no_numbers() -> None:
    fit = make_fit(JETS, scattered(JETS, 100), ranges=NEAR)
    curve = same_loss(fit, Question("budget", 1e18))
    assert not curve.plan.answers
    assert len(size_rows(curve)) == 1
    raw, made = to_json(curve, None), as_document(curve, None, None)
    assert raw["N"] == raw["D"] == raw["overhead"] == raw["within"] == []
    assert raw["smallest"]["value"] is None
    assert raw["allocation"]["N"]["value"] is None
    assert made.lines == ()
    assert same_loss_text(curve).startswith("These runs support plans from C = ")


def test_sizes_beyond_three_decades_are_left_out() -> None:
    fit = make_fit(JETS, scattered(JETS, 100), ranges=NEAR)
    curve = same_loss(fit, Question("budget", 3e15))
    assert curve.plan.answers
    assert curve.beyond.max() > 3
    raw = to_json(curve, None)
    assert 0 < len(raw["N"]) == len(raw["beyond"]) < len(curve.N)
    assert max(raw["beyond"]) <= 3
    assert all("4 decades" not in cell for line in size_rows(curve) for cell in line)


def test_a_life_far_beyond_the_runs_is_no_answer() -> None:
    fit = make_fit(JETS, scattered(JETS, 100), ranges=NEAR)
    asked = Question("budget", 1e13)
    curve, life = same_loss(fit, asked), lifetime(fit, asked, Inference(queries=1e14))
    assert curve.plan.answers
    assert life.support is not None
    said = lifetime_text(life)
    assert said.startswith("These runs support plans from C = ")
    assert "The cheapest model over its life lies " in said
    assert "Stop: " in said
    assert "Model size N" not in said
    assert {q["value"] for q in to_json(curve, life)["lifetime"].values()} == {None}
    assert not any(label.startswith("Over its life") for label, _ in as_document(curve, life, None).lines)


def test_money_of_models_below_the_share_of_the_peak_is_not_known() -> None:
    """Without a price of samples, the best size and the saved fraction are the same as for costs in FLOPs.

    With a price of samples, the saving is not known.
    """
    fit = make_fit(JETS, scattered(JETS, 100), ranges=NEAR)
    asked, served = Question("budget", 1e12), Inference(queries=1e6)
    found, flops = lifetime(fit, asked, served, prices=PEAK), lifetime(fit, asked, served)
    for q in (found.total, found.training_alone):
        assert (q.value, q.ci68, q.ci95, q.unit) == (None, None, None, "EUR")
        assert q.note.startswith("not known: a model of ")
    assert found.N.value == pytest.approx(flops.N.value)
    assert found.saved.value == pytest.approx(flops.saved.value)
    assert "EUR" not in lifetime_text(found)
    dear = lifetime(fit, asked, served, prices=replace(PEAK, simulation=Simulation(price=1e-12)))
    assert dear.saved.value is None
    assert "The saving is not known: a model of " in lifetime_text(dear)
    assert [w.code for w in dear.warnings if w.code == SMALL_MODEL] == [SMALL_MODEL]
    reached = replace(PEAK, machine=replace(PEAK.machine, utilisation=1e-4))
    assert (lifetime(fit, asked, served, prices=reached).total.value or 0) > 0


def test_laws_of_the_frontier_alone_are_refused() -> None:
    fit = make_fit((3.33e-4, 0.6175, 499.0, 0.3825, 1.0, 1e12, 0.1), law="isoflop")
    with pytest.raises(
        PlannerError, match="The law isoflop does not determine the cost of other models of the same loss"
    ):
        same_loss(fit, Question("budget", 1e20))
    with pytest.raises(PlannerError, match="fit a surface over N and D"):
        lifetime(fit, Question("budget", 1e20), Inference(queries=1e9))
    with pytest.raises(PlannerError, match="A target R does not determine the loss: ask for a target loss"):
        same_loss(make_fit(EPOCH), Question("target", 20.0, metric="R"))


H200 = Machine(find_device("H200"), price=3.0)


@pytest.mark.parametrize("machine", [H200, replace(H200, assumed=True)])
def test_a_budget_in_money_is_the_compute_optimal_plan_that_costs_this_money(machine: Machine) -> None:
    """The money pays for training and samples, but not for queries. The returned prices still contain the queries."""
    fit = make_fit(EPOCH, scattered(EPOCH, 100), ranges={"N": (1e4, 1e7), "D": (1e5, 1e10), "C": (6e9, 6e17)})
    prices = Prices(machine, Simulation(price=2e-8), Inference(queries=3e10))
    asked, reached = in_compute(fit, Question("budget", math.nan, money=0.5), prices)
    assert reached is not None
    assert reached.inference == prices.inference
    plan = plan_budget(fit, asked.value, prices=replace(reached, inference=None))
    total = next(line.amount.value for line in plan.bill if (line.part, line.what) == ("total", "money"))
    N, D, C = (plan.allocation[name].value or 0.0 for name in ("N", "D", "C"))
    assert total == pytest.approx(0.5) if total else N < machine.device.least
    assert float(reached.machine.money(C)) + 2e-8 * D == pytest.approx(0.5)
    share = 0.4 * math.sqrt(min(N / machine.device.least, 1.0)) if machine.assumed else 0.4
    assert reached.machine.utilisation == pytest.approx(share, rel=0.01)


def test_a_question_in_compute_is_not_converted(epoch: Fit) -> None:
    for question in (Question("budget", 1e20), Question("target", 2.2)):
        assert in_compute(epoch, question, PAID) == (question, PAID)


def test_an_answer_for_money_states_the_money(epoch: Fit) -> None:
    texts = {"budget": "500 EUR", "device": "H200", "hour_price": "3"}
    given = read_given(QUESTION, texts, "terminal")
    assert given.loss.money == 500
    reply = answer(epoch, given)
    C = 500 / 3 * 3600 * find_device("H200").peak_at("bf16") * 0.4
    assert reply.result.plan.allocation["C"].value == pytest.approx(C)
    plain = answer(epoch, read_given(QUESTION, {"budget": f"{C!r}"}, "terminal"))
    assert reply.result.overhead == pytest.approx(plain.result.overhead)
    assert reply.name == "loss of 500 EUR"
    assert reply.file.body["question"] == {"budget": pytest.approx(C), "money": 500}
    assert "money=500.0)" in reply.file.script
    with pytest.raises(PlannerError, match=r"The option --budget '500 EUR' is money: give the option --device"):
        read_given(QUESTION, {"budget": "500 EUR"}, "terminal")
