"""Features of a catalogue in the form that an embedder reads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from isoplan.trainers.behavior.logs.log import Features, Items, texts
from isoplan.trainers.behavior.model.item_features import HASHES, circumstances, fields_of, known_of
from isoplan.trainers.behavior.model.shape import Fields

NONE = np.zeros(0, np.int32)


def catalogue(items: int) -> Items:
    """Return items that have only names."""
    names = texts([f"item {i}" for i in range(items)])
    return Items(names, NONE, np.zeros(items + 1, np.int64), 1, Features.none(items))


def rich() -> Items:
    """Return three items with texts of 2, 0 and 30 words, two categories and two numbers."""
    tokens = np.concatenate([[4, 5], np.arange(1, 31)]).astype(np.int32)
    features = Features(
        np.array([[1, 0], [2, 3], [1, 1]], np.int32), (3, 4), np.array([[1, 7], [2, 7], [6, 7]], np.float32),
        ("kind", "brand"), ("price", "year"),
    )  # fmt: skip
    return Items(texts(["a", "b", "c"]), tokens, np.array([0, 2, 2, 32]), 31, features)


def test_features_are_read_and_ids_only_where_asked_for() -> None:
    items = rich()
    assert fields_of(items) == Fields(31, (3, 4), 2, 0)
    assert fields_of(items, buckets=2).buckets == 2
    known = known_of(items, fields_of(items))
    assert known.lengths.tolist() == [2, 0, 24]
    assert known.words.tolist() == [4, 5, *range(1, 25)]
    assert known.categories.tolist() == [[1, 3], [2, 6], [1, 4]]
    price = np.array([1, 2, 6])
    assert np.allclose(known.numbers[:, 0], (price - price.mean()) / price.std())
    assert (known.numbers[:, 1] == 0).all()
    assert known.ids.shape == (3, 0)


def test_some_items_are_taken_in_the_order_asked_for() -> None:
    known = known_of(rich(), fields_of(rich()))
    some = known.take(np.array([2, 0, 2]))
    assert some.lengths.tolist() == [24, 2, 24]
    assert some.words.tolist() == [*range(1, 25), 4, 5, *range(1, 25)]
    assert some.categories[:, 0].tolist() == [1, 1, 1]


def test_an_item_of_which_nothing_is_known_has_its_own_row() -> None:
    items = catalogue(50)
    assert fields_of(items) == Fields(buckets=50)
    assert known_of(items, fields_of(items)).ids.tolist() == [[i] for i in range(50)]


def test_what_is_the_same_of_all_items_does_not_take_the_place_of_ids() -> None:
    items = catalogue(50)
    same = Features(np.ones((50, 1), np.int32), (2,), np.full((50, 1), 3, np.float32), ("event",), ("quantity",))
    assert fields_of(replace(items, features=same, vocabulary=2)) == Fields(categories=(2,), numbers=1, buckets=50)
    one = replace(same, numbers=np.eye(50, 1, dtype=np.float32))
    assert fields_of(replace(items, features=one)).buckets == 0


def test_events_are_scaled_by_those_that_are_trained_on() -> None:
    paid = np.array([[1.0, -2.0], [10.0, 0.0], [1000.0, 2.0], [0.0, 50.0]], np.float32)
    features = Features(np.array([[1], [2], [0], [1]], np.int32), (3,), paid, ("kind",), ("paid", "change"))
    beside = circumstances(features, np.arange(3))
    kinds, numbers = beside.take(np.array([3, 0, 2]))
    assert kinds.ravel().tolist() == [1, 1, 0]
    logs = np.log([1, 10, 1000])
    # Values below the observed range are set to the smallest observed value.
    expected = (np.log([1, 1, 1000]) - logs.mean()) / logs.std()
    assert np.allclose(numbers[:, 0], expected)
    assert np.allclose(numbers[:, 1], np.array([50, -2, 2]) / np.std([-2, 0, 2]))


def test_ids_are_hashed_where_rows_are_fewer_and_hardly_ever_collide() -> None:
    items = catalogue(2000)
    ids = known_of(items, fields_of(items, buckets=500)).ids
    assert ids.shape == (2000, HASHES)
    assert 0 <= ids.min()
    assert ids.max() < 500
    counts = np.bincount(ids.ravel(), minlength=500)
    assert counts.min() > 0
    # Each item has one of 500 * 500 pairs of rows, so about 16 of 2,000 items have the same pair as another item. With
    # one row per item, almost every item would have the same row as another item.
    assert len(np.unique(ids, axis=0)) > 1960
    again = known_of(catalogue(3000), Fields(buckets=500)).ids
    assert (again[:2000] == ids).all()  # The rows depend on the name of the item, not on the rest of the catalogue.
