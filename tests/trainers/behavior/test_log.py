"""Arrays of a log: invalid values, users of events, and rows of features."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.trainers.behavior.logs.log import UNKNOWN, Features, Items, Log, texts


def catalogue() -> Items:
    """Return three items with texts of two, zero and three words."""
    tokens = np.array([5, 6, 7, 8, 9], np.int32)
    return Items(texts(["a", "b", "c"]), tokens, np.array([0, 2, 2, 5]), 10, Features.none(3))


def test_who_owns_an_event() -> None:
    items = np.array([0, 1, 2, 0], np.int32)
    log = Log(texts(["x", "y", "z"]), np.array([0, 3, 3, 4]), items, np.arange(4.0), Features.none(4), catalogue())
    assert log.lengths.tolist() == [3, 0, 1]
    assert log.owners.tolist() == [0, 0, 0, 2]
    assert len(log) == 4


def test_rows_of_features() -> None:
    whole = Features(np.array([[1], [UNKNOWN], [2]], np.int32), (3,), np.zeros((3, 0), np.float32), ("kind",))
    assert whole.take(np.array([2, 0])).categories.tolist() == [[2], [1]]
    assert len(whole.take(slice(1, 3))) == 2


def test_arrays_that_do_not_belong_together() -> None:
    users = texts(["x"])
    for starts in ([0, 3], [1, 4], [0, 2, 4]):
        with pytest.raises(ValueError, match="not a log"):
            Log(users, np.array(starts), np.zeros(4, np.int32), np.zeros(4), Features.none(4), catalogue())
    with pytest.raises(ValueError, match="not a catalogue"):
        Items(users, np.zeros(0, np.int32), np.zeros(1, np.int64), 1, Features.none(1))
    with pytest.raises(ValueError, match="not features"):
        Features(np.zeros((2, 1), np.int32), (), np.zeros((2, 0), np.float32))
