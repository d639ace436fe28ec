"""Metrics compared with scikit-learn and with loops over all orders of tied candidates. Invariances of the metrics."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax
from sklearn.metrics import ndcg_score, top_k_accuracy_score

from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.model.item_features import Groups, group_keys, group_vectors
from isoplan.trainers.behavior.scores import ranks
from isoplan.trainers.behavior.scores.metrics import HISTORIES, at_cutoff, directions, evaluate
from isoplan.trainers.behavior.scores.ranks import Ranked, level, rank_batch, rank_catalogue, ranking_bytes
from tests.trainers.behavior import brute

Batch = tuple[np.ndarray, np.ndarray, np.ndarray]


def batch(rng: np.random.Generator, queries: int, count: int, step: float, items: int = 50) -> Batch:
    """Return random scores, the target columns, and the items in random order.

    The scores are multiples of ``step``, so many scores are tied.
    """
    scores = np.round(rng.normal(0, 2, (queries, count)) / step) * step
    return scores.astype(np.float32), rng.integers(0, count, queries), rng.permutation(items)[:count]


def ranked(one: Batch, top: int = 100) -> Ranked:
    return rank_batch(one[0], one[1], one[2], top=top)


@pytest.mark.parametrize("step", [2.0**-20, 0.5, 2.0, 100.0])
@pytest.mark.parametrize("k", [1, 3, 10, 40])
def test_batches_agree_with_loops(step: float, k: int) -> None:
    rng = np.random.default_rng(k)
    batches = [batch(rng, queries, count, step) for queries, count in ((7, 30), (1, 1), (12, 9), (3, 4))]
    found = evaluate(((ranked(one, k), np.ones(len(one[1]), np.int64)) for one in batches), 50, (k,), ())
    assert found.metrics == pytest.approx(brute.evaluate(batches, k), rel=1e-9, abs=1e-9)
    assert found.events == 23


@pytest.mark.parametrize("step", [2.0**-20, 1.0])
@pytest.mark.parametrize("chunk", [1, 7, 40, 41, 1000])
def test_a_catalogue_in_chunks_is_one_array(step: float, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scores, targets, _ = batch(np.random.default_rng(1), 23, 41, step)
    whole = rank_batch(scores, targets, np.arange(41), top=5)
    monkeypatch.setattr(ranks, "BLOCK", 100)
    found = rank_catalogue(lambda first, stop: scores[:, first:stop], targets, Groups.apart(41), top=5, chunk=chunk)
    for name in ("above", "tied", "top"):
        assert np.array_equal(getattr(found, name), getattr(whole, name)), name
    assert found.cross_entropy == pytest.approx(
        -log_softmax(scores.astype(float), axis=1)[range(23), targets], rel=1e-12
    )
    assert found.entropy == pytest.approx(whole.entropy, rel=1e-9)
    assert np.array_equal(rank_batch(scores, targets, np.arange(41), top=5).top, whole.top)
    assert list(found.pool) == list(range(41))


def test_ranks_without_ties_agree_with_scikit_learn() -> None:
    scores, targets, items = batch(np.random.default_rng(2), 200, 40, 1e-6)
    found = at_cutoff(ranked((scores, targets, items)), 10)
    labels = range(40)
    assert found["recall"].mean() == pytest.approx(top_k_accuracy_score(targets, scores, k=10, labels=labels))
    assert found["NDCG"].mean() == pytest.approx(ndcg_score(np.eye(40)[targets], scores, k=10))
    # scikit-learn also averages the gain over all orders of tied candidates (McSherry and Najork 2008).
    tied = np.round(scores)
    found = at_cutoff(ranked((tied, targets, items)), 40)
    assert found["NDCG"].mean() == pytest.approx(ndcg_score(np.eye(40)[targets], tied, k=40))


def test_a_model_that_says_nothing_is_as_good_as_guessing() -> None:
    found = evaluate([(ranked((np.zeros((5, 200)), np.arange(5), np.arange(200))), np.ones(5, np.int64))], 200).metrics
    assert found["loss"] == pytest.approx(math.log(200))
    assert found["entropy"] == pytest.approx(math.log(200))
    assert found["perplexity"] == pytest.approx(200)
    assert found["recall@10"] == pytest.approx(10 / 200)
    assert found["MRR@10"] == pytest.approx(sum(1 / r for r in range(1, 11)) / 200)
    assert found["coverage@10"] == found["global_coverage@10"] == 10 / 200


NUMBERS = st.lists(st.lists(st.integers(-3, 3), min_size=6, max_size=6), min_size=1, max_size=5)


@given(NUMBERS, st.randoms(use_true_random=False), st.integers(1, 6))
def test_the_order_of_the_candidates_does_not_matter(rows: list[list[int]], random: object, k: int) -> None:
    scores, items = np.array(rows, float), np.arange(10, 16)
    order = np.random.default_rng(random.randrange(2**31)).permutation(6)  # type: ignore[attr-defined]
    targets = np.arange(len(rows))
    a = rank_batch(scores, targets, items, top=k)
    b = rank_batch(scores[:, order], np.argsort(order)[targets], items[order], top=k)
    for name in ("above", "tied", "top"):
        assert np.array_equal(getattr(a, name), getattr(b, name))
    assert a.entropy == pytest.approx(b.entropy, abs=1e-12)
    own = np.tile(items[order], (len(rows), 1))
    c = rank_batch(scores[:, order], np.argsort(order)[targets], own, top=k)
    assert np.array_equal(c.top, a.top)
    assert np.array_equal(c.pool, items)


@given(NUMBERS, st.integers(-(10**6), 10**6), st.integers(1, 6))
def test_a_shift_of_all_scores_changes_nothing(rows: list[list[int]], shift: int, chunk: int) -> None:
    scores, targets = np.array(rows, float), np.arange(len(rows))
    a = rank_catalogue(lambda first, stop: scores[:, first:stop], targets, Groups.apart(6), top=3, chunk=chunk)
    b = rank_catalogue(lambda first, stop: scores[:, first:stop] + shift, targets, Groups.apart(6), top=3, chunk=6)
    assert np.array_equal(a.top, b.top)
    assert np.array_equal(a.above, b.above)
    assert a.cross_entropy == pytest.approx(b.cross_entropy, rel=1e-9, abs=1e-9)
    assert a.entropy == pytest.approx(b.entropy, rel=1e-9, abs=1e-9)
    assert np.all((a.entropy >= 0) & (a.entropy <= math.log(6) + 1e-12))


@given(NUMBERS, st.integers(1, 5))
def test_a_better_score_is_never_worse(rows: list[list[int]], k: int) -> None:
    scores, targets = np.array(rows, float), np.zeros(len(rows), np.int64)
    better = scores.copy()
    better[:, 0] += 1
    low, high = (at_cutoff(rank_batch(z, targets, np.arange(6), top=k), k) for z in (scores, better))
    for name in low:
        assert np.all(high[name] >= low[name] - 1e-12)
        assert np.all((low[name] >= 0) & (high[name] <= 1 + 1e-12))
    assert np.all(low["recall"] >= low["NDCG"] - 1e-12)
    assert np.all(low["NDCG"] >= low["MRR"] - 1e-12)


def test_histories_are_those_events_alone() -> None:
    rng = np.random.default_rng(3)
    batches = [batch(rng, 40, 30, 0.5) for _ in range(3)]
    lengths = [rng.integers(1, 8, 40) for _ in batches]
    lengths[2][lengths[2] == 3] = 4
    found = evaluate(zip(map(ranked, batches), lengths, strict=True), 50, (5,))
    assert set(found.histories) == {3, 5}
    for length, metrics in found.histories.items():
        some = [(z[n == length], t[n == length], c) for (z, t, c), n in zip(batches, lengths, strict=True)]
        truth = brute.evaluate([one for one in some if len(one[1])], 5)
        assert metrics == pytest.approx({name: v for name, v in truth.items() if "global" not in name}, rel=1e-9)
    assert found.row()["NDCG@5/ctx_3"] == found.histories[3]["NDCG@5"]
    assert set(found.row()) < set(directions((5,)))
    assert set(directions((5,), ())) == set(found.metrics)
    assert len(directions((5,), HISTORIES)) == 8 + 6 * 7


def test_memory_of_a_catalogue_is_bounded_and_said_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "BLOCK", 2**14)
    rng = np.random.default_rng(0)
    hidden, vectors = rng.normal(size=(100, 4)).astype(np.float32), rng.normal(size=(60_000, 4)).astype(np.float32)
    chunk = 3_700
    assert ranking_bytes(100, chunk, 10) <= 4e6 < ranking_bytes(100, chunk + 20, 10)
    tracemalloc.start()
    found = rank_catalogue(
        lambda a, b: hidden @ vectors[a:b].T, np.arange(100), Groups.apart(60_000), top=10, chunk=chunk
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 1.5e6 < peak < 4e6 < 4 * 100 * 60_000
    assert len(found) == 100


def test_equal_items_are_tied_whatever_the_last_chunk_holds() -> None:
    rng = np.random.default_rng(1)
    hidden, vectors = rng.normal(size=(256, 33)).astype(np.float32), rng.normal(size=(10, 33)).astype(np.float32)
    items = np.tile(vectors, (410, 1))[:4099]
    groups = group_vectors(items)
    distinct = items[groups.first]
    for chunk in (4096, 7, 1):
        found = rank_catalogue(lambda a, b: hidden @ distinct[a:b].T, np.arange(256), groups, top=5, chunk=chunk)
        assert found.tied.tolist() == [410 if k % 10 < 9 else 409 for k in range(256)]
        assert set((found.above % 10).tolist()) <= {0, 9}


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.integers(1, 13), st.integers(1, 7))
def test_items_of_a_group_count_as_if_each_were_scored(of: list[int], top: int, chunk: int) -> None:
    groups = group_keys(np.array(of))
    rng = np.random.default_rng(len(of))
    scores = rng.normal(size=(5, len(groups)))
    scores[:, 1:2] = scores[:, :1]  # different groups can have equal scores
    targets = rng.integers(0, len(of), 5)
    whole = rank_batch(scores[:, groups.of], targets, np.arange(len(of)), top=top)
    found = rank_catalogue(lambda a, b: scores[:, a:b], targets, groups, top=top, chunk=chunk)
    assert np.array_equal(found.above, whole.above)
    assert np.array_equal(found.tied, whole.tied)
    assert found.cross_entropy == pytest.approx(whole.cross_entropy, rel=1e-12)
    assert found.entropy == pytest.approx(whole.entropy, rel=1e-9, abs=1e-12)
    rows = np.arange(5)[:, None]
    assert np.array_equal(scores[rows, groups.of[found.top]], scores[rows, groups.of[whole.top]])
    assert all(len(set(row)) == len(row) == min(top, len(of)) for row in found.top.tolist())
    assert np.array_equal(groups.first, np.unique(groups.first))
    assert (groups.of[groups.first] == np.arange(len(groups))).all()


def test_candidates_of_a_group_have_the_score_of_the_first() -> None:
    groups = np.array([[3, 0, 3, 0, 1], [2, 2, 2, 2, 2]])
    scores = np.array([[1.0, 2, 3, 4, 5], [6, 7, 8, 9, 10]], np.float32)
    assert level(scores, groups).tolist() == [[1, 2, 1, 2, 5], [6] * 5]


def test_vectors_are_equal_in_all_their_numbers() -> None:
    vectors = np.array([[0.0, 1], [-0.0, 1], [1, 0], [0, 1], [0, np.nextafter(np.float32(1), np.float32(2))]])
    assert group_vectors(vectors.astype(np.float32)).of.tolist() == [0, 0, 1, 0, 2]
    assert group_vectors(vectors.astype(np.float32)).first.tolist() == [0, 2, 4]


def test_large_scores_and_small_ones() -> None:
    scores = np.array([[3e38, 0, -3e38], [1e-30, 0, -1e-30]], np.float32)
    found = ranked((scores, np.array([0, 2]), np.arange(3)))
    assert found.cross_entropy == pytest.approx([0, math.log(3)])
    assert found.entropy == pytest.approx([0, math.log(3)])
    large = evaluate([(ranked((scores, np.array([2, 2]), np.arange(3))), np.ones(2, np.int64))], 3).metrics
    assert large["loss"] == pytest.approx(3e38)
    assert "perplexity" not in large


def test_what_cannot_be_scored() -> None:
    scores, targets, items = batch(np.random.default_rng(4), 3, 5, 1.0)
    for wrong in (np.nan, np.inf, -np.inf):
        with pytest.raises(PlannerError, match="scores that are not finite: use a smaller learning rate"):
            ranked((np.where(scores == scores[1, 1], wrong, scores), targets, items))
    with pytest.raises(PlannerError, match="no events to score: keep some for the validation or the test set"):
        evaluate([(ranked((scores[:0], targets[:0], items)), np.zeros(0, np.int64))], 50)
    with pytest.raises(ValueError, match=r"scores \(3, 5\), targets \(2,\)"):
        ranked((scores, targets[:2], items))
    with pytest.raises(ValueError, match=r"scores \(3, 5\) for 3 queries and the items 0 to 4"):
        rank_catalogue(lambda first, stop: scores, targets, Groups.apart(5), top=2, chunk=4)
    with pytest.raises(ValueError, match="a catalogue without items"):
        rank_catalogue(lambda first, stop: scores, targets, Groups.apart(0), top=2, chunk=4)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="returned different values in a second call"):
        rank_catalogue(lambda a, b: rng.normal(size=(3, b - a)), np.zeros(3, np.int64), Groups.apart(5), top=2, chunk=2)
