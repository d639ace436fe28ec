"""Ranking of settings by the cost of another choice, and comparison of the recipes of several metrics."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from isoplan.data.recommender import published_evidence
from isoplan.engine.hardware import find_device
from isoplan.engine.planning.answer.document import to_csv, to_latex, to_markdown
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.recommender import Evidence, Settings, Stage2, recommend, with_fallback
from isoplan.engine.planning.recommender.cards import Badge, Card, Cards, costs, make_cards
from isoplan.engine.planning.recommender.choice import Setting
from isoplan.engine.planning.recommender.document import reply
from isoplan.engine.planning.recommender.joint import Agreement, Joint, differences, join_metrics, shown_value
from isoplan.engine.planning.recommender.ranking import cost_table, rank_costs
from tests.engine.planning.recommender.own_runs import K_STAR, mixed_csv
from tests.engine.planning.recommender.test_own_runs import built

PAPERS, NOTHING = published_evidence(), Evidence()
BOTH = ("recall@10", "NDCG@10")
GIVEN = Settings(stage2=Stage2(find_device("H200"), 188))


def test_costs_of_own_sweeps_are_ranked_before_costs_in_samples_and_unknown_costs(tmp_path: Path) -> None:
    own = built(tmp_path, mixed_csv(noise=2e-3), *BOTH).evidence
    recipe = recommend(with_fallback(own, PAPERS), 1e18, "recall@10", GIVEN).recipe
    costs = rank_costs(recipe)
    # True cost: 0.003 ln(4)^2 at a quarter or at four times the best K, 0.004 ln(2)^2 at half or at twice the best N.
    assert [cost.setting for cost in costs] == ["K", "K", "N", "N", "B", "s", "lr"]
    for cost in costs[:2]:
        assert cost.amount.value == pytest.approx(0.003 * math.log(4) ** 2, rel=0.2)
    for cost in costs[2:4]:
        assert cost.amount.value == pytest.approx(0.004 * math.log(2) ** 2, rel=0.3)
    amounts = [cost.amount.value or 0.0 for cost in costs[:4]]
    assert amounts == sorted(amounts, reverse=True)
    assert {round(cost.factor or 0, 1) for cost in costs[2:4]} == {0.5, 2.0}
    assert costs[0].text.startswith("recall@10 worse by 0.005")
    assert " to " in costs[0].interval
    assert (costs[4].other, costs[4].amount.unit) == ("2,048 sequences (3.8 times)", "times as many samples")
    assert [(cost.text, cost.other, cost.interval) for cost in costs[5:]] == [("-", "-", "-")] * 2
    assert costs[6].reason == "no run varies the learning rate"
    assert costs[5].reason.endswith("Give a sweep of s")
    # The cards show the same numbers.
    chosen = {
        (setting, other.x): other.amount for setting in ("K", "N", "B") for other in recipe.choices[setting].otherwise
    }
    assert {(cost.setting, cost.x): cost.amount for cost in costs[:5]} == chosen


def test_the_ranking_of_published_runs_has_a_reason_for_each_dash() -> None:
    costs = rank_costs(recommend(PAPERS, 1e18, "recall@10", GIVEN).recipe)
    assert [cost.setting for cost in costs] == ["B", "s", "K", "N", "lr"]
    assert (costs[0].text, costs[0].interval) == ("2.38 times as many samples", "1.71 to 3.17")
    assert all(cost.reason for cost in costs[1:])
    far = rank_costs(recommend(PAPERS, 1e6, "recall@10", GIVEN).recipe)
    withheld = {cost.setting: cost.reason for cost in far if cost.setting in ("s", "K", "N")}
    assert all(reason.startswith("not stated: too far beyond the runs") for reason in withheld.values())


def test_the_cost_of_another_batch_is_compared_with_a_typed_batch() -> None:
    critical, typed = (
        rank_costs(recommend(PAPERS, 1e18, "recall@10", replace(GIVEN, batch=batch)).recipe)[0]
        for batch in (None, 1024.0)
    )
    at = 2048 / (critical.factor or math.nan)
    assert typed.factor == 2
    assert typed.amount.value == pytest.approx((1 + 2048 / at) / (1 + 1024 / at))
    same = replace(GIVEN, batch=2048.0)
    own = rank_costs(recommend(PAPERS, 1e18, "recall@10", same).recipe)[0].amount
    assert (own.value, own.ci68) == (1, (1, 1))


def test_the_cost_of_a_smaller_batch_is_in_training_steps() -> None:
    others = replace(GIVEN, otherwise={"B": (256.0,)})
    recipe = recommend(PAPERS, 1e18, "recall@10", others).recipe
    (cost, *_) = rank_costs(recipe)
    critical = recipe.choices["B"].value.value or math.nan
    assert (cost.setting, cost.amount.unit) == ("B", "times as many training steps")
    assert cost.amount.value == pytest.approx((1 + critical / 256) / 2)
    assert (cost.text, cost.interval) == ("1.56 times as many training steps", "1.25 to 2.16")
    assert costs(recipe.choices["B"]) == "256: 1.56 (1.25 to 2.16) times as many training steps"
    (row, *_) = cost_table([recipe])
    assert (row["Other choice"], row["Cost"]) == ("256 sequences (0.47 times)", cost.text)
    (typed, *_) = rank_costs(recommend(PAPERS, 1e18, "recall@10", replace(others, batch=1024.0)).recipe)
    assert typed.amount.value == pytest.approx((1 + critical / 256) / (1 + critical / 1024))
    assert typed.amount.ci68 is not None


def test_costs_of_k_are_compared_with_the_k_that_memory_allows(tmp_path: Path) -> None:
    own = built(tmp_path, mixed_csv(noise=2e-3), *BOTH).evidence
    evidence = with_fallback(own, PAPERS)
    small = Settings(stage2=Stage2(find_device("H200"), 188, chunk=None), batch=690)
    recipe = recommend(evidence, 1e18, "recall@10", small).recipe
    best = recipe.choices["K"].value.value or math.nan
    assert (recipe.binds, best) == ("memory", recipe.cap)
    assert best < 0.8 * K_STAR
    (cost,) = [cost for cost in rank_costs(recipe) if cost.setting == "K"]
    # True cost: 0.003 ln(K / K_STAR)^2 at a quarter of the recommended K, minus its value at the recommended K.
    lost = [0.003 * math.log(K / K_STAR) ** 2 for K in (cost.x or math.nan, best)]
    assert cost.amount.value == pytest.approx(lost[0] - lost[1], rel=0.1)
    assert (round(cost.factor or 0, 2), cost.amount.ci68 is not None) == (0.25, True)
    same, larger = (replace(small, otherwise={"K": K}) for K in ((best,), (1e5, 1e6)))
    (cost,) = [cost for cost in rank_costs(recommend(evidence, 1e18, "recall@10", same).recipe) if cost.setting == "K"]
    assert (cost.amount.value, cost.amount.ci68, cost.factor) == (0, (0, 0), 1)
    recipe = recommend(evidence, 1e18, "recall@10", larger).recipe
    (cost,) = [cost for cost in rank_costs(recipe) if cost.setting == "K"]
    assert (cost.text, cost.other, cost.reason) == ("-", "-", "Memory limits K")
    assert "The cost of another K is not known. Memory limits K." in [w.text for w in recipe.warnings]


def test_a_guess_has_no_interval_in_the_comparison_of_metrics() -> None:
    made = make_cards(recommend(PAPERS, 1e20, "recall@10", GIVEN), PAPERS, NOTHING, BOTH)
    first, other = made["s"]
    assert {card.badge for card in (first, other)} == {Badge.GUESS}
    assert first.value.ci68 is not None
    one = joint(made)["s"]
    assert (one.agreement, one.text, one.safe.note) == (
        Agreement.DIFFERS, "-", "too far beyond the runs for an interval: choose by the metric that is served"
    )  # fmt: skip
    assert (shown_value(first), first.to_json()["ci68"], first.to_json()["ci95"]) == (first.text, None, None)
    assert f"s {other.text}" in differences(made)


def test_every_export_contains_the_ranking_and_the_joint_choice(tmp_path: Path) -> None:
    own = built(tmp_path, mixed_csv(noise=2e-3), *BOTH).evidence
    answer = reply(1e18, ",".join(BOTH), own, PAPERS, GIVEN, None)
    recipes = answer.result.recipes
    first = rank_costs(recipes["recall@10"])[0]
    assert "What a wrong choice costs" in answer.text
    assert "One choice for all metrics" in answer.text
    for metric in BOTH:
        assert [line["Metric"] for line in cost_table(recipes[m] for m in BOTH)].count(metric) == 7
    for written in (to_csv(answer.file), to_markdown(answer.file), to_latex(answer.file)):
        assert "Cost of another choice: Extra negatives K of " in written
        assert "Batch size B for recall@10 and NDCG@10" in written
    for written in (to_csv(answer.file), to_markdown(answer.file)):
        assert "choose by the metric that is served" in written
    body = answer.file.body
    ranked = body["recipes"]["recall@10"]["costs"]
    assert (ranked[0]["setting"], ranked[0]["value"], ranked[0]["x"]) == ("K", first.amount.value, first.x)
    assert [one["setting"] for one in body["joint"]] == ["s", "B", "N", "D", "K", "lr"]
    alone = reply(1e18, "recall@10", own, PAPERS, GIVEN, None)
    assert "joint" not in alone.file.body
    assert "One choice" not in alone.text


def joint(cards: Cards) -> dict[Setting, Joint]:
    return {one.setting: one for one in join_metrics(cards)}


def test_one_choice_suits_both_metrics_where_the_intervals_overlap(tmp_path: Path) -> None:
    own = built(tmp_path, mixed_csv(noise=2e-3), *BOTH).evidence
    evidence = with_fallback(own, PAPERS)
    cards = make_cards(recommend(evidence, 1e18, "recall@10", GIVEN), evidence, own, BOTH)
    found = joint(cards)
    for setting in ("N", "K"):
        one = found[setting]
        assert one.agreement in (Agreement.WITHIN, Agreement.EQUAL)
        for card in one.cards:
            assert card.value.ci68 is not None
            assert card.value.ci68[0] <= (one.safe.value or 0) <= card.value.ci68[1]
    assert found["B"].agreement is Agreement.DIFFERS
    assert (found["B"].text, found["B"].safe.note) == (
        "-", "the intervals do not overlap: choose by the metric that is served"
    )  # fmt: skip
    assert found["lr"].agreement is Agreement.DIFFERS
    assert "B 274 sequences" in differences(cards)
    assert join_metrics(make_cards(recommend(evidence, 1e18, "recall@10", GIVEN), evidence, own)) == ()


def test_the_safe_value_is_the_nearest_in_both_intervals_and_the_rate_follows_the_batch() -> None:
    made = make_cards(recommend(PAPERS, 1e18, "recall@10", GIVEN), PAPERS, NOTHING, BOTH)
    first, other = made["B"]

    def with_batch(x: float, low: float, high: float) -> Cards:
        rate = replace(made["lr"][1].value, value=(made["lr"][0].value.value or 0) * math.sqrt(x / 540))
        batch: tuple[Card, ...] = (
            replace(first, value=Quantity(540, (380, 850), None, "sequences")),
            replace(other, value=Quantity(x, (low, high), None, "sequences")),
        )
        return {**made, "B": batch, "lr": (made["lr"][0], replace(made["lr"][1], value=rate))}

    found = joint(with_batch(700, 600, 900))
    assert (found["B"].agreement, found["B"].safe.value) == (Agreement.WITHIN, 600)
    assert found["lr"].agreement is Agreement.WITHIN
    assert found["lr"].safe.value == pytest.approx((made["lr"][0].value.value or 0) * math.sqrt(600 / 540))
    found = joint(with_batch(700, 500, 900))
    assert (found["B"].safe.value, found["B"].text) == (540, "540 sequences")
    missing = {**made, "B": (first, replace(other, value=Quantity(None, note="no runs")))}
    one = joint(missing)["B"]
    assert (one.agreement, one.text, one.safe.note) == (Agreement.UNKNOWN, "-", "not known for NDCG@10")
