"""Training times and money of the advised cells, and the time of a round with several cells side by side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import isoplan as ip
from isoplan.engine.fitting import Fit
from isoplan.engine.fitting.types.runtime import Runtime
from isoplan.engine.planning.next_cells.text import cell_rows, time_sentence
from isoplan.engine.planning.next_cells.times import longest_chain
from tests.engine.design.tables import fitted

ASKED = {"budget": 1e16, "spend": "2%", "max_cells": 4}


@pytest.fixture(scope="module")
def timed() -> Fit:
    """Return a fit to runs with measured times: 10 s, 1 µs per sample and 1e-11 s per unit of N D."""
    made = fitted(24)
    return replace(made, data=replace(made.data, runtime=Runtime(10.0, 1e-6, 1e-11, 0.1, 24, "seconds")))


def test_the_longest_chain_is_the_time_of_a_round() -> None:
    assert longest_chain([3.0, 1.0, 2.0], 1) == 6.0
    assert longest_chain([3.0, 1.0, 2.0], 2) == 3.0
    assert longest_chain([3.0, 1.0, 2.0], 9) == 3.0
    assert longest_chain([4.0, 3.0, 3.0, 2.0], 2) == 6.0
    assert longest_chain([], 2) == 0.0


def test_times_follow_from_the_runs(timed: Fit) -> None:
    alone, side = (ip.next_cells(timed, **ASKED, rounds=1, parallel=n).result for n in (1, 2))
    cells = list(alone.advice.cells)
    at = alone.advice.candidates.columns
    expected = 10 + 1e-6 * at["D"][cells] + 1e-11 * (at["N"] * at["D"])[cells]
    assert alone.seconds[cells] == pytest.approx(expected)
    assert alone.round_seconds == pytest.approx((expected.sum(),))
    assert max(expected) <= side.round_seconds[0] < alone.round_seconds[0]
    assert time_sentence(side).endswith(", with 2 cells side by side.")
    assert alone.money is None
    body = ip.next_cells(timed, **ASKED, rounds=2).document.body
    assert sum(body["round_hours"]) == pytest.approx(sum(cell["hours"] for cell in body["next_cells"]))
    assert len(body["round_hours"]) == 2


def test_a_machine_gives_no_times_of_models_that_are_too_small_for_the_stated_share() -> None:
    found = ip.next_cells(fitted(24), **ASKED, device="CPU node", hour_price=2, utilisation="20 %").result
    least, machine = found.plan.prices.machine.least, found.plan.prices.machine
    N, C = found.advice.candidates.columns["N"], found.advice.candidates.compute
    assert (np.isnan(found.seconds) == (N < least)).all()
    large = N >= least
    assert found.money[large] == pytest.approx(2 * machine.device_hours(C[large]))
    head, *rows = cell_rows(found)
    shown = [row[head.index("Money")] for row in rows]
    assert [text == "-" for text in shown] == [bool(N[cell] < least) for cell in found.advice.cells]


def test_a_model_without_a_stated_share_trains_at_the_share_that_it_reaches() -> None:
    found = ip.next_cells(fitted(24), **ASKED, device="CPU node").result
    at, machine = found.advice.candidates, found.plan.prices.machine
    share = 0.4 * np.minimum(np.sqrt(at.columns["N"] / 1e6), 1)
    assert machine.device.least == 1e6
    assert found.seconds == pytest.approx(at.compute / (machine.peak * share))


def test_unknown_times_are_not_shown() -> None:
    found = ip.next_cells(fitted(24), **ASKED).result
    assert found.seconds is None
    assert found.round_seconds is None
    assert time_sentence(found) == ""
    assert not {"Time", "Money"} & set(cell_rows(found)[0])
    with pytest.raises(ip.PlannerError, match=r"Option parallel: 1\.5 is not a whole number"):
        ip.next_cells(fitted(24), **ASKED, parallel=1.5)
