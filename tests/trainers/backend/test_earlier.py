"""Duration of a training run, predicted from bundled runs."""

from __future__ import annotations

import math
from statistics import median

import pytest

from isoplan.app.sweep_costs import bundled_cells
from isoplan.trainers.backend.estimate.calibration import Earlier, seconds_of


def test_a_cell_takes_its_flops_at_the_speed_of_the_nearest() -> None:
    slow = [Earlier(1e3, 1e9 * (1 + k / 10), 10.0 * (1 + k / 10)) for k in range(5)]
    fast = [Earlier(1e6, 1e13 * (1 + k / 10), 100.0 * (1 + k / 10)) for k in range(5)]
    assert seconds_of(1e3, 2e9, [*slow, *fast]) == pytest.approx(20)
    assert seconds_of(1e6, 2e13, [*slow, *fast]) == pytest.approx(200)
    assert seconds_of(1e6, 1e15, [*slow, *fast]) == pytest.approx(1e4)
    assert seconds_of(None, 2e9, [*slow, *fast]) == pytest.approx(20)
    assert seconds_of(1e3, None, slow) == median(one.seconds for one in slow)
    assert seconds_of(1e3, 3e9, slow[:1]) == pytest.approx(30)


@pytest.mark.parametrize(
    ("family", "least", "within"),
    [("jets", 130, 2.0), ("behavior", 110, 1.5), ("amplitudes", 700, 1.5), ("teacher-student", 16, 2.0)],
)
def test_bundled_cells_are_predicted_from_the_others(family: str, least: int, within: float) -> None:
    """The median error of the prediction is below the factor ``within``.

    For each run, the prediction uses only runs with other N or C.
    """
    cells = bundled_cells(family)
    assert len(cells) >= least
    off = []
    for one in cells:
        others = [other for other in cells if (other.N, other.C) != (one.N, one.C)]
        off.append(abs(math.log(seconds_of(one.N, one.C, others) / one.seconds)))
    assert math.exp(median(off)) < within


def test_a_family_without_bundled_cells_has_none() -> None:
    assert bundled_cells("nobody") == ()
