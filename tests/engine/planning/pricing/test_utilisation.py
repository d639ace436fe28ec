"""The utilisation that a plan assumes if the user gives none."""

from __future__ import annotations

import math

import pytest

from isoplan.engine.hardware import UTILISATION, find_device
from isoplan.engine.planning.plan.utilisation import CODE
from isoplan.engine.planning.questions.typed_plan import answer_question, read_question
from isoplan.engine.planning.scenario.prices_json import prices_json, read_prices
from tests.engine.planning.conftest import EPOCH, make_fit

A100 = {"device": "A100 80GB", "hour_price": "2"}
SMALL = {"N": (1e4, 1e6), "D": (1e5, 1e8), "C": (6e9, 6e14), "loss": (2.0, 12.0)}


@pytest.mark.parametrize("asked", [{"budget": "1e12"}, {"budget": "0.0005 EUR"}, {"target_loss": "6"}])
def test_a_small_model_counts_on_the_utilisation_that_it_reaches(asked: dict[str, str]) -> None:
    fit = make_fit(EPOCH, ranges=SMALL)
    plan = answer_question(fit, read_question({**asked, **A100}, "terminal"))
    assert plan.prices is not None
    N, machine = plan.allocation["N"].value, plan.prices.machine
    assert N is not None
    assert N < find_device("A100 80GB").least
    expected = UTILISATION * math.sqrt(N / find_device("A100 80GB").least)
    assert machine.utilisation == pytest.approx(expected, rel=0.01)
    assert plan.answers
    hours = next(x.amount.value for x in plan.bill if (x.part, x.what) == ("training", "time"))
    assert hours == pytest.approx((plan.allocation["C"].value or 0) / (machine.utilisation * machine.peak) / 3600)
    (said,) = [w.text for w in plan.warnings if w.code == CODE]
    assert said.startswith(f"Time and money are computed for {machine.share}, the highest utilisation ")
    assert read_prices(prices_json(plan.prices)) == plan.prices


def test_a_given_utilisation_is_kept() -> None:
    fit = make_fit(EPOCH, ranges=SMALL)
    plan = answer_question(fit, read_question({"budget": "1e12", "utilisation": "1%", **A100}, "terminal"))
    assert plan.prices is not None
    assert plan.prices.machine.utilisation == 0.01
    assert not [w for w in plan.warnings if w.code == CODE]
