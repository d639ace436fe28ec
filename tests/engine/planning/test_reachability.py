"""Whether a target can be reached: the probability, a verdict without probability, and runs that reach the target."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isoplan.engine.planning.answer.format import probability
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.document import as_text, read_plan, to_json
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.limits import Limits
from tests.engine.planning.conftest import EPOCH, RANGES, make_fit, scattered, with_floors


def codes(plan: Plan) -> list[str]:
    return [w.code for w in plan.warnings]


def test_a_law_of_minima_states_no_probability() -> None:
    theta = (0.1, 0.5, 1.66, 0.5, 1.8, 3e16, 0.16)
    fit = make_fit(theta, scattered(theta, spread=0.02), law="isoflop")
    unsure = plan_target(fit, 1.83)
    assert unsure.reach is not None
    assert (unsure.p_reach, unsure.reach.verdict) == (None, "not determined")
    assert "This law has no confidence curve of its floor: whether loss 1.83 can be reached is not d" in unsure.sentence
    (warning,) = [w for w in unsure.warnings if w.code == "optimistic-floor"]
    assert warning.text.startswith("Refits of iso-FLOP minima tend to a floor that is too low")
    assert "no probability is stated" in warning.text
    sure = plan_target(fit, 2.5)
    assert "optimistic-floor" not in codes(sure)
    assert sure.reach is not None
    assert (sure.p_reach, sure.reach.verdict, sure.reach.text) == (None, "reachable", "")
    assert sure.sentence.endswith(" tokens (68 %: 600 M to 1.3 B).")
    near = replace(fit, data=replace(fit.data, ranges={"N": (1e7, 1e10), "D": (1e8, 1e12), "C": (1e16, 1e17)}))
    far = plan_target(near, 1.83)
    assert not far.answers
    assert "optimistic-floor" in codes(far)
    assert "probability" not in far.sentence
    surface = make_fit(EPOCH, scattered(EPOCH), ranges=RANGES)
    assert "optimistic-floor" not in codes(plan_target(surface, 1.83))


RUN = "A run of the table already has a loss of 1.95."


def test_a_target_that_a_run_meets_and_the_law_may_not_has_no_probability() -> None:
    """No probability is stated if law and run disagree: a run is below the target, but 40 % of the floors are above."""
    fit = with_floors(np.concatenate([np.linspace(1.70, 1.90, 60), np.full(40, 2.01)]))
    met = replace(fit, data=replace(fit.data, ranges=RANGES | {"loss": (1.95, 4.0)}))
    plan, without = plan_target(met, 2.0), plan_target(fit, 2.0)
    assert without.p_reach == pytest.approx(0.6)
    assert plan.reach is not None
    assert (plan.p_reach, plan.reach.verdict) == (None, "not determined")
    assert plan.reach.text == f"{RUN} The law does not determine whether other runs reach loss 2."
    assert plan.sentence.endswith(plan.reach.text)
    assert to_json(plan)["p_reach"] is None
    assert read_plan(to_json(plan)) == plan
    limited = plan_target(met, 2.0, limits=Limits(parameters=1e13))
    assert limited.p_reach == pytest.approx(0.6)


def test_a_run_that_meets_a_target_which_the_law_excludes_is_named() -> None:
    fit = with_floors(np.full(100, 1.99))
    met = replace(fit, theta=fit.resamples[0], data=replace(fit.data, ranges=RANGES | {"loss": (1.95, 4.0)}))
    plan = plan_target(met, 1.96)
    assert plan.allocation["C"].value is None
    assert RUN in plan.sentence
    assert "probability" not in as_text(plan)


@pytest.mark.parametrize(("p", "shown"), [(0.0, "less than 1 %"), (2.23e-7, "less than 1 %"), (0.00698, "about 1 %"),
                                          (0.476, "about 48 %"), (0.993, "about 99 %"), (0.999, "more than 99 %"),
                                          (1.0, "more than 99 %")])  # fmt: skip
def test_probabilities_end_where_the_resamples_do(p: float, shown: str) -> None:
    assert probability(p) == shown
