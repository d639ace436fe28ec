"""Tests of metric agreement: rank correlations compared with scipy and papers, directions, ties, sign changes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy.stats import spearmanr

from isoplan.engine.agreement import agreement, flips
from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import Metric, Roles, Runs


def table(
    values: Mapping[str, ArrayLike], budget: Floats | None = None, group: list[str] | None = None, **turn: str
) -> Runs:
    """Return runs with the columns ``values``; a larger metric is better unless ``turn[metric]`` is "min"."""
    names = [name for name in values if name != "loss"]
    metrics = tuple(Metric.model_validate({"column": m, "direction": turn.get(m, "max")}) for m in names)
    columns = {k: np.asarray(v, float) for k, v in values.items()}
    ids = np.arange(len(next(iter(columns.values()))))
    labels = {} if group is None else {"group": np.array(group)}
    return Runs(ids, columns | ({} if budget is None else {"budget": budget}), Roles(metrics=metrics), labels)


def test_the_grid_winners_of_five_budgets_agree_in_every_metric() -> None:
    """Loss, recall and NDCG of the best runs improve from budget to budget (Table 4 of the behavioural paper)."""
    (found,) = agreement(
        table(
            {
                "loss": [3.914, 3.376, 3.108, 2.832, 2.641],
                "recall@10": [0.453, 0.544, 0.594, 0.649, 0.673],
                "NDCG@10": [0.302, 0.380, 0.414, 0.455, 0.476],
            }
        )
    )
    assert found.metrics == ("loss", "recall@10", "NDCG@10")
    assert found.rho == pytest.approx(np.ones((3, 3)))
    assert (found.n, found.counts.tolist()) == (5, [[5] * 3] * 3)


def test_the_cells_of_one_budget_agree_as_the_paper_says() -> None:
    """Behavioural paper, Table 12: nine training runs at 10^18 FLOPs.

    Section 7: the rank correlation of loss and ranking metrics is at least 0.94. Coverage has lower rank correlations.
    """
    cells = {
        "loss": [2.948, 2.912, 2.886, 2.858, 2.823, 2.809, 2.782, 2.805, 2.847],
        "R@1": [0.264, 0.267, 0.271, 0.272, 0.278, 0.280, 0.282, 0.281, 0.276],
        "R@10": [0.619, 0.626, 0.630, 0.633, 0.639, 0.643, 0.644, 0.642, 0.635],
        "NDCG@10": [0.431, 0.435, 0.440, 0.442, 0.448, 0.451, 0.453, 0.451, 0.445],
        "MRR@10": [0.372, 0.375, 0.380, 0.382, 0.388, 0.391, 0.393, 0.391, 0.385],
        "cov@10": [0.935, 0.932, 0.933, 0.936, 0.938, 0.938, 0.939, 0.937, 0.935],
    }
    (found,) = agreement(table(cells))
    ranking = found.rho[:5, :5]
    assert (ranking >= 0.94).all()
    assert (found.rho[5, :5] < ranking.min()).all()
    expected = spearmanr(np.array(list(cells.values())).T).statistic
    assert np.abs(found.rho) == pytest.approx(np.abs(expected))


def test_updates_to_target_rank_batch_sizes_as_the_paper_prints_them() -> None:
    """Compare rank correlations with scipy. The columns of Table 3 (behavioural paper) are steps to a target."""
    S = {
        "loss": [7700.0, 3250, 1950, 1450, 1300, 1550],
        "recall": [7350.0, 3550, 2200, 1450, 1250, 1250],
        "entropy": [7650.0, 2100, 850, 600, 350, 300],
    }
    (found,) = agreement(table(S, recall="min", entropy="min"))
    for i, one in enumerate(S):
        for j, other in enumerate(S):
            assert found.rho[i, j] == pytest.approx(spearmanr(S[one], S[other]).statistic)
    assert found.notes == ("2 of 6 runs have the same recall as another run; tied runs get their mean rank.",)


def test_a_sign_that_changes_between_budgets_is_marked() -> None:
    """Loss and recall disagree at the low budget and agree at the high budget, as in Table 17 (behavioural paper)."""
    loss = np.array([3.0, 2.9, 2.8, 2.7, 2.6, 2.5])
    recall = np.r_[[0.30, 0.29, 0.28, 0.27, 0.26, 0.25], [0.4, 0.41, 0.42, 0.43, 0.44, 0.45]]
    mixed = np.r_[[0.1, 0.3, 0.2, 0.25, 0.15, 0.21], [0.4, 0.41, 0.42, 0.43, 0.44, 0.45]]
    runs = table({"loss": np.r_[loss, loss - 1], "recall": recall, "mixed": mixed}, budget=np.repeat([1e15, 1e18], 6))
    low, high = agreement(runs, "budget")
    assert (low.name, high.name) == ("10¹⁵", "10¹⁸")
    assert (low.rho[0, 1], high.rho[0, 1]) == pytest.approx((-1, 1))
    first, *others = flips((low, high))
    assert (first.one, first.other, first.clear) == ("loss", "recall", True)
    assert first.sentence == "loss and recall agree at 10¹⁸ and disagree at 10¹⁵."
    assert [f.clear for f in others] == [False]
    assert agreement(runs)[0].rho[0, 1] > 0


def test_parts_by_group_and_metrics_that_some_runs_lack() -> None:
    x = np.arange(10.0)
    half = np.where(x < 5, x, np.nan)
    one, other = agreement(table({"loss": -x, "q": x, "r": half}, group=["a"] * 5 + ["b"] * 5), "group")
    assert (one.name, other.name, one.n) == ("a", "b", 5)
    assert one.rho[0, 2] == pytest.approx(1)
    assert np.isnan(other.rho[0, 2])
    assert other.counts[0, 2] == 0
    assert other.notes == ("r is measured for 0 of 5 runs, too few to rank.",)


def test_what_cannot_be_ranked_is_said() -> None:
    with pytest.raises(PlannerError, match="two measures of quality and this table has loss"):
        agreement(table({"loss": [1, 2, 3]}))
    with pytest.raises(PlannerError, match="No run belongs to a budget"):
        agreement(table({"loss": [1, 2], "q": [1, 2]}), "budget")
    with pytest.raises(PlannerError, match="No column gives the group"):
        agreement(table({"loss": [1, 2], "q": [1, 2]}), "group")
    (few,) = agreement(table({"loss": [1, 2, 3], "q": [1, 2, 3]}))
    assert few.notes == ("3 runs are too few to rank: at least 4 are needed.",)
    assert np.isnan(few.rho[0, 1])
    (flat,) = agreement(table({"loss": [1, 2, 3, 4], "q": [1, 1, 1, 1]}))
    assert flat.notes == ("q has the same value in all 4 runs and cannot rank them.",)


@settings(max_examples=20)
@given(st.lists(st.integers(-50, 50), min_size=5, max_size=12), st.integers(0, 100))
def test_order_unit_and_direction_do_not_matter(ranks: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = np.array(ranks, float), rng.normal(size=len(ranks))
    (base,) = agreement(table({"p": x, "q": y}))
    order = rng.permutation(len(x))
    (other,) = agreement(table({"p": np.exp(x / 60)[order], "q": -7 * y[order]}, q="min"))
    assert other.rho[0, 1] == pytest.approx(base.rho[0, 1], nan_ok=True)
