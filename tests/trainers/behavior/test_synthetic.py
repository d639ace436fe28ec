"""Synthetic logs are compared with exact probabilities.

The exact probabilities are compared with sums over all sequences of interests.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.stats import kstest, spearmanr

from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.logs.popularity import popularity
from isoplan.trainers.behavior.logs.split import by_share, leave_last_out
from isoplan.trainers.behavior.logs.synthetic import SHORTEST, World
from isoplan.trainers.behavior.model.item_features import Groups
from isoplan.trainers.behavior.scores.metrics import evaluate
from isoplan.trainers.behavior.scores.ranks import rank_catalogue
from tests.trainers.behavior.exact import Made, beliefs, chances, floor, make_exact, popularity_of, text_of

SMALL = World(users=3000, items=400, topics=20, interests=6, drift=0.1, taste=4.0, seed=3)


@cache
def small() -> tuple[Made, np.ndarray]:
    made = make_exact(SMALL)
    return made, beliefs(made)


def test_what_is_believed_is_the_sum_over_all_paths() -> None:
    made = make_exact(replace(SMALL, users=3, interests=3, longest=5, mean_length=4))
    found, truth = beliefs(made), made.truth
    topics = truth.topics[made.log.items]
    for first, stop in zip(made.log.starts, made.log.starts[1:], strict=False):
        for event in range(first, stop):
            weights = np.zeros(3)
            for path in product(range(3), repeat=event - first + 1):
                chance = 1 / 3
                for place, (a, b) in enumerate(pairwise(path)):
                    chance *= truth.emission[a, topics[first + place]] * made.transition[a, b]
                weights[path[-1]] += chance
            assert found[event] == pytest.approx(weights / weights.sum(), rel=1e-9)


def test_chances_are_chances_of_the_items() -> None:
    made, believed = small()
    some = np.arange(0, len(made.log), 97)
    p = chances(made.truth, believed[some])
    assert p.sum(axis=1) == pytest.approx(np.ones(len(some)))
    assert np.array_equal(p[:, 30:50], chances(made.truth, believed[some], 30, 50))
    assert floor(made, believed, some) == pytest.approx(-np.log(p[np.arange(len(some)), made.log.items[some]]))


def test_the_events_happen_as_often_as_the_chances_say() -> None:
    made, believed = small()
    some = np.arange(0, len(made.log), 7)
    p = chances(made.truth, believed[some])
    entropy = -np.sum(p * np.log(p), axis=1)
    variance = np.sum(p * np.log(p) ** 2, axis=1) - entropy**2
    surprise = floor(made, believed, some)
    assert abs(np.sum(surprise - entropy)) < 4 * np.sqrt(variance.sum())
    place = (np.cumsum(p, axis=1) - np.random.default_rng(0).random((len(some), 1)) * p)[
        np.arange(len(some)), made.log.items[some]
    ]
    assert kstest(place, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("zipf", [0.0, 0.8, 1.2])
def test_items_are_as_popular_as_asked(zipf: float) -> None:
    made = make_exact(World(users=20_000, items=500, zipf=zipf, seed=1))
    falling = np.sort(popularity_of(made.truth))[::-1]
    assert falling == pytest.approx(np.arange(1, 501.0) ** -zipf / np.sum(np.arange(1, 501.0) ** -zipf), rel=1e-6)
    counts = popularity(made.log)
    assert counts.zipf == pytest.approx(zipf, abs=0.05)
    assert spearmanr(counts.counts, popularity_of(made.truth)).statistic > 0.95 or zipf == 0


def test_knowing_more_predicts_better() -> None:
    """Each of these predictors has a smaller loss than the previous one.

    The predictors are: uniform, popularity, last category, full history, and true interest.
    """
    made, believed = small()
    log, truth = made.log, made.truth
    part = leave_last_out(log)
    scored = part.validation
    known = np.eye(SMALL.interests)[made.interests]
    losses = [
        np.log(SMALL.items),
        float(-np.log(popularity_of(truth)[log.items[scored]]).mean()),
        _by_last_category(made, scored),
        float(floor(made, believed, scored).mean()),
        float(floor(made, known, scored).mean()),
    ]
    assert losses == sorted(losses, reverse=True)
    assert min(-np.diff(losses)) > 0.02
    assert losses[1] - losses[3] > 0.3


def _by_last_category(made: Made, scored: np.ndarray) -> float:
    """Return the loss of a model that uses only the category of the last event.

    The model predicts a category, and then an item of this category by popularity.
    """
    log = made.log
    category = log.catalogue.features.categories[:, 0]
    part = leave_last_out(log)
    trained = np.concatenate([np.arange(a + 1, b) for a, b in zip(part.first, part.train, strict=True)])
    pairs = np.ones((SMALL.categories + 1, SMALL.categories + 1))
    np.add.at(pairs, (category[log.items[trained - 1]], category[log.items[trained]]), 1)
    pairs = pairs[:, 1:] / pairs[:, 1:].sum(axis=1, keepdims=True)
    counts = popularity(log, part).counts + 0.1
    within = counts / np.bincount(category, counts)[category]
    now, then = log.items[scored], log.items[scored - 1]
    return float(-np.log(pairs[category[then], category[now] - 1] * within[now]).mean())


def test_the_oracle_ranks_best() -> None:
    made, believed = small()
    scored = leave_last_out(made.log).validation
    targets = made.log.items[scored].astype(np.int64)
    history = scored - made.log.starts[:-1]

    def metrics(p: np.ndarray) -> dict[str, float]:
        found = rank_catalogue(lambda a, b: np.log(p[:, a:b]), targets, Groups.apart(SMALL.items), top=10, chunk=150)
        return dict(evaluate([(found, history)], SMALL.items, (10,)).metrics)

    best = metrics(chances(made.truth, believed[scored]))
    plain = metrics(np.tile(popularity_of(made.truth), (len(scored), 1)))
    assert best["loss"] == pytest.approx(floor(made, believed, scored).mean(), rel=1e-9)
    for name in ("recall@10", "NDCG@10", "MRR@10", "coverage@10"):
        assert best[name] > 1.1 * plain[name]


def test_features_tell_the_topic() -> None:
    made, _ = small()
    items, topics = made.log.catalogue, made.truth.topics
    told = items.features.categories[:, 0] - 1 == topics % SMALL.categories
    assert 0.75 < told.mean() < 0.9
    words = text_of(items, 20)
    assert words.max() < items.vocabulary
    shared = [[len(set(a[a > 0]) & set(b[b > 0])) for b in words[:60]] for a in words[:60]]
    same = topics[:60, None] == topics[None, :60]
    np.fill_diagonal(same, False)
    assert np.mean(np.array(shared)[same]) > 3 * np.mean(np.array(shared)[topics[:60, None] != topics[None, :60]])
    logs = np.log(items.features.numbers[:, 0])
    assert np.mean([logs[topics == z].std() for z in range(20)]) < 0.5 * logs.std()


def test_interests_drift_around_the_ring() -> None:
    made, _ = small()
    steps = np.diff(made.interests)[np.diff(made.log.owners) == 0] % SMALL.interests
    assert set(steps.tolist()) == {0, 1, SMALL.interests - 1}
    assert np.mean(steps != 0) == pytest.approx(SMALL.drift, abs=0.01)
    still = make_exact(replace(SMALL, drift=0.0))
    assert np.all(np.diff(still.interests)[np.diff(still.log.owners) == 0] == 0)


def test_a_seed_gives_the_same_log_and_more_users_the_same_first_ones() -> None:
    world = replace(SMALL, users=50)
    a, b, more, other = (make_exact(w) for w in (world, world, replace(world, users=80), replace(world, seed=4)))
    assert np.array_equal(a.log.items, b.log.items)
    assert np.array_equal(a.log.times, b.log.times)
    n = len(a.log)
    assert np.array_equal(more.log.items[:n], a.log.items)
    assert more.log.times[:n] == pytest.approx(a.log.times)
    assert np.array_equal(more.log.catalogue.tokens, a.log.catalogue.tokens)
    assert len(other.log) != n or not np.array_equal(other.log.items, a.log.items)
    assert np.all(np.diff(a.log.times)[np.diff(a.log.owners) == 0] >= 0)
    assert a.log.lengths.min() >= SHORTEST
    assert by_share(a.log).train.sum() > 0


def test_lengths_have_the_mean_that_was_asked_for() -> None:
    lengths = make_exact(World(users=20_000, longest=10_000)).log.lengths
    assert lengths.mean() == pytest.approx(20, rel=0.03)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("items", 30, "items of a synthetic log is 30: give 40 or more."),
        ("zipf", -0.1, "zipf of a synthetic log is -0.1: give 0 or more."),
        ("taste", float("nan"), "taste of a synthetic log is nan: give 0 or more."),
        ("taste", 11.0, "taste of a synthetic log is 11: give 10 or less."),
        ("drift", 1.5, "drift of a synthetic log is 1.5: give a probability from 0 to 1."),
    ],
)
def test_worlds_that_cannot_be(field: str, value: float, said: str) -> None:
    with pytest.raises(PlannerError) as caught:
        World(**{field: value})  # type: ignore[arg-type]
    assert str(caught.value) == said
