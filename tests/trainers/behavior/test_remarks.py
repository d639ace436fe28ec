"""Notes on a log: items that no model can distinguish, and items without training events."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.cell import BehaviorCell
from isoplan.trainers.behavior.logs import popularity
from isoplan.trainers.behavior.model.item_features import Known
from isoplan.trainers.behavior.training.cell_data import Data, open_data


def opened(root: Path, rows: list[str], name: str = "events.csv", items: str = "", **fields: object) -> Data:
    """Return the data of a training run on a log with the given rows."""
    folder = root / "behavior" / "shop"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\n".join(rows) + "\n")
    if items:
        (folder / "items.csv").write_text(items)
    return open_data(root, BehaviorCell.model_validate({"data": "shop", "batch": 1, "h": 8, **fields}))


def known(texts: list[list[int]], categories: list[list[int]], numbers: list[list[float]]) -> Known:
    """Return items without ids."""
    words = np.array([word for text in texts for word in text], np.int32)
    found = np.array(numbers, np.float32)
    lengths = np.array([len(text) for text in texts], np.int64)
    return Known(words, lengths, np.array(categories, np.int64), found, np.zeros((len(texts), 0), np.int64))


def test_a_column_that_few_values_tell_apart_is_a_note(tmp_path: Path) -> None:
    pairs = [(user, (7 * user + k) % 50) for user in range(40) for k in range(8)]
    rows = ["user,item,shop", *(f"{user},{item},s{item % 5}" for user, item in pairs)]
    said = (
        "50 of 50 items have the same features as another item (5 distinct sets of features): use buckets = 50 to read "
        "their ids too."
    )
    assert opened(tmp_path, rows).notes[-1] == said
    wide = opened(tmp_path, rows, buckets=50)
    assert wide.known.ids.shape == (50, 1)
    assert said not in wide.notes
    few = "item,shop,price\n" + "".join(f"{item},s{item % 5},{max(item, 6)}\n" for item in range(50))
    bare = [row.rsplit(",", 1)[0] for row in rows]
    assert opened(tmp_path, bare, items=few).notes[-1] == (
        "4 of 50 items have the same features as another item (48 distinct sets of features): use buckets = 50 to read "
        "their ids too."
    )


def test_words_their_order_categories_and_numbers_tell_items_apart() -> None:
    texts = [[1, 2], [2, 1], [1, 2], [], [0, 0], [0], [1, 2]]
    same = known(texts, [[0]] * 7, [[0.0]] * 7)
    assert popularity.describe_equal_items(same) == [
        "3 of 7 items have the same features as another item (5 distinct sets of features): use buckets = 7 to read "
        "their ids too."
    ]
    assert popularity.describe_equal_items(known(texts, [[0], [0], [1], [0], [0], [0], [2]], [[0.0]] * 7)) == []
    assert popularity.describe_equal_items(known(texts, [[0]] * 7, [[1.0], [1], [2], [1], [1], [1], [3]])) == []
    assert len(popularity.describe_equal_items(known([[], []], [[0], [0]], [[0.0], [-0.0]]))) == 1
    assert popularity.describe_equal_items(known([[], []], [[0, 1], [1, 0]], [[2, 3], [3, 2]])) == []


ROW = st.tuples(st.lists(st.integers(1, 2), max_size=2), st.integers(0, 1), st.integers(0, 1))


@settings(max_examples=50)
@given(st.lists(ROW, min_size=1, max_size=12))
def test_alike_is_what_python_finds_equal(rows: list[tuple[list[int], int, int]]) -> None:
    found = known([text for text, _, _ in rows], [[c] for _, c, _ in rows], [[n] for _, _, n in rows])
    assert len(found.groups) == len({(tuple(text), c, n) for text, c, n in rows})


def test_items_that_are_held_out_alone_are_a_note(tmp_path: Path) -> None:
    """Users see the items 0, 1 and 2, with three exceptions.

    The item of the second-to-last event is 8 for two users, and 9 for one user.
    """
    rows = [f"{user} {item}" for user in range(8) for item in (0, 1, 2, {0: 8, 1: 8, 2: 9}.get(user, 1), 2)]
    assert opened(tmp_path, rows, "events.txt").notes[-1] == (
        "3 of 8 scored events have an item without a training event (2 of 5 items). Only the ids of items are known, "
        "so these items are scored with untrained embeddings."
    )
    tested = opened(tmp_path, rows, "events.txt", judge="test").notes
    assert not any("untrained embeddings" in note for note in tested)
    both = "item,price\n" + "".join(f"{item},{item}\n" for item in (0, 1, 2, 8, 9))
    assert not any("untrained embeddings" in note for note in opened(tmp_path, rows, "events.txt", both).notes)


def test_an_item_that_only_lonely_users_have_is_not_trained_on(tmp_path: Path) -> None:
    rows = ["9 5", *(f"{user} {item}" for user in range(4) for item in (0, 1, 2, 5, 0))]
    said = "4 of 4 scored events have an item without a training event (1 of 4 items). Only the ids of items are known"
    assert opened(tmp_path, rows, "events.txt").notes[-1].startswith(said)


def test_three_events_of_every_user_are_too_few(tmp_path: Path) -> None:
    rows = [f"{user} {item}" for user in range(30) for item in range(3)]
    with pytest.raises(PlannerError) as caught:
        opened(tmp_path, rows, "events.txt")
    assert str(caught.value) == (
        "shop has no training events: the split last leaves fewer than two events of each user for training. Add users "
        "with more events, or use another split."
    )
    assert len(opened(tmp_path, rows, "events.txt", split="last-one", judge="test").train) == 30
    assert len(opened(tmp_path, [*rows, "30 0", "30 1"], "events.txt").train) == 1
