"""The utilisation that a plan assumes if the user gives none, and the utilisation that the runs reached."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from isoplan.engine.costs import ComputeRule, compute_rule
from isoplan.engine.errors import PlannerError
from isoplan.engine.hardware import UTILISATION, Machine, find_device
from isoplan.engine.planning.plan.utilisation import CODE, measured_utilisation
from isoplan.engine.planning.questions.typed_plan import answer_question, read_question
from isoplan.engine.planning.scenario.prices_json import prices_json, read_prices
from isoplan.engine.schema import Runs
from tests.engine.fitting.tables import make_runs
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


def timed(seconds: list[float], **columns: list[float]) -> Runs:
    return replace(make_runs(columns), seconds=np.array(seconds))


def test_the_utilisation_of_the_largest_runs_is_measured() -> None:
    """Eight runs cost 6 N D FLOPs each. The two runs with the most compute reach 2 % and 4 % of the peak."""
    machine = Machine(find_device("A100 80GB"), devices=8)
    N, D = [1e6 * 2.0**k for k in range(8)], [1e9] * 8
    C = 6 * np.array(N) * np.array(D)
    share = np.array([0.9] * 6 + [0.02, 0.04])
    runs = timed(list(C / (share * machine.peak)), N=N, D=D)
    assert measured_utilisation(runs, ComputeRule(), machine) == pytest.approx(0.03)
    double = compute_rule("formula", formula="12*N*D")
    assert measured_utilisation(runs, double, machine) == pytest.approx(0.06)
    assert runs.seconds is not None
    gaps = replace(runs, seconds=np.where(np.arange(8) == 7, np.nan, runs.seconds))
    assert measured_utilisation(gaps, ComputeRule(), machine) == pytest.approx((0.9 + 0.02) / 2)
    of_compute = timed([1e3] * 4, C=[1e14, 2e14, 3e14, 4e14], loss=[4.0, 3.0, 2.0, 1.0])
    assert measured_utilisation(of_compute, ComputeRule(), machine) == pytest.approx(4e11 / machine.peak)


def test_a_utilisation_that_is_not_measured_is_not_stated() -> None:
    machine = Machine(find_device("A100 80GB"))
    assert measured_utilisation(make_runs({"N": [1e6] * 4, "D": [1e9] * 4}), ComputeRule(), machine) is None
    assert measured_utilisation(timed([1.0] * 3, N=[1e6] * 3, D=[1e9] * 3), ComputeRule(), machine) is None
    assert measured_utilisation(timed([0.0] * 4, N=[1e6] * 4, D=[1e9] * 4), ComputeRule(), machine) is None
    assert measured_utilisation(timed([1.0] * 4, D=[1e9] * 4, loss=[1.0] * 4), ComputeRule(), machine) is None


def test_a_utilisation_above_the_peak_is_refused() -> None:
    runs = timed([1.0] * 4, N=[1e6] * 4, D=[1e9] * 4)
    with pytest.raises(PlannerError, match=r"^Utilisation: the runs reach 19 times the peak of one A100"):
        measured_utilisation(runs, ComputeRule(), Machine(find_device("A100 80GB")))
