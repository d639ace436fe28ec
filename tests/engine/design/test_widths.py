"""Verdicts on decreases of a width: two limits, undecided cases, and equal simulated noise for all compared sets."""

from __future__ import annotations

import math

import numpy as np
import pytest

from isoplan.engine.arrays import Floats
from isoplan.engine.design.candidates import grid_candidates
from isoplan.engine.design.pretend import pretend_widths
from isoplan.engine.design.widths import Verdict, Width, best_narrowing, narrowing
from tests.engine.design.tables import BUDGET, RULE, fitted, loss_at


def simulated(outcomes: Floats) -> Width:
    """Return the width with these simulated outcomes."""
    return Width(float(np.median(outcomes)), float(outcomes.min()), float(outcomes.max()), tuple(outcomes.tolist()))


def around(median: float, scatter: float, n: int = 13, seed: int = 0) -> Floats:
    """Return n widths whose logarithms have exactly this median and this standard deviation."""
    logs = np.random.default_rng(seed).standard_normal(n)
    return np.asarray(median * np.exp(scatter * (logs - np.median(logs)) / np.std(logs, ddof=1)))


@pytest.mark.parametrize(
    ("share", "scatter", "verdict"),
    [(0.4, 0.1, "pays"), (0.2, 0.6, "does not pay"), (0.05, 0.1, "does not pay"), (0.16, 0.1, "undecided")],
)
def test_a_decrease_must_exceed_fifteen_percent_and_the_scatter(share: float, scatter: float, verdict: Verdict) -> None:
    found = narrowing(Width(0.1), simulated(around(0.1 * (1 - share), scatter)))
    assert found.verdict == verdict
    assert found.share == pytest.approx(share)
    assert found.scatter == pytest.approx(scatter)
    assert found.error == pytest.approx(1.2533 * scatter / math.sqrt(13))


def test_the_verdict_near_the_limit_does_not_flip_with_the_outcomes() -> None:
    """The true decrease is 15 %, the limit. 6, 12 and 48 outcomes rarely give opposite verdicts.

    An exact width (without outcomes) is always decided.
    """
    random = np.random.default_rng(1)
    verdicts = [
        [narrowing(Width(1.0), simulated(0.85 * np.exp(0.1 * random.standard_normal(n)))).verdict for n in (6, 12, 48)]
        for _ in range(200)
    ]
    flipped = sum({"pays", "does not pay"} <= set(some) for some in verdicts)
    assert flipped < 10
    exact = narrowing(Width(1.0), Width(0.849)), narrowing(Width(1.0), Width(0.851))
    assert [one.verdict for one in exact] == ["pays", "does not pay"]


def test_unbounded_widths() -> None:
    assert narrowing(Width(math.inf), Width(0.2)).verdict == "pays"
    assert narrowing(Width(0.2), Width(math.inf)).verdict == "does not pay"
    assert narrowing(Width(math.inf), Width(math.inf)).verdict == "does not pay"
    some = simulated(np.array([0.4, 0.5, math.inf, 0.5]))
    assert narrowing(Width(1.0), some).by == pytest.approx(math.log(2))
    assert best_narrowing([Width(1.0), Width(1.0)], [Width(0.9), Width(0.5)]).by == pytest.approx(math.log(2))


def test_compared_sets_have_the_same_noise_of_each_cell() -> None:
    """One more cell that adds almost no information changes the width of each simulated outcome only slightly."""
    made, one = fitted(), loss_at()
    cells = grid_candidates((1e4, 1e7), (1e6, 1e9), RULE, 0.05 * BUDGET, 4)
    large = np.argsort(cells.cost)[-4:].tolist()
    few = pretend_widths(made, cells, large, [one])[:, 0]
    more = pretend_widths(made, cells, [0, *large], [one])[:, 0]
    other = pretend_widths(made, cells, large, [one], seed=1)[:, 0]
    assert np.corrcoef(np.log(few), np.log(more))[0, 1] > 0.7
    assert np.std(np.log(few / more)) < 0.7 * np.std(np.log(few / other))
