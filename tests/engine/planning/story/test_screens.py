"""A story of a plan: five screens with sentences of limited length, and with the numbers of the plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.drawing.cheapest_path import Bought
from isoplan.engine.planning.drawing.cost_curve import CostCurve
from isoplan.engine.planning.optimum.surface import loss_at
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.plan.saving import save_against
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.prices import Prices, Simulation
from isoplan.engine.planning.story.screens import TITLES, RunsPicture, Story, tell
from isoplan.engine.planning.story.sentences import (
    MOST_WORDS,
    Stated,
    Words,
    judge,
    name_parts,
    outside,
    state_law,
)
from tests.engine.fitting.tables import make_runs
from tests.engine.planning.conftest import EPOCH, RANGES, make_fit, scattered
from tests.engine.planning.test_metric import rejection

PRICES = Prices(Machine(find_device("H100"), price=2.5))


def check(story: Story) -> None:
    """Check the titles of the screens, the length and the end of each sentence, and the order of the steps."""
    assert tuple(screen.title for screen in story.screens) == TITLES
    sentences = [s.sentence for s in story.screens] + [step.sentence for s in story.screens for step in s.steps]
    assert {s for s in sentences if len(s.split()) > MOST_WORDS} == set()
    assert all(s.endswith((".", "?")) for s in sentences)
    steps = story.screens[3].steps
    assert [step.mark.x for step in steps] == sorted(step.mark.x for step in steps)
    assert steps[story.screens[3].start].sentence == story.screens[3].sentence


def assert_in_axis(story: Story) -> None:
    """Check that the cost axis of the last figure contains the plan and all points that the legend names."""
    picture = story.screens[4].picture
    assert isinstance(picture, CostCurve)
    assert picture.plan is not None
    costs = [mark.x for mark in (picture.plan, *(mark for _, mark in picture.others))]
    assert picture.x[0] <= min(costs)
    assert max(costs) <= picture.x[-1]


def test_a_target_in_money(epoch: Fit) -> None:
    plan = plan_target(epoch, 2.2, prices=PRICES)
    story = tell(epoch, plan)
    check(story)
    C, money = plan.allocation["C"].value, plan.bill[-1].amount.value
    assert C is not None
    assert money is not None
    question, runs, law, cost, saving = story.screens
    assert question.sentence == "What does it cost to reach a loss of 2.2?"
    assert "not in this workspace" in runs.sentence
    assert "the law predicts a loss of 2.20, with 68 % confidence" in law.sentence
    assert cost.sentence.startswith(f"A loss of 2.2 costs {float(f'{money:.3g}'):,.10g} EUR (68 %: ")
    assert "train" in cost.sentence
    assert isinstance(saving.picture, CostCurve)
    (name, mark), (other, _) = saving.picture.others
    assert (name, other) == ("twice the model", "+ 1,000 EUR")
    ours, theirs = (f"{float(f'{x:.3g}'):,.10g} EUR" for x in (money, mark.x))
    assert saving.sentence.startswith(
        f"The plan costs {ours}, {100 * (1 - money / mark.x):.2g} % less than the same loss with a model twice as "
        f"large ({theirs}). The next 1,000 EUR lower the loss from 2.20 to 2.1"
    )
    assert mark.y == pytest.approx(2.2, rel=1e-6)
    N, D = 2 * (plan.allocation["N"].value or 0), mark.x / float(PRICES.machine.money(1.0))
    assert loss_at(epoch.law, epoch.values, np.asarray(N), np.asarray(D / 6 / N)) == pytest.approx(2.2, rel=1e-6)
    assert saving.picture.others[1][1].x == pytest.approx(money + 1000)


def test_a_stated_plan_that_the_user_typed_is_the_one_that_is_compared(epoch: Fit) -> None:
    plan = plan_target(epoch, 2.2, prices=PRICES)
    typed = replace(plan, saving=save_against(epoch, plan, 2e9, 1e10))
    story = tell(epoch, typed)
    check(story)
    saving = typed.saving
    assert saving is not None
    assert saving.stated_money is not None
    assert saving.cheapest_money is not None
    ours, theirs = saving.stated_money.value or 0.0, saving.cheapest_money.value or 0.0
    a, b = (f"{float(f'{x:.3g}'):,.10g} EUR" for x in (ours, theirs))
    share = f"{100 * (1 - theirs / ours):.2g} %"
    assert story.screens[4].sentence.startswith(f"Our plan costs {a}; the same loss costs {b}, {share} less.")
    picture = story.screens[4].picture
    assert isinstance(picture, CostCurve)
    assert [name for name, _ in picture.others] == ["our plan", "+ 1,000 EUR"]


@pytest.mark.parametrize(
    ("stated", "other", "label"),
    [
        (Stated(), "a model twice as large", "twice the model"),
        (Stated(4.0), "a model four times as large", "four times the model"),
        (Stated(10.0, "D"), "ten times more jets", "ten times the jets"),
        (Stated(10.0, "D", safe=True), "ten times more jets to be safe", "ten times the jets"),
        (Stated(7.0, "N"), "a model 7 times as large", "7 times the model"),
    ],
)
def test_a_stated_plan_has_a_name(stated: Stated, other: str, label: str) -> None:
    words = Words("QCD rejection", "jets")
    assert (stated.other(words), stated.label(words)) == (other, label)


def test_every_position_of_the_slider_is_the_plan_for_its_money(epoch: Fit) -> None:
    story = tell(epoch, plan_target(epoch, 2.2, prices=PRICES))
    for step in story.screens[3].steps[::7]:
        C = step.mark.x / float(PRICES.machine.money(1.0))
        loss = plan_budget(epoch, C).allocation["loss"]
        assert step.mark.y == pytest.approx(loss.value, rel=1e-3)
        assert step.mark.y68 is None or step.mark.y68 == pytest.approx(loss.ci68, rel=1e-3)


def test_a_budget_without_prices_is_told_in_compute(epoch: Fit) -> None:
    values = {"N": np.array([1e8, 1e9]), "D": np.array([1e9, 1e10]), "loss": np.array([3.0, 2.5])}
    runs = make_runs(values | {"C": 6 * values["N"] * values["D"]})
    story = tell(epoch, plan_budget(epoch, 1e21), runs=runs)
    check(story)
    assert story.title == "loss for 10²¹ FLOPs"
    assert (
        story.screens[0].sentence
        == "How good can the loss become for 10²¹ FLOPs? Best run so far: 2.5 for 6.0 × 10¹⁹ FLOPs."
    )
    assert story.screens[1].sentence.startswith(
        "2 training runs with 10 M to 10 B parameters and 100 M to 1.0 T tokens"
    )
    assert isinstance(story.screens[1].picture, RunsPicture)
    assert "Ten times more compute lowers the loss from 2.30 to 2.14." in story.screens[4].sentence
    assert story.assumed == ""


def test_a_metric_with_simulated_samples(epoch: Fit) -> None:
    prices = Prices(Machine(find_device("H100"), price=2.5), Simulation(1e-9))
    map = through(epoch, rejection(), "R")
    plan = plan_target(epoch, 30.0, map=map, prices=prices)
    words = Words("rejection of top quarks in a very long sample", "jets")
    story = tell(epoch, plan, map=map, words=words, title="A title")
    check(story)
    assert story.title == "A title"
    assert "A rejection of top quarks... of 30 costs " in story.screens[3].sentence
    assert "jets" in story.screens[3].sentence
    assert "H100" in story.assumed


def test_a_law_on_samples_alone() -> None:
    theta = (1e-5, 6.0, 1.0)
    fit = make_fit(theta, scattered(theta, 100), law="power", axis="D", ranges={"D": (100, 3e4), "loss": (2e-4, 0.07)})
    plain = tell(fit, plan_target(fit, 1e-3))
    check(plain)
    assert "costs 5.9 k tokens (68 %" in plain.screens[3].sentence.replace("6.0 k", "5.9 k").replace("6.1 k", "5.9 k")
    priced = tell(fit, plan_target(fit, 1e-3, prices=Prices(Machine(find_device("H100")), Simulation(0.03))))
    check(priced)
    assert "The plan costs 182 EUR, 90 % less than with ten times more tokens to be safe" in priced.screens[4].sentence
    assert priced.screens[4].sentence.endswith(" lower the loss from 0.00100 to 0.00016 (extrapolated).")
    assert priced.screens[4].caption == "Extrapolated to 1.3 times more tokens than the largest run."
    assert_in_axis(priced)


def test_a_published_law_has_no_interval() -> None:
    fit = make_fit(EPOCH, ranges=RANGES, objective=None)
    story = tell(fit, plan_budget(fit, 1e21))
    check(story)
    assert "without an interval" in story.screens[2].sentence


def test_a_plan_that_the_runs_do_not_support_has_no_story(epoch: Fit) -> None:
    with pytest.raises(PlannerError, match="Story: the runs do not support this plan"):
        tell(epoch, plan_budget(epoch, 1e30))


@pytest.mark.parametrize(
    ("name", "decades", "above", "text"),
    [
        ("D", np.log10(7.6), True, "7.6 times more jets than the largest run"),
        ("N", 0.5, False, "3.2 times fewer parameters than the smallest run"),
        ("C", 0.02, True, "1.05 times more compute than the largest run"),
        ("C", 1.0, False, "10 times less compute than the smallest run"),
        ("AUC", 0.3, True, "an AUC 2 times higher than in any run"),
        ("loss", 0.1, False, "a loss 1.3 times lower than in any run"),
        ("D", 0.004, True, ""),
    ],
)
def test_an_extrapolation_names_its_quantity(name: str, decades: float, above: bool, text: str) -> None:
    assert outside(Words("QCD rejection", "jets"), name, float(decades), above) == text


def test_an_extrapolated_answer_is_not_called_precise(epoch: Fit) -> None:
    far = "3 times more jets than the largest run"
    precise, rough = Quantity(10.0, (9.9, 10.1)), Quantity(10.0, (8.0, 12.0))
    assert judge(precise, None, far) == f"extrapolated to {far}"
    assert judge(rough, None, far) == f"a rough estimate, extrapolated to {far}"
    assert judge(precise, None, "") == "a precise estimate"
    story = tell(epoch, plan_target(epoch, 2.2, prices=PRICES))
    last = story.screens[3].steps[-1].sentence
    assert "extrapolated to " in last
    assert "precise" not in last
    assert "than the largest run: train " in last


@pytest.mark.parametrize(
    ("value", "ends", "text"),
    [
        (726.6, (719.1, 738.3), "727, with 68 % confidence 719 to 738"),
        (0.66, (0.6523, 0.66501), "0.660, with 68 % confidence 0.652 to 0.665"),
        (1e-4, (9.33e-5, 1.239e-4), "0.000100, with 68 % confidence 0.000093 to 0.000124"),
        (3.18e-5, (2.93e-5, 5.33e-5), "3.18 × 10⁻⁵, with 68 % confidence 2.93 × 10⁻⁵ to 5.33 × 10⁻⁵"),
        (5000.0, (4999.0, 5001.0), "5,000, with 68 % confidence within 1 %"),
        (0.66, (0.001, 163.2), "0.660, with 68 % confidence 0.001 to 163"),
        (0.66, (-np.inf, 0.7), "0.660, with 68 % confidence at most 0.700"),
    ],
)
def test_a_value_and_its_interval_have_one_notation(value: float, ends: tuple[float, float], text: str) -> None:
    bought = Bought(10.0, Quantity(value, ends), {})
    sentence = state_law(Words("recall", "jets"), Quantity(10.0, unit="EUR", note="given"), bought)
    assert sentence.startswith(f"For 10 EUR the law predicts a recall of {text}: ")


def test_the_items_of_a_cost_are_rounded_to_cents() -> None:
    amounts = {"training": 0.000815, "inference": 987.3, "simulation": 3570.2}
    assert name_parts(amounts, "EUR") == "Simulation 3,570 EUR, inference 987 EUR, training less than 0.01 EUR."
    assert name_parts({"training": 0.587, "simulation": 2.0}, "EUR") == "Simulation 2 EUR, training 0.59 EUR."
    assert name_parts({"training": 1.0, "inference": 0.0}, "EUR") == ""
