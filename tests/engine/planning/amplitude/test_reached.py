"""The precision that a number of points reaches: the inverse of the plan for a target."""

from __future__ import annotations

import pytest

import isoplan
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.amplitude.plan import AmplitudePlan

ANCHOR = {"D": 1e4, "loss": 2e-3, "N": 1e5, "epochs": 100, "doubled": 0.02}


def asked(**options: object) -> AmplitudePlan:
    plan = isoplan.amplitude(4, **options).result  # type: ignore[arg-type]
    assert isinstance(plan, AmplitudePlan)
    return plan


def test_the_precision_of_points_needs_these_points() -> None:
    """1e6 points reach a conservative precision. A plan for this precision needs at most 1e6 points."""
    plan = asked(points=1e6, anchors=[ANCHOR])
    assert plan.best is not None
    assert plan.target.mse == pytest.approx(2e-3 * (1e4 / 1e6) ** 0.5, rel=1e-4)
    assert asked(target_mse=plan.target.mse, anchors=[ANCHOR]).D.most == pytest.approx(1e6, rel=1e-3)
    fast = asked(target_mse=1e-3, anchors=[ANCHOR]).needs[0].fast
    assert fast is not None
    assert plan.best.mse == pytest.approx(2e-3 * (1e4 / 1e6) ** fast.value, rel=1e-3)


def test_a_published_law_answers_inside_its_runs_with_one_number() -> None:
    answer = isoplan.amplitude(4, points="1e5", process="Zggg")
    assert answer.result.target.mse == pytest.approx(1.3e-4, rel=0.02)
    assert answer.result.best.mse == pytest.approx(answer.result.target.mse, rel=1e-3)
    assert "100 k phase-space points of 4 final-state particles reach an MSE of 0.00013" in answer.text
    assert "Reached RMS relative error" in answer.text
    assert answer.result.target.sigma == pytest.approx(2.174, abs=1e-3)


def test_trained_cells_answer_for_their_median_error() -> None:
    plan = asked(points=3e4, trained="Zggg", error="median")
    again = asked(target_error=plan.target.relative, trained="Zggg", error="median")
    assert plan.target.kind == "median"
    assert again.D.most is not None
    assert again.D.most <= 3e4 * 1.001


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points": 1e5, "target_mse": 1e-4, "process": "Zggg"}, "give exactly one of them"),
        ({"points": 10, "process": "Zggg"}, "10 is too small, because the published runs of Zggg show no power law"),
        (
            {"points": 1e15, "process": "Zggg"},
            "is too large, because the published runs of Zggg support",
        ),
    ],
)
def test_points_outside_the_law_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(PlannerError, match=message):
        asked(**options)
