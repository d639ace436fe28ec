"""Predicted final losses: exact for curves that the methods can continue, and refused for all other curves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from isoplan.engine.curves.curve import TrainingCurve, curve_of
from isoplan.engine.curves.forecast import METHODS, predict_end
from isoplan.engine.curves.power_law import extrapolate

X = np.geomspace(0.01, 1.0, 40)


def power(scale: float, alpha: float, floor: float = 0.0, end: float = 1.0) -> TrainingCurve:
    """A power law in the fraction of the schedule. The final loss is ``end`` times the last loss."""
    y = floor + scale * X**-alpha
    return curve_of(X, y, end * float(y[-1]))


@pytest.mark.parametrize(("alpha", "floor"), [(0.3, 0.0), (0.5, 0.7), (1.5, 2.0)])
def test_an_exact_power_law_is_continued_exactly(alpha: float, floor: float) -> None:
    curve = power(0.4, alpha, floor)
    assert extrapolate(curve.until(0.5)) == pytest.approx(math.log(floor + 0.4), abs=1e-6)


def test_a_power_law_continues_curves_of_any_exponent_and_corrects_their_common_offset() -> None:
    finished = [power(1.0, alpha, 0.5, end=1.1) for alpha in (0.2, 0.3, 0.4, 0.5, 0.6)]
    found = predict_end(power(2.0, 0.9, 0.3).until(0.4), finished, "power law")
    assert found is not None
    assert found.loss == pytest.approx(1.1 * 2.3, rel=1e-5)
    assert found.high / found.low == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seen", [0.2, 0.5, 0.9])
def test_a_scaled_curve_has_the_final_loss_of_the_finished_curves_times_the_scale(method: str, seen: float) -> None:
    found = predict_end(power(7.0, 0.4).until(seen), [power(a, 0.4, end=0.8) for a in (1, 2, 3, 4, 5)], method)
    assert found is not None
    assert (found.loss, found.low, found.high) == pytest.approx((5.6, 5.6, 5.6), rel=1e-5)
    assert found.curves == 5


def test_matching_follows_the_curves_of_the_same_shape() -> None:
    slow, fast = ([power(a, alpha) for a in (1, 2, 3, 4)] for alpha in (0.1, 0.8))
    found = predict_end(power(5.0, 0.8).until(0.5), [*slow, *fast])
    assert found is not None
    assert found.loss == pytest.approx(5.0, rel=1e-5)


def test_two_thirds_of_the_intervals_contain_the_final_loss() -> None:
    random = np.random.default_rng(0)
    curves = [power(1.0, 0.3, end=float(np.exp(0.05 * random.standard_normal()))) for _ in range(120)]
    found = [predict_end(one.until(0.5), curves[:20]) for one in curves[20:]]
    hits = sum(end is not None and end.low <= one.end <= end.high for one, end in zip(curves[20:], found, strict=True))
    assert 58 <= hits <= 80


def test_no_prediction_without_enough_of_the_schedule_points_or_finished_curves() -> None:
    finished = [power(a, 0.4) for a in (1, 2, 3, 4, 5)]
    assert predict_end(power(7.0, 0.4).until(0.05), finished) is None
    assert predict_end(curve_of([0.2, 0.4, 0.6], [3, 2, 1]), finished) is None
    assert predict_end(power(7.0, 0.4).until(0.5), finished[1:]) is None
    assert predict_end(curve_of([], []), finished) is None
    stopped_early = [curve_of(0.5 * one.x, one.y, one.end) for one in finished]
    assert predict_end(power(7.0, 0.4).until(0.5), stopped_early) is None
    assert predict_end(power(7.0, 0.4).until(0.5), [*finished[1:], curve_of(X, X, math.nan)]) is None


def test_points_that_are_not_positive_numbers_are_left_out_and_the_others_sorted() -> None:
    curve = curve_of([0.5, 0.1, 0.0, 0.3, 0.4, 0.5], [1.0, 3.0, 9.0, math.nan, -1.0, 8.0], 0.9)
    assert curve.x.tolist() == [0.1, 0.5]
    assert curve.y.tolist() == [3.0, 1.0]
    assert not curve.is_complete


def test_curves_of_a_group_do_not_predict_each_other() -> None:
    """Each group is predicted from the other group, so the errors show the factor 1.5 between the groups."""
    curves = [power(a, 0.4, end=end) for end in (1.0, 1.5) for a in (1, 2, 3, 4, 5, 6)]
    grouped = [curve_of(one.x, one.y, one.end, group=str(i // 6)) for i, one in enumerate(curves)]
    found = predict_end(power(7.0, 0.4).until(0.5), grouped, "matching")
    assert found is not None
    assert found.high / found.low == pytest.approx(1.5**2, rel=1e-6)
