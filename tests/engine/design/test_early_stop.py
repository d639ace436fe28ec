"""How much the final loss of a running cell can change an answer, and which running cells can be stopped."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.engine.arrays import Floats
from isoplan.engine.design.candidates import Candidates, listed_candidates
from isoplan.engine.design.early_stop import cells_to_stop, largest_moves
from isoplan.engine.design.estimand import Estimand, present_widths
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import Fit, FitSpec, fit
from tests.engine.design.tables import fitted, loss_at, runs, table

CELLS = listed_candidates(np.array([1e4, 1e5, 3e6]), np.array([1e6, 1e7, 3e8]), np.array([6e10, 6e12, 5.4e15]))


@pytest.fixture(scope="module")
def law() -> Fit:
    return fitted(24)


def ends(law: Fit, factor: float = 1.0) -> Floats:
    return np.asarray(law.predict(CELLS.columns) * factor)


def test_the_move_is_that_of_a_fit_with_the_cell_and_its_worse_loss(law: Fit) -> None:
    estimand, before = loss_at(), runs(24)
    (width,) = present_widths(law, [estimand])
    for low, high, worse in ((0.99, 1.03, 1.03), (0.96, 1.02, 0.96)):
        moves = largest_moves(law, estimand, CELLS, ends(law, low), ends(law, high))
        for i, move in enumerate(moves):
            columns = {axis: np.r_[before[axis], x[i]] for axis, x in CELLS.columns.items()}
            more = table(**columns, loss=np.r_[before["loss"], ends(law, worse)[i]])
            refitted = fit(FitSpec(objective="ols-log", bootstrap=0), more)
            moved = abs(float(estimand.logs(refitted.values)) - float(estimand.logs(law.values))) / width
            assert move == pytest.approx(moved, rel=1e-3, abs=1e-4)
    above, below = (largest_moves(law, estimand, CELLS, ends(law, x), ends(law, x)) for x in (1.01, 1 / 1.01))
    assert above == pytest.approx(below, rel=0.15, abs=0.01)
    assert largest_moves(law, estimand, CELLS, ends(law), ends(law)) == pytest.approx(0.0, abs=1e-4)


def test_the_cell_that_tests_the_law_and_cells_far_from_the_law_are_not_stopped(law: Fit) -> None:
    def stopped(low: float, high: float, estimand: Estimand | None = None, cells: Candidates = CELLS) -> list[int]:
        found = cells_to_stop(law, estimand or loss_at(), cells, [0, 1, 2], ends(law, low), ends(law, high), 0.05)
        assert all(move < 0.05 for move in found.values())
        return list(found)

    assert stopped(1, 1) == [0, 1]
    assert stopped(1, 2) == stopped(0.5, 1) == stopped(2, 2) == []
    nowhere = Estimand("loss", "loss", loss_at().value)
    assert stopped(1, 1, nowhere) == []


def test_a_quantity_without_an_answer_stops_nothing(law: Fit) -> None:
    never = Estimand("loss", "loss", lambda v: v["E"] * np.nan, {"N": 1e5, "D": 1e7})
    with pytest.raises(PlannerError, match="in only 0% of its resamples"):
        cells_to_stop(law, never, CELLS, [0], ends(law)[:1], ends(law)[:1], 0.05)
