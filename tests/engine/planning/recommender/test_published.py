"""Recommended settings from the published sweeps reproduce the numbers of the behavioural paper."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from isoplan.data.recommender import critical_batch, published_agreement, published_evidence
from isoplan.engine.agreement import across, flips
from isoplan.engine.errors import PlannerError
from isoplan.engine.hardware import find_device
from isoplan.engine.planning.recommender import LearningRate, Settings, Stage2, as_text, recommend, to_json
from isoplan.engine.planning.recommender.text import binding, sentence, source
from isoplan.engine.quantities import count

EVIDENCE = published_evidence()


def test_the_share_is_about_two_per_cent_for_loss_and_ranking() -> None:
    """The optimal embedder share s* is about 2 % for each metric, and 1.1 to 3.7 % at single budgets (Table 2)."""
    answer = recommend(EVIDENCE, 1e18, "val_loss")
    for metric in ("val_loss", "recall@10", "NDCG@10", "coverage@10"):
        s = answer.recipes[metric].choices["s"]
        assert s.value.value == pytest.approx(0.02, abs=0.0025)
        assert s.place == "inside"
        assert s.value.ci68 is not None
        assert s.value.ci68[0] < 0.02 < s.value.ci68[1]
    own = answer.recipe.choices["s"]
    assert own.band == pytest.approx((0.011, 0.037))
    assert "2 % of the parameters" in own.quoted
    assert answer.recipes["NDCG@10"].choices["s"].note == "mean of 3 sweeps, 1 sweep without an optimum"


@pytest.mark.parametrize(
    ("metric", "critical"), [("val_loss", 574), ("recall@10", 544), ("NDCG@10", 274), ("MRR@10", 201)]
)
def test_critical_batches_of_table_3(metric: str, critical: float) -> None:
    B = recommend(EVIDENCE, 1e17, metric).recipe.choices["B"]
    assert B.value.value == pytest.approx(critical, abs=0.5)
    assert B.value.ci68 is not None
    (other,) = B.otherwise
    assert other.x == 2048
    assert other.amount.value == pytest.approx((1 + 2048 / critical) / 2, rel=2e-3)


def test_entropy_has_no_plateau_and_is_not_served() -> None:
    assert float(critical_batch("val_entropy").values["S_min"]) < 0
    assert "val_entropy" not in EVIDENCE.metrics
    with pytest.raises(PlannerError, match="No run measures the metric 'val_entropy': choose one of val_loss"):
        recommend(EVIDENCE, 1e17, "val_entropy")


def test_interior_negatives_of_table_6() -> None:
    """12 of 20 optimal numbers of negatives K lie inside the sweep. The recommendation flags the other 8."""
    inside = [one for one in EVIDENCE.negatives if one.inside]
    assert (len(EVIDENCE.negatives), len(inside)) == (20, 12)
    values = [one.x.value for one in inside if one.x.value is not None]
    assert (min(values), max(values)) == (1.25e5, 6.32e5)
    flagged = [one for one in EVIDENCE.negatives if not one.inside]
    assert [one.place for one in flagged].count("outside right") == 7
    assert next(one for one in flagged if one.place == "outside left").metric == "recall@10"
    for one in flagged:
        recipe = recommend(EVIDENCE, one.budget, one.metric).recipe
        assert recipe.choices["K"].value.value is None
        assert "outside-sweep" in [w.code for w in recipe.warnings]
    quoted = recommend(EVIDENCE, 1e18, "recall@10").recipe.choices["K"]
    assert quoted.value.value == 632e3
    assert quoted.band == (2.49e5, 6.32e5)
    assert quoted.quoted.startswith("125k to 870k for ranking metrics, 2.5e5 to 9e5 as guidance, about 1e6 at most")


def test_memory_binds_at_the_largest_budget() -> None:
    """At 1e19 FLOPs all metrics still improve at K = 2e6 negatives (Sec. 6). Without chunks, memory limits K."""
    devices = Stage2(find_device("H100"), width=188, devices=4, chunk=None)
    for metric in ("val_loss", "recall@10", "NDCG@10", "MRR@10"):
        recipe = recommend(EVIDENCE, 1e19, metric, Settings(stage2=devices)).recipe
        assert recipe.binds == "memory"
        assert recipe.choices["K"].value.value == recipe.cap
        in_parts = recommend(EVIDENCE, 1e19, metric, Settings(stage2=replace(devices, chunk=4096))).recipe
        assert (in_parts.binds, in_parts.choices["K"].value.value) == ("sweep", 2e6)
        assert (in_parts.cap or 0) > 2e6
        answer = recommend(EVIDENCE, 1e19, metric, Settings(stage2=replace(devices, chunk=4096)))
        assert "score at least 2.00 M negatives" in sentence(answer)
    at_17 = recommend(EVIDENCE, 1e17, "recall@10", Settings(stage2=devices)).recipe
    assert (at_17.binds, at_17.choices["K"].value.value) == ("FLOPs", 249e3)


def test_the_frontier_is_that_of_validation_loss_and_the_others_name_what_is_missing() -> None:
    recipes = recommend(EVIDENCE, 1e18, "val_loss").recipes
    N, D = (recipes["val_loss"].choices[k].value.value for k in ("N", "D"))
    assert N is not None
    assert N == pytest.approx(3.33e-4 * 1e18**0.6175, rel=0.01)
    assert D == pytest.approx(1e18 / 6 / N, rel=0.01)
    for setting in ("N", "D"):
        other = recommend(EVIDENCE, 1e18, "recall@10").recipe.choices[setting]
        assert other.value == recipes["val_loss"].choices[setting].value
        assert other.borrowed == "val_loss"
        assert other.note == "borrowed from val_loss: no law of recall@10 is published"
    raw = to_json(recommend(EVIDENCE, 1e18, "recall@10"))
    assert [raw["recipes"]["recall@10"]["choices"][k]["borrowed"] for k in ("N", "D", "s")] == ["val_loss"] * 2 + [None]
    assert "(by val_loss)" in raw["sentence"]
    assert raw["changes"].get("N", {}) == {}
    texts = [w.text for w in recipes["val_loss"].warnings]
    assert any(text.startswith("The cost of another s is not known. The paper shows the loss") for text in texts)


def test_the_learning_rate_follows_the_batch() -> None:
    choices = recommend(EVIDENCE, 1e18, "val_loss").recipe.choices
    B, lr = choices["B"].value, choices["lr"].value
    assert B.value is not None
    assert lr.value == pytest.approx(2e-3 * math.sqrt(B.value / 512))
    assert (lr.ci68, lr.note) == (None, "no interval: a rule of thumb")
    assert B.ci68 is not None
    own = recommend(EVIDENCE, 1e18, "val_loss", Settings(LearningRate(1e-3, 256))).recipe.choices["lr"].value
    assert own.ci68 is not None
    assert own.ci68[1] == pytest.approx(1e-3 * math.sqrt(B.ci68[1] / 256))
    given = recommend(EVIDENCE, 1e18, "val_loss", Settings(LearningRate(1e-3, 256), batch=1024)).recipe.choices
    assert given["lr"].value.value == pytest.approx(2e-3)
    assert given["B"].value.note == "given"


def test_the_step_formula_states_the_same_plan_beside_it() -> None:
    answer = recommend(EVIDENCE, 1e18, "val_loss", Settings(stage2=Stage2(find_device("H200"), 188, 8)))
    step = answer.recipe.step
    assert step is not None
    assert 1.5 < float(step.factor) < 5
    assert step.sentence in as_text(answer)


def test_stages_disagree_where_tables_16_and_17_say_so() -> None:
    found = {(f.one, f.other): f for f in flips(published_agreement())}
    recall, coverage = found["loss", "recall@10"], found["loss", "coverage@10"]
    assert recall.clear
    assert "full catalogue 10¹⁵" in recall.disagree
    assert "full catalogue 10¹⁸" in recall.agree
    assert len(coverage.disagree) == 5
    assert ("loss", "entropy") not in found
    (pair,) = across(published_agreement(), [("loss", "recall@10")])
    assert pair.flips
    assert pair.rho[4] == -0.93
    assert not across(published_agreement(), [("loss", "entropy")])[0].flips
    with pytest.raises(PlannerError, match="There is no metric 'auc' to compare: choose among loss, recall@10"):
        across(published_agreement(), [("loss", "auc")])


def test_a_budget_beyond_the_sweeps_is_not_inside_them() -> None:
    """A budget of 1e21 FLOPs lies two decades beyond the sweep of K, which ends at 1e19 (Table 6)."""
    evidence = published_evidence()
    devices = Settings(stage2=Stage2(find_device("H200"), 188, 64))
    recipe = recommend(evidence, 1e21, "recall@10", devices).recipe
    top = max(one.budget for one in evidence.share if one.metric == "recall@10")
    assert recipe.choices["s"].value.beyond == pytest.approx(math.log10(1e21 / top))
    assert recipe.choices["K"].value.beyond == pytest.approx(2)
    assert recipe.choices["K"].note.endswith("; the budget lies 2 decades beyond the budgets of the sweeps")
    assert "The budget lies 2 decades beyond the budgets of the sweeps of K." in [w.text for w in recipe.warnings]
    among = recommend(evidence, 1e18, "recall@10", devices).recipe
    assert (among.choices["s"].value.beyond, among.choices["K"].value.beyond) == (0, 0)
    assert not any("beyond the budgets" in w.text for w in among.warnings)


def test_what_memory_caps_is_no_difference_between_metrics_and_chunks_are_offered() -> None:
    """The memory of one H200 holds the scores of 112 k negatives, but the best recall@10 needs 630 k (Table 6)."""
    stage2 = Stage2(find_device("H200"), 188, chunk=None)
    answer = recommend(published_evidence(), 1e18, "recall@10", Settings(stage2=stage2))
    assert (answer.recipe.binds, "K" in answer.changes) == ("memory", False)
    in_chunks = replace(stage2, chunk=4096)
    chunked = recommend(published_evidence(), 1e18, "recall@10", Settings(stage2=in_chunks)).recipe
    assert answer.recipe.chunked == chunked.cap
    assert chunked.chunked is None
    assert "K" in recommend(published_evidence(), 1e18, "recall@10", Settings(stage2=in_chunks)).changes
    assert f"With 4,096 candidates scored at a time, {count(float(chunked.cap or 0), 3)} fit." in binding(answer.recipe)


def test_a_share_has_no_interval_beyond_all_of_n() -> None:
    """coverage@10 has optima at only two budgets. By Student's t, the 95 % interval of s would be 0 to 1152 %.

    No 95 % interval is stated, because a share above 100 % is impossible.
    """
    share = recommend(published_evidence(), 1e18, "coverage@10").recipe.choices["s"]
    assert share.value.ci95 is None
    assert share.value.ci68 is not None
    assert share.value.ci68[1] < 0.06
    assert "no 95 % interval: the spread of 2 budgets also allows shares above 100 %" in source(share)
