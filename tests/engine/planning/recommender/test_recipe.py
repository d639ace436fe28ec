"""Recommended settings from a user's own simulated sweeps with known optima, and refused inputs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from isoplan.data.files import records
from isoplan.data.recommender import published_evidence
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.hardware import Device, find_device
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.recommender import (
    Evidence,
    LearningRate,
    Recommendation,
    Settings,
    Stage2,
    as_text,
    from_fit,
    published_optimum,
    recommend,
    rows,
    side_by_side,
    to_json,
    with_fallback,
)
from isoplan.engine.schema import Metric, Roles, Runs
from tests.app.terminal.asking import object_in
from tests.engine.planning.conftest import make_fit, scattered
from tests.engine.planning.recommender.sweeps import sweep

SHARE = (2.0, 1.5, 1e-3, 0.8, 1.0)
"""E, a, b, alpha, beta of loss = E + a s^alpha + b s^-beta; the best embedder share s is 2.5 %."""
STAR = (1e-3 * 1.0 / (1.5 * 0.8)) ** (1 / 1.8)
SPEC = FitSpec(law="starvation", axis="s", objective="ols", bootstrap=100)
H100 = Stage2(find_device("H100"), width=188, devices=8, chunk=None)


def loss_at(s: np.ndarray) -> np.ndarray:
    E, a, b, alpha, beta = SHARE
    return E + a * s**alpha + b * s**-beta


def swept(points: int = 12, noise: float = 1e-3, low: float = 0.005) -> Runs:
    """Return a sweep of s at two budgets with a noisy loss, and with recall = 1 - 0.1 * loss."""
    rng = np.random.default_rng(0)
    s = np.tile(np.geomspace(low, 0.5, points), 2)
    loss = loss_at(s) + noise * rng.normal(size=len(s))
    values = {"s": s, "loss": loss, "recall": 1 - 0.1 * loss, "budget": np.repeat([1e17, 1e18], points)}
    roles = Roles(loss="loss", metrics=(Metric(column="recall"),), hyper=("s",), budget="budget")
    return Runs(np.arange(len(s)), values, roles, {})


def negatives(star: float = 3e5, r: int = 200) -> tuple[Fit, ...]:
    """Return a law of the loss in K with its minimum at K = ``star`` and with ``r`` resamples."""
    alpha, beta, a = 0.6, 0.5, 1e-5
    theta = (2.0, a, a * alpha / beta * star ** (alpha + beta), alpha, beta)
    made = make_fit(theta, scattered(theta, r, 0.02), law="starvation", axis="K", ranges={"K": (16e3, 2e6)})
    return (made,)


@pytest.fixture(scope="module")
def shares() -> Evidence:
    """Return evidence from a sweep of the embedder share s alone."""
    return Evidence(share=sweep(swept(), SPEC))


def test_a_share_sweep_gives_back_its_optimum_and_the_cost_of_six_per_cent(shares: Evidence) -> None:
    answer = recommend(shares, 1e18, "loss", Settings(otherwise={"s": (0.06, 0.2)}))
    s = answer.recipe.choices["s"]
    assert s.value.ci95 is not None
    assert s.value.ci95[0] < STAR < s.value.ci95[1]
    assert s.value.value == pytest.approx(STAR, rel=0.1)
    cost = {o.x: o.amount for o in s.otherwise}
    for x, amount in cost.items():
        truth = float(loss_at(np.array(x)) - loss_at(np.array(STAR)))
        assert amount.value == pytest.approx(truth, rel=0.1)
        assert amount.ci95 is not None
        assert amount.ci95[0] < truth < amount.ci95[1]
    assert "The cost of another s" not in as_text(answer)


def test_the_recommended_share_costs_nothing(shares: Evidence) -> None:
    best = recommend(shares, 1e18, "loss").recipe.choices["s"].value.value
    assert best is not None
    again = recommend(shares, 1e18, "loss", Settings(otherwise={"s": (best,)})).recipe.choices["s"]
    assert [other.amount.value for other in again.otherwise] == [0.0]


def test_metrics_stand_side_by_side(shares: Evidence) -> None:
    answer = recommend(shares, 1e18, "recall")
    assert side_by_side(answer)[0] == ("", "recall", "loss")
    assert answer.changes["s"]["loss"] == pytest.approx(1, rel=0.15)
    recall = answer.recipe.choices["s"].otherwise[0].amount.value
    loss = answer.recipes["loss"].choices["s"].otherwise[0].amount.value
    assert loss is not None
    assert recall == pytest.approx(0.1 * loss, rel=0.2)


def test_a_sweep_that_does_not_bracket_the_optimum_says_on_which_side_it_lies() -> None:
    right = sweep(swept(low=0.08), SPEC)
    assert {one.place for one in right if one.metric == "loss"} <= {"outside left", "not located"}
    choice = recommend(Evidence(share=right), 1e18, "loss").recipe.choices["s"]
    assert choice.value.value is None
    assert choice.note.startswith("no optimum inside its sweep")


def test_negatives_take_the_sweep_of_the_nearest_budget_and_memory_caps_them() -> None:
    (made,) = negatives()
    evidence = Evidence(negatives=(from_fit(made, 1e18), published_optimum(1e15, "loss", 1e5, "inside", 1e4, 2e6, "x")))
    K = recommend(evidence, 3e17, "loss").recipe
    assert K.choices["K"].value.value == pytest.approx(3e5)
    assert K.choices["K"].value.ci68 is not None
    assert (K.binds, K.cap) == ("FLOPs", None)
    assert recommend(evidence, 1e15, "loss").recipe.choices["K"].value.value == 1e5
    small = Settings(stage2=replace(H100, devices=1), batch=256)
    whole = with_fallback(evidence, Evidence(allocation={"loss": allocation()}))
    capped = recommend(whole, 1e18, "loss", small).recipe
    assert capped.binds == "memory"
    assert capped.cap is not None
    assert capped.choices["K"].value.value == capped.cap < 3e5
    assert "limited by memory" in capped.choices["K"].note
    chunked = Settings(stage2=replace(H100, devices=1, chunk=4096), batch=256)
    assert recommend(whole, 1e18, "loss", chunked).recipe.binds == "FLOPs"


def test_runs_that_improve_to_the_largest_k_give_that_k_or_what_memory_holds() -> None:
    """The simulated loss still falls at K = 2e6, as in Table 6 of the behavioural paper at 1e19 FLOPs."""
    rng = np.random.default_rng(0)
    K = np.geomspace(16e3, 2e6, 12)
    loss = 2 + 30 * K**-0.5 + 1e-4 * rng.normal(size=12)
    runs = Runs(np.arange(12), {"K": K, "loss": loss}, Roles(loss="loss", hyper=("K",)), {})
    found = sweep(runs, SPEC.model_copy(update={"axis": "K"}))
    assert [one.place for one in found] == ["outside right"]
    whole = with_fallback(Evidence(negatives=found), Evidence(allocation={"loss": allocation()}))
    recipe = recommend(whole, 1e18, "loss", Settings(stage2=H100, batch=256)).recipe
    assert (recipe.binds, recipe.choices["K"].value.value) == ("sweep", 2e6)
    assert (recipe.cap or 0) > 2e6
    assert "the runs still improve at the largest K of the sweep" in recipe.choices["K"].note
    less = recommend(whole, 1e18, "loss", Settings(stage2=replace(H100, devices=1), batch=256)).recipe
    assert less.binds == "memory"
    assert less.choices["K"].value.value == less.cap < 2e6  # type: ignore[operator]
    assert recommend(whole, 1e18, "loss").recipe.choices["K"].value.value is None


def test_a_flat_sweep_locates_nothing_and_says_why() -> None:
    rng = np.random.default_rng(1)
    K = np.tile(np.geomspace(16e3, 2e6, 8), 3)
    runs = Runs(np.arange(24), {"K": K, "loss": 2 + 0.01 * rng.normal(size=24)}, Roles(loss="loss", hyper=("K",)), {})
    evidence = Evidence(negatives=sweep(runs, SPEC.model_copy(update={"axis": "K"})))
    choice = recommend(evidence, 1e18, "loss").recipe.choices["K"]
    assert (choice.value.value, choice.place) == (None, "not located")
    assert "do not differ from a constant by more than their scatter" in choice.note


def allocation(metric: str = "loss") -> Fit:
    """Fit an iso-FLOP law for ``metric`` to the bundled simulated sweep of a recommender."""
    table = records("demo/recommender_isoflop.csv")
    columns = {"N": "N", "D": "D", "C": "C", "budget": "budget", "loss": "val_loss"}
    values = {role: np.array([float(r[name]) for r in table]) for role, name in columns.items()}
    values |= {m: np.array([float(r[m]) for r in table]) for m in ("recall@10", "NDCG@10")}
    roles = Roles(N="N", D="D", C="C", loss="val_loss", budget="budget",
                  metrics=(Metric(column="recall@10"), Metric(column="NDCG@10")))  # fmt: skip
    runs = Runs(np.arange(len(table)), values, roles, {})
    return fit(FitSpec(law="isoflop", objective="ols", y=metric, bootstrap=100), runs)


@pytest.fixture(scope="module")
def story() -> Recommendation:
    """Recommend N and D from a user's iso-FLOP sweep for two metrics, and all other settings from the paper."""
    own = Evidence(allocation={m: allocation(m) for m in ("recall@10", "NDCG@10")})
    return recommend(with_fallback(own, published_evidence()), 1e18, "recall@10", Settings(stage2=H100))


