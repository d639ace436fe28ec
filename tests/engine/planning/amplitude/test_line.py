"""The line through anchors in ln D and ln loss, and its confidence band, compared with an independent fit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.amplitude.cells import anchors_of
from isoplan.engine.planning.amplitude.evidence import Anchor, Line, fit_line
from tests.engine.planning.amplitude.trained import of


def test_the_line_is_that_of_an_independent_fit() -> None:
    anchors = anchors_of(of(noise=0.1))
    line = fit_line(anchors)
    x = np.log([a.x for a in anchors])
    best, cov = np.polyfit(x, np.log([a.loss for a in anchors]), 1, cov="unscaled")
    assert line.alpha == pytest.approx(-best[0])
    assert line.alpha_error == pytest.approx(line.error * math.sqrt(cov[0, 0]))
    assert line.at(3e3) == pytest.approx(math.exp(np.polyval(best, math.log(3e3))))


@settings(deadline=None)
@given(st.floats(0.1, 3), st.floats(0.01, 0.5), st.floats(0.5, 20), st.floats(-8, 3))
def test_the_ends_are_where_the_band_reaches_the_loss(alpha: float, error: float, lever: float, logs: float) -> None:
    """At each end of the interval of D, an edge of the confidence band equals the given loss.

    The upper end is infinite if alpha is below its error.
    """
    line = Line(6, math.log(3e3), math.log(1e-3), alpha, error, lever)
    excess = 1e-3 * math.exp(logs)
    low, high = line.solve(excess)
    if 1e-250 < low < 1e250 and (math.isinf(high) or high < 1e250):
        upper, lower = line.ends(np.array([low, high if math.isfinite(high) else low]))
        if math.isfinite(high) or low > 3e3 * (1 + 1e-9):
            assert lower[0] == pytest.approx(excess, rel=1e-6)
        else:
            assert lower[0] <= excess * (1 + 1e-9)
        if math.isfinite(high):
            assert alpha > line.alpha_error
            assert upper[1] == pytest.approx(excess, rel=1e-6)


def test_two_near_anchors_do_not_reach_a_far_target_soon() -> None:
    two = [Anchor("D", 1e3, 1e-2, doubled=0.0), Anchor("D", 1.1e3, 9.3e-3, doubled=0.0)]
    line = fit_line(two)
    low, high = line.solve(1e-3)
    assert high == math.inf
    assert low == pytest.approx(2876, rel=1e-3)
    assert line.ends(np.array([low]))[1][0] == pytest.approx(1e-3)


def test_a_line_that_does_not_fall_is_one_sentence() -> None:
    for axis in ("N", "D"):
        with pytest.raises(PlannerError, match=f"of the runs does not decrease with {axis}, so {axis} does not"):
            fit_line([Anchor(axis, 1e3, 1e-3), Anchor(axis, 1e4, 1e-3)])
    with pytest.raises(PlannerError, match=r"at or below the floor 0\.01"):
        fit_line(anchors_of(of()), 0.01)
    with pytest.raises(PlannerError, match="have the same N, but a law needs at least two values: train a run at"):
        fit_line([Anchor("N", 1e3, 1e-3)] * 2)
