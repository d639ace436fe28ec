"""Runs marked as untrained are not fitted. The interval of the best K includes the counting noise of the metric."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.planning.recommender import recommend
from isoplan.engine.planning.recommender.columns import Columns
from isoplan.engine.planning.recommender.document import evidence_json, read_evidence
from isoplan.engine.planning.recommender.run_table import trained
from isoplan.engine.planning.recommender.sweep import NOT_COUNTED, Counting, counting_of, with_counting
from isoplan.engine.schema import Metric, Roles, Runs
from tests.engine.planning.recommender.own_runs import mixed_csv
from tests.engine.planning.recommender.sweeps import sweep
from tests.engine.planning.recommender.test_own_runs import built

MARKED = Columns({"untrained": "untrained", "scored": "scored"}, {}, Roles())
COUNTING = Counting("recall@10", "scored")
SPEC = FitSpec(law="log-parabola", axis="K", y="recall@10", objective="ols", bootstrap=400)
K = np.geomspace(10, 1e5, 9)


def runs(budgets: Floats, marks: Floats) -> Runs:
    values = {"budget": budgets, "untrained": marks, "K": np.arange(1.0, len(marks) + 1)}
    return Runs(np.arange(len(marks)), values, Roles(budget="budget"), {})


def swept(scored: float, noise: float = 1e-5, seed: int = 0, y: str = "recall@10") -> Runs:
    """Return a sweep of K with the best recall at K = 1000. Each recall is a mean over ``scored`` events."""
    rng = np.random.default_rng(seed)
    recall = 0.2 - 1e-4 * np.log(K / 1e3) ** 2 + noise * rng.normal(size=len(K))
    roles = Roles(metrics=(Metric(column=y, direction="max"),), hyper=("K", "scored"))
    return Runs(np.arange(len(K)), {"K": K, y: recall, "scored": np.full(len(K), scored)}, roles, {})


def test_single_cells_are_left_out_and_named() -> None:
    kept, said = trained(runs(np.full(5, 1e11), np.array([0.0, 1, 0, 0, np.nan])), MARKED)
    assert kept.ids.tolist() == [0, 2, 3, 4]
    assert said == ("1 of 5 runs at 10¹¹ FLOPs left out: no better than item counts (untrained).",)


def test_of_a_budget_that_mostly_did_not_train_nothing_is_fitted() -> None:
    budgets, marks = np.repeat([1e11, 3e11, 1e12], 4), np.array([1.0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1])
    kept, said = trained(runs(budgets, marks), MARKED)
    assert kept.ids.tolist() == [8, 9]
    assert said[0] == "Budget 10¹¹ left out: 3 of 4 runs did no better than item counts (untrained)."
    assert said[1] == "Budget 3.00 × 10¹¹ left out: all 4 runs did no better than item counts (column untrained)."
    assert said[2] == "2 of 4 runs at 10¹² FLOPs left out: no better than item counts (untrained)."


def test_a_sweep_that_did_not_train_at_all_is_refused() -> None:
    with pytest.raises(PlannerError, match="untrained: no run of this sweep did better than item counts"):
        trained(runs(np.full(3, np.nan), np.ones(3)), MARKED)


def test_a_table_without_the_column_is_read_whole() -> None:
    every = runs(np.full(3, 1e11), np.ones(3))
    assert trained(every, Columns({}, {}, Roles())) == (every, ())


def test_the_builder_leaves_them_out_of_the_law_and_says_so(tmp_path: Path) -> None:
    head, *lines = mixed_csv().splitlines()
    bad = [i for i, line in enumerate(lines) if line.split(",")[1] == "1e+17" and line.split(",")[5] == "1e+07"]
    table = [head + ",untrained", *(f"{line},{int(i in bad)}" for i, line in enumerate(lines))]
    broken = [line.replace(line.split(",")[6], "0.9") if line.endswith(",1") else line for line in table]
    assert len(bad) == 1
    whole = built(tmp_path, "\n".join(table), "recall@10")
    kept = built(tmp_path, "\n".join(broken), "recall@10")
    assert len(kept.runs["K"]) == len(whole.runs["K"]) == 9
    assert "1 of 5 runs at 10¹⁷ FLOPs left out: no better than item counts (untrained)." in kept.evidence.remarks["K"]
    at = [one.x.value for one in kept.evidence.negatives]
    assert at == [one.x.value for one in whole.evidence.negatives]


def test_counting_noise_widens_k_as_linear_least_squares_says() -> None:
    """The counting noise sqrt(0.2 * 0.8 / 10,000) = 0.004 determines the width: residuals are only 1e-5."""
    made = fit(SPEC, swept(1e4))
    wide, remark = with_counting(made, swept(1e4), COUNTING)
    assert remark == ""
    X = np.stack([np.ones_like(K), np.log(K), np.log(K) ** 2], axis=1)
    y = swept(1e4)["recall@10"]
    expected = np.sqrt(np.diag(np.linalg.inv(X.T @ X)) * np.mean(y * (1 - y) / 1e4))
    assert np.std(wide.resamples, axis=0) == pytest.approx(expected, rel=0.12)
    assert wide.theta == pytest.approx(made.theta)
    assert np.all(np.std(made.resamples, axis=0) < 0.02 * expected)


def test_other_held_out_users_move_k_by_no_more_than_its_interval_says() -> None:
    """The true optimum K = 1000 is in the 68 % interval in 62 to 90 % of 200 tables with independent counting noise."""
    n, inside = 1e7, 0
    for seed in range(200):
        table = swept(n, noise=np.sqrt(0.16 / n), seed=seed)
        (one,) = sweep(table, SPEC.model_copy(update={"bootstrap": 100, "seed": seed}), COUNTING)
        assert one.x.ci68 is not None
        inside += one.x.ci68[0] <= 1e3 <= one.x.ci68[1]
    assert 0.62 <= inside / 200 <= 0.9


def test_more_events_and_larger_residuals_leave_the_interval_as_it_is() -> None:
    noisy = swept(1e12, noise=1e-3)
    made = fit(SPEC, noisy)
    assert with_counting(made, noisy, COUNTING) == (made, "")
    assert with_counting(made, noisy, None) == (made, "")


@pytest.mark.parametrize("scored", ["", "users"])
def test_an_interval_without_a_number_of_users_says_so(scored: str) -> None:
    made = fit(SPEC, swept(1e4))
    assert with_counting(made, swept(1e4), Counting("recall@10", scored)) == (made, NOT_COUNTED)
    empty = swept(np.nan)
    assert with_counting(made, empty, COUNTING) == (made, NOT_COUNTED)


def test_a_metric_in_percent_counts_as_its_fraction_does() -> None:
    whole = swept(1e4)
    percent = replace(whole, values={**whole.values, "recall@10": 100 * whole["recall@10"]})
    how = counting_of("recall@10", percent["recall@10"], "scored")
    assert (how.most, counting_of("recall@10", whole["recall@10"], "scored").most) == (100, 1)
    fraction, _ = with_counting(fit(SPEC, whole), whole, COUNTING)
    wide, remark = with_counting(fit(SPEC, percent), percent, how)
    assert remark == ""
    assert np.std(wide.resamples, axis=0) == pytest.approx(100 * np.std(fraction.resamples, axis=0), rel=1e-3)


@pytest.mark.parametrize("y", ["coverage@10", "loss"])
def test_what_is_no_mean_over_events_has_no_counting_noise(y: str) -> None:
    table = swept(100, y=y)
    made = fit(SPEC.model_copy(update={"y": y}), table)
    assert with_counting(made, table, Counting(y, "scored")) == (made, "")


def test_the_recipe_names_intervals_without_counting_noise(tmp_path: Path) -> None:
    plain = built(tmp_path, mixed_csv(), "recall@10").evidence
    assert NOT_COUNTED in recommend(plain, 1e18, "recall@10").recipe.choices["K"].remarks
    assert read_evidence(evidence_json(plain)).negatives[0].remark == NOT_COUNTED
    head, *lines = mixed_csv().splitlines()
    users = "\n".join([f"{head},val_users", *(f"{line},10000" for line in lines)])
    counted = built(tmp_path, users, "recall@10").evidence
    assert NOT_COUNTED not in recommend(counted, 1e18, "recall@10").recipe.choices["K"].remarks
    frame = pd.read_csv(io.StringIO(users))
    percent = built(tmp_path, str(frame.assign(recall_at_10=100 * frame.recall_at_10).to_csv()), "recall@10").evidence
    for one, other, alone in zip(percent.negatives, counted.negatives, plain.negatives, strict=True):
        assert one.x.value == pytest.approx(other.x.value, rel=1e-6)
        assert one.x.ci68 == pytest.approx(other.x.ci68, rel=1e-3)
        assert alone.x.ci68 is not None
        assert other.x.ci68 is not None
        assert other.x.ci68[1] / other.x.ci68[0] > 1.1 * alone.x.ci68[1] / alone.x.ci68[0]