def test_the_frontier_of_each_metric_gives_its_n_and_d(story: Recommendation) -> None:
    for metric in ("recall@10", "NDCG@10"):
        plan = plan_budget(allocation(metric), 1e18)
        choices = story.recipes[metric].choices
        assert choices["N"].value == plan.allocation["N"]
        N, D = choices["N"].value, choices["D"].value
        assert N.value is not None
        assert D.value == pytest.approx(1e18 / (6 * N.value))
        assert D.ci68 is not None
        assert D.ci68 == pytest.approx([1e18 / (6 * x) for x in reversed(N.ci68 or ())], rel=0.02)
        assert choices["N"].value.ci68 is not None
    sizes = {m: story.recipes[m].choices["N"].value.value or 0.0 for m in ("recall@10", "NDCG@10")}
    assert story.changes["N"]["NDCG@10"] == pytest.approx(sizes["NDCG@10"] / sizes["recall@10"])
    assert story.changes["N"]["NDCG@10"] < 1


def test_the_recipe_and_the_plan_of_one_law_agree_by_a_rule_of_ones_own() -> None:
    rule = ComputeRule(rule="formula", formula="6*D*(1.46*N+3*512*256*188)")
    own = allocation("recall@10")
    plan = plan_budget(own, 1e18, rule)
    choices = recommend(Evidence(allocation={"recall@10": own}), 1e18, "recall@10", rule=rule).recipe.choices
    for setting in ("N", "D"):
        assert choices[setting].value == plan.allocation[setting]
    N = plan.allocation["N"].value or 0.0
    assert choices["D"].value.value == pytest.approx(1e18 / (6 * (1.46 * N + 3 * 512 * 256 * 188)))


