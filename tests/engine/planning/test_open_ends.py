"""Open intervals in every output: an end more than three decades beyond the runs is not stated."""

from __future__ import annotations

import math

import numpy as np
import pytest

from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.laws import Point
from isoplan.engine.planning.answer.document import to_csv, to_latex, to_markdown
from isoplan.engine.planning.answer.quantity import measure, reach
from isoplan.engine.planning.plan.document import as_document, as_text, read_plan, to_json
from isoplan.engine.planning.plan.support import within_reach
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.prices import Prices, Simulation
from tests.engine.planning.conftest import EPOCH, make_fit, scattered

SPANS = {"N": (1e7, 1e10), "D": (1e8, 1e12), "C": (6e15, 6e22), "loss": (2.0, 4.0)}
FIT = make_fit(EPOCH, scattered(EPOCH, spread=0.01), ranges=SPANS)
PRICES = Prices(Machine(find_device("H100"), price=2.0), Simulation(price=1e-5))
FAR = plan_target(FIT, 1.9, prices=PRICES)


@pytest.mark.parametrize(
    ("low", "high", "span", "expected"),
    [
        (10.0, 1e4, (1.0, 100.0), (10.0, 1e4)),
        (10.0, 9.9e4, (1.0, 100.0), (10.0, 9.9e4)),
        (10.0, 1.2e5, (1.0, 100.0), (10.0, math.inf)),
        (5e-4, 50.0, (1.0, 100.0), (-math.inf, 50.0)),
        (10.0, 1e9, None, (10.0, 1e9)),
    ],
)
def test_an_end_beyond_three_decades_is_open(
    low: float, high: float, span: tuple[float, float] | None, expected: tuple[float, float]
) -> None:
    draws = np.repeat([low, 50.0, high], [len(FIT.resamples) // 2, 0, len(FIT.resamples) - len(FIT.resamples) // 2])
    q = measure(FIT, 50.0, draws, "times", span)
    assert q.ci95 == pytest.approx(expected)
    assert q.value == 50
    assert q.beyond == 0


def test_an_end_without_a_value_keeps_its_distance() -> None:
    q = measure(FIT, math.inf, np.full(len(FIT.resamples), 1e9), "times", (1.0, 100.0))
    assert q.ci68 == (1e9, 1e9)
    assert q.beyond == pytest.approx(7)


def test_the_reach_of_runs() -> None:
    assert reach((2.0, 30.0)) == pytest.approx((2e-3, 3e4))
    assert reach(None) == (0, math.inf)
    assert reach((0.0, 1.0)) == (0, math.inf)


def test_within_reach_makes_sizes_out_of_reach_infinite() -> None:
    one = np.array([1e9, 1e14, np.nan])
    far = within_reach(FIT, Point(one, one, np.array([1e20, 1e26, 1e20]), np.zeros(3)))
    np.testing.assert_array_equal(far.N, [1e9, np.inf, np.nan])
    np.testing.assert_array_equal(far.D, one)
    np.testing.assert_array_equal(far.C, [1e20, np.inf, 1e20])


def test_a_plan_states_open_ends_in_every_form() -> None:
    assert FAR.answers
    C = FAR.allocation["C"]
    assert C.ci68 is not None
    assert C.ci68[1] == math.inf
    assert C.value is not None
    assert C.ci68[0] < C.value < 6e25
    assert "at the lowest cost, spend 73 M EUR (68 %: at least 28 M) for 1.31 T parameters" in FAR.sentence
    # The interval of N ends only two decades beyond the runs, so the plan states both ends.
    assert "68 %: 945 B to 2.11 T" in FAR.sentence
    exported = as_document(FAR)
    bill = {(line.part, line.what): line.amount for line in FAR.bill}
    for part in (("training", "time"), ("training", "money"), ("total", "money")):
        ends = bill[part].ci68
        assert ends is not None
        assert ends[1] == math.inf
    raw = to_json(FAR)
    assert raw["allocation"]["C"]["ci68"] == [C.ci68[0], None]
    assert read_plan(raw).allocation["C"] == C
    (line,) = [row for row in to_csv(exported).splitlines() if row.startswith("Compute C")]
    assert line.split(",")[4] == "inf"
    for text in (as_text(FAR), to_markdown(exported), to_latex(exported)):
        assert "at least" in text
