"""If the law is wrong, the hedge decreases the error of the answer."""

from __future__ import annotations

import numpy as np

from benchmarks.next_cells.simulation import simulate
from benchmarks.next_cells.truths import INTERACTIONS


def test_with_the_hedge_the_error_by_a_wrong_law_is_smaller() -> None:
    """N and D interact in the truth, but not in the fitted law. Four tables follow the advice in four rounds."""
    plain, hedged = (
        [abs(simulate(INTERACTIONS[1], 0.2, hedge, seed).error) for seed in range(4)] for hedge in (False, True)
    )
    assert np.mean(hedged) < 0.75 * np.mean(plain)
