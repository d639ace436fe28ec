"""Figures of runs near the limits of float64: the axes are finite and the hover text shows the exact numbers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from isoplan.app.figures.fits import runs as overview
from isoplan.app.figures.style.axes import padded
from isoplan.engine.costs import ComputeRule
from isoplan.engine.schema import Roles, Runs


@pytest.mark.parametrize("value", [5e-324, 1e-300, 1.2e29, 1e300])
def test_a_run_far_from_all_others_is_drawn(value: float) -> None:
    n, d = np.array([1e6, 1e7, value]), np.array([1e8, 1e9, 1e10])
    values = {"N": n, "D": d, "loss": np.array([3.0, 2.5, 2.0]), "C": ComputeRule().flops(n, d)}
    runs = Runs(np.arange(3), values, Roles(N="N", D="D", loss="loss"), {})
    with warnings.catch_warnings(action="error"):
        figure = overview.draw(runs).figure
    ends = [*figure.layout.xaxis.range, *figure.layout.yaxis.range]
    assert np.isfinite(ends).all()
    assert value in np.concatenate([np.ravel(trace.customdata) for trace in figure.data])


def test_the_room_around_numbers_stays_finite() -> None:
    assert padded(1.0, 100.0, 0.5) == pytest.approx((0.1, 1000.0))
    assert padded(3.0, 3.0) == pytest.approx((1.5, 6.0))
    assert padded(5e-324, 1e308) == (np.finfo(float).tiny, np.finfo(float).max)


def test_compute_beyond_a_float64_is_infinite_without_a_warning() -> None:
    with warnings.catch_warnings(action="error"):
        flops = ComputeRule().flops(np.array([1e308, 1e6]), np.array([1e9, 1e9]))
    assert flops.tolist() == [np.inf, 6e15]