def test_text_rows_and_json_agree(story: Recommendation) -> None:
    raw = object_in(json.dumps(to_json(story), allow_nan=False))
    chosen = raw["recipes"]["recall@10"]["choices"]
    assert chosen["N"]["value"] == story.recipe.choices["N"].value.value
    assert chosen["s"]["place"] == "inside"
    text = as_text(story)
    assert raw["sentence"] in text
    assert "Compute limits K: more negatives leave fewer training steps. At most " in text
    assert [r.quantity for r in rows(story.recipe)][:2] == ["Embedder share s", "Batch size B"]
    assert rows(story.recipe)[0].unit == "% of N"


def two_points() -> Runs:
    runs = swept()
    return runs.take(np.array([0, 5]))


def tiny() -> Settings:
    device = Device("tiny", {"bf16": 1e12}, 1e9, None, "none")
    return Settings(stage2=Stage2(device, 188), batch=2_000_000)


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda: sweep(two_points(), SPEC), "select at least 6 runs"),
        (
            lambda: recommend(with_fallback(Evidence(allocation={"loss": allocation()}), published_evidence()), 1e15,
                              "loss", tiny()),
            "is smaller than one candidate row",
        ),
        (lambda: recommend(published_evidence(), 1e18, "auc"), "No run measures the metric 'auc': choose one of"),
        (lambda: recommend(published_evidence(), 0, "val_loss"), "The budget of 0 FLOPs is not positive"),
        (lambda: LearningRate(rate=0), "The learning rate is 0: give a positive number"),
        (lambda: Settings(batch=0), "The batch size of 0 sequences is too small"),
        (lambda: from_fit(make_fit((1.0, 2.0, 0.3), law="power", axis="D")), "no optimum, so it determines no setting"),
        (
            lambda: recommend(
                Evidence(share=(published_optimum(1e18, "loss", 2.0, "inside", 1, 50, "x"),)), 1e18, "loss"
            ),
            "The embedder share is a fraction of the parameters: divide percentages by 100",
        ),
        (
            lambda: recommend(Evidence(batch={"loss": make_fit((1.0, 2.0, 0.3), law="power", axis="D")}), 1e18, "loss"),
            "The batch size requires a fit of critical-batch",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(ask: Callable[[], object], why: str) -> None:
    with pytest.raises(PlannerError) as error:
        ask()
    assert why in str(error.value)
