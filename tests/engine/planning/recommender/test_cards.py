"""Cards of recommended settings: values, badges, intervals, cost of other choices, summary of an uploaded table."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isoplan.data.recommender import published_evidence
from isoplan.engine.fitting import FitSpec
from isoplan.engine.hardware import find_device
from isoplan.engine.planning.recommender import Evidence, LearningRate, Settings, Stage2, recommend, with_fallback
from isoplan.engine.planning.recommender.builder import build_evidence
from isoplan.engine.planning.recommender.cards import CARDS, Badge, Card, differing, make_cards
from isoplan.engine.planning.recommender.choice import Setting
from isoplan.engine.planning.recommender.columns import metric_names
from isoplan.engine.planning.recommender.document import evidence_json, read_evidence, reply
from isoplan.engine.planning.recommender.joint import differences
from isoplan.engine.planning.recommender.own_runs import summary
from isoplan.engine.planning.recommender.sweep import optimum_of
from isoplan.engine.quantities import count
from isoplan.engine.schema import Metric, Roles, Runs
from tests.engine.planning.recommender.own_runs import K_STAR, N_STAR, mixed_csv
from tests.engine.planning.recommender.test_own_runs import built, sweeps_of

PAPERS, NOTHING = published_evidence(), Evidence()
H200 = Stage2(find_device("H200"), 188)
NOISE = 2e-3


def cards(C: float, *metrics: str, settings: Settings | None = None) -> dict[Setting, tuple[Card, ...]]:
    answer = recommend(PAPERS, C, metrics[0], settings or Settings(stage2=H200))
    return dict(make_cards(answer, PAPERS, NOTHING, metrics))


@pytest.mark.parametrize(
    ("setting", "text", "interval", "badge", "what_if"),
    [
        ("s", "2.00 % of N", "68 %: 1.55 to 2.57", "from published runs", "The cost of another share is not"),
        ("K", "632 k negatives", "swept budgets: 249 k to 632 k", "from published runs", "Memory holds 367 M."),
        ("B", "540 sequences", "68 %: 380 to 850", "from published runs", "2,048: 2.38 (1.71 to 3.17) times"),
        ("N", "43.5 M parameters", "-", "borrowed from val_loss", "Half of N: 7.7 B samples for the same FLOPs;"),
        ("D", "3.83 B samples", "-", "borrowed from val_loss", "Ten times the budget: 9.2 B samples, 180 M"),
        ("lr", "0.00206", "-", "guess", "At a batch of 2,048 sequences: 0.00400."),
    ],
)  # fmt: skip
def test_the_six_cards_of_the_paper(setting: Setting, text: str, interval: str, badge: str, what_if: str) -> None:
    (card,) = cards(1e18, "recall@10")[setting]
    assert (card.text, card.interval, card.source) == (text, interval, badge)
    assert what_if in card.what_if
    assert card.complaint == ""
    if interval == "-":
        missing = "a rule of thumb" if setting == "lr" else "correlations unpublished"
        assert card.no_interval == f"no interval: {missing}"
        assert card.to_json()["ci68"] is None
    assert bool(card.caution) == (setting == "D")


def test_half_of_n_and_ten_times_the_budget_follow_from_the_frontier() -> None:
    recipe = recommend(PAPERS, 1e18, "val_loss").recipe
    N, D = (recipe.choices[setting].value.value or 0 for setting in ("N", "D"))
    found = cards(1e18, "val_loss")
    assert found["N"][0].what_if.startswith(f"Half of N: {count(2 * D, 2)} samples")
    ten = recommend(PAPERS, 1e19, "val_loss").recipe
    more = [count(ten.choices[setting].value.value or 0, 2) for setting in ("D", "N")]
    assert found["D"][0].what_if == f"Ten times the budget: {more[0]} samples, {more[1]} parameters."
    assert pytest.approx(1e18) == 6 * N * D


def test_two_metrics_differ_in_their_own_sweeps_only() -> None:
    found = cards(1e18, "recall@10", "NDCG@10")
    assert [len(differing(found[setting])) for setting in CARDS] == [2, 2, 2, 1, 1, 2]
    assert differences(found) == ("For NDCG@10: B 274 sequences, K at least 2.00 M negatives, lr 0.00146.")
    assert differences(cards(1e18, "NDCG@10", "NDCG@10")).endswith("all values are equal.")
    limit = found["K"][1]
    assert (limit.least, limit.interval, limit.no_interval) == (True, "-", "a lower limit has no interval")
    assert differences(cards(1e18, "recall@10")) == ""


def test_a_metric_without_sweeps_borrows_them_from_the_loss() -> None:
    found = cards(1e17, "coverage@10", "val_loss")
    for setting in ("B", "K", "N", "D"):
        borrowed, own = found[setting]
        assert (borrowed.badge, borrowed.lender) == (Badge.BORROWED, "val_loss")
        assert borrowed.value.value == own.value.value
    assert found["s"][0].badge is Badge.PUBLISHED
    answer = recommend(PAPERS, 1e17, "coverage@10")
    assert "B" not in answer.changes


def test_values_that_are_typed_or_far_from_their_runs_have_their_own_badge() -> None:
    settings = Settings(LearningRate(1e-3), batch=256)
    found = cards(1e18, "recall@10", settings=settings)
    assert (found["B"][0].badge, found["lr"][0].badge) == (Badge.TYPED, Badge.TYPED)
    assert cards(1e20, "recall@10")["s"][0].badge is Badge.GUESS
    far = cards(1e6, "recall@10")
    for setting in ("s", "K", "N", "D"):
        (card,) = far[setting]
        assert (card.text, card.interval, card.badge, card.what_if) == ("-", "-", Badge.UNKNOWN, "")
        assert card.reason.startswith("not stated: too far beyond the runs")


def test_a_card_says_why_k_falls_with_the_budget() -> None:
    whole = Settings(stage2=Stage2(find_device("H200"), 188, chunk=None))
    K = [cards(C, "recall@10", settings=whole)["K"][0] for C in (1e19, 1e20)]
    assert (K[0].value.value or 0) > (K[1].value.value or 0)
    for card in K:
        assert (
            card.what_if
            == "Memory limits K: a larger model leaves less memory for negatives, so K decreases with the budget."
        )
        assert (card.badge, card.no_interval) == (Badge.MEMORY, "the memory of the devices determines this value")
    swept = cards(1e17, "recall@10")["K"][0]
    assert swept.what_if == "K is smaller than at 10¹⁶ FLOPs (437 k): the optima scatter and have no interval."


def test_own_runs_move_the_cards_of_both_metrics(tmp_path: Path) -> None:
    made = built(tmp_path, mixed_csv(noise=NOISE), "recall@10", "NDCG@10").evidence
    evidence = with_fallback(made, PAPERS)
    answer = recommend(evidence, 1e18, "recall@10", Settings(stage2=H200))
    found = make_cards(answer, evidence, made, ("recall@10", "NDCG@10"))
    truths: tuple[tuple[Setting, float], ...] = (("N", N_STAR), ("K", K_STAR))
    for setting, true in truths:
        for card in found[setting]:
            assert card.badge is Badge.OWN
            assert card.value.value == pytest.approx(true, rel=0.1)
            assert card.interval.startswith("68 %: ")
    assert {card.badge for setting in ("s", "B") for card in found[setting]} == {Badge.PUBLISHED}
    prices = answer.recipe.choices["K"].otherwise
    best = answer.recipe.choices["K"].value.value or 0
    assert [other.x / best for other in prices] == pytest.approx([0.25, 4], rel=0.05)
    for other in prices:
        assert other.amount.value == pytest.approx(0.003 * math.log(4) ** 2, rel=0.2)
    sizes = answer.recipe.choices["N"].otherwise
    N = answer.recipe.choices["N"].value.value or 0
    assert [other.x / N for other in sizes] == pytest.approx([0.5, 2])
    for other in sizes:
        assert other.amount.unit == "recall@10"
        assert other.amount.value == pytest.approx(0.004 * math.log(2) ** 2, rel=0.3)
    assert read_evidence(evidence_json(made)).sizes[0].x == made.sizes[0].x
    assert "recall@10 worse by" in found["K"][0].what_if
    assert "NDCG@10 worse by" in found["K"][1].what_if


def test_a_sweep_without_a_fit_is_named_in_the_summary_and_on_its_card(tmp_path: Path) -> None:
    table = sweeps_of(tmp_path, mixed_csv())
    whole = build_evidence(table, ("recall@10",), refits=20)
    assert summary(table, whole) == (
        "32 runs: 20 determine N and D, 12 determine K, none determine the embedder share or the batch size. "
        "recall_at_10 is read as recall@10. ndcg_10 is read as NDCG@10."
    )
    rows = [row for row in mixed_csv().splitlines() if not any(f",{K}," in row for K in ("1e+06", "1e+07", "100000"))]
    few = sweeps_of(tmp_path, "\n".join(rows))
    made = build_evidence(few, ("recall@10",), refits=20)
    assert summary(few, made).startswith("26 runs: 20 determine N and D, 6 vary K but cannot be fitted, none determine")
    evidence = with_fallback(made.evidence, PAPERS)
    found = make_cards(recommend(evidence, 1e18, "recall@10"), evidence, made.evidence)
    complaints = {setting: found[setting][0].complaint for setting in CARDS if found[setting][0].complaint}
    assert list(complaints) == ["K"]
    assert complaints["K"].startswith("Your runs do not determine K. log-parabola has 3 free parameters")
    assert found["K"][0].badge is Badge.PUBLISHED


@pytest.fixture(scope="module")
def flat_k() -> Evidence:
    """Return a sweep of K over 24 runs in which recall@10 is only noise. Batch and learning rate are constant."""
    rng = np.random.default_rng(1)
    K = np.tile(np.geomspace(16e3, 2e6, 8), 3)
    values = {"K": K, "recall@10": 0.3 + 0.01 * rng.normal(size=24)}
    metric = Metric(column="recall@10", direction="max")
    runs = Runs(np.arange(24), values, Roles(metrics=(metric,), hyper=("K",)), {})
    spec = FitSpec(law="log-parabola", axis="K", y="recall@10", objective="ols", bootstrap=50, seed=0)
    return Evidence(negatives=(optimum_of(runs, spec),), used={"B": 1024.0, "lr": 1e-3})


def test_a_sweep_without_an_optimum_leaves_the_published_value_and_a_line(flat_k: Evidence) -> None:
    assert not flat_k.negatives[0].located
    answer = reply(1e18, "recall@10", flat_k, PAPERS, Settings(stage2=H200), None)
    card = next(one for one in answer.file.body["cards"] if one["setting"] == "K")
    assert card["text"] == cards(1e18, "recall@10")["K"][0].text
    assert (card["badge"], card["complaint"]) == ("from published runs", "Your sweep does not locate the optimum.")
    assert "Extra negatives K: " in answer.text
    assert "Your sweep does not locate the optimum" in answer.text
    alone = recommend(flat_k, 1e18, "recall@10")
    assert make_cards(alone, flat_k, flat_k)["K"][0].text == "-"
    again = with_fallback(read_evidence(evidence_json(flat_k)), PAPERS)
    assert recommend(again, 1e18, "recall@10").recipe.choices["K"].value.value == 632e3


def test_the_answer_notes_the_batch_and_the_rate_of_own_runs(flat_k: Evidence) -> None:
    warnings = recommend(with_fallback(flat_k, PAPERS), 1e18, "recall@10").recipe.warnings
    assert [(str(w.level), w.text) for w in warnings if w.code == "own-settings"] == [
        ("note", "Your runs used batch size 1,024 and learning rate 0.001.")
    ]
    same = replace(flat_k, used={"B": 540.0})
    assert not [
        w for w in recommend(with_fallback(same, PAPERS), 1e18, "recall@10").recipe.warnings if w.code == "own-settings"
    ]


def test_metrics_are_typed_with_commas_and_stand_in_the_json() -> None:
    assert metric_names("recall_at_10, NDCG@10,Recall@10") == ("recall@10", "NDCG@10")
    answer = reply(1e18, "recall_at_10,NDCG@10", NOTHING, PAPERS, Settings(stage2=H200), None)
    body = answer.file.body
    assert [(one["setting"], one["metric"]) for one in body["cards"]] == [
        (setting, metric) for setting in CARDS for metric in ("recall@10", "NDCG@10")
    ]
    assert body["question"] == {"budget": 1e18, "metric": "recall@10"}
    assert body["sentence"] == answer.sentence == answer.text.partition("\n")[0]
    assert answer.sentence.endswith("K at least 2.00 M negatives, lr 0.00146.")
    assert body["cards"][2]["text"] == "632 k negatives"
    assert answer.name == "recall@10, NDCG@10 at 10¹⁸ FLOPs"
