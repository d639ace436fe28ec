"""Splits and windows compared with loops over the users, for random logs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.logs.log import Features, Items, Log, texts
from isoplan.trainers.behavior.logs.popularity import Popularity, draw_unseen, popularity
from isoplan.trainers.behavior.logs.read import read_log
from isoplan.trainers.behavior.logs.split import (
    Part,
    Split,
    Windows,
    by_share,
    by_time,
    leave_last_out,
    leave_one_out,
    pack,
    scored_windows,
    training_windows,
)


def make(lengths: list[int], times: list[float] | None = None, items: list[int] | None = None, size: int = 9) -> Log:
    """Return a log in which user u has ``lengths[u]`` events."""
    count = sum(lengths)
    catalogue = Items(
        texts([f"i{i}" for i in range(size)]),
        np.zeros(0, np.int32),
        np.zeros(size + 1, np.int64),
        1,
        Features.none(size),
    )
    return Log(
        texts([f"u{u}" for u in range(len(lengths))]),
        np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
        np.array(items if items is not None else np.arange(count) % size, np.int32),
        np.array(times if times is not None else np.arange(count), np.float64),
        Features.none(count),
        catalogue,
        times is not None,
    )


LENGTHS = st.lists(st.integers(1, 12), min_size=1, max_size=8)


@given(LENGTHS)
def test_the_last_event_is_tested_and_the_one_before_it_validated(lengths: list[int]) -> None:
    log = make(lengths)
    if max(lengths) < 3:
        with pytest.raises(
            PlannerError, match="No user has 3 or more events, so the validation set is empty: split by"
        ):
            leave_last_out(log)
        return
    split = leave_last_out(log)
    for u, n in enumerate(lengths):
        cuts = [int(cut[u] - log.starts[u]) for cut in (split.first, split.train, split.validation, split.test)]
        assert cuts == ([0, n - 2, n - 1, n] if n >= 3 else [0, n, n, n])
    one = leave_one_out(log)
    assert np.array_equal(one.train, split.validation)
    assert _scored(scored_windows(one, "test", 5)) == _scored(scored_windows(split, "test", 5))
    assert not len(scored_windows(one, "validation", 5))


@given(LENGTHS, st.lists(st.integers(0, 20), min_size=96, max_size=96), st.integers(-1, 22), st.integers(0, 9))
def test_a_moment_cuts_every_user(lengths: list[int], times: list[int], at: int, more: int) -> None:
    stops = np.cumsum(lengths)
    sorted_ = [float(t) for n, stop in zip(lengths, stops, strict=True) for t in sorted(times[stop - n : stop])]
    log = make(lengths, sorted_)
    sets = {"training": 0, "validation": 0, "test": 0}
    for n, stop in zip(lengths, stops, strict=True):
        for e in range(stop - n + 1, stop):
            t = sorted_[e]
            sets["training" if t < at else "validation" if t < at + more else "test"] += 1
    if not all(sets.values()):
        empty = next(name for name, count in sets.items() if not count)
        with pytest.raises(PlannerError, match=f"the {empty} set has no event to predict, because"):
            by_time(log, at, at + more)
        return
    split = by_time(log, at, at + more)
    part = np.zeros(len(log), int)
    for u in range(len(lengths)):
        part[split.train[u] : split.validation[u]] = 1
        part[split.validation[u] : split.test[u]] = 2
    assert np.array_equal(part, (log.times >= at).astype(int) + (log.times >= at + more))
    assert len(_scored(training_windows(split, 5))) == sets["training"]
    for name in ("validation", "test"):
        assert len(_scored(scored_windows(split, name, 5))) == sets[name]


def _scored(windows: Windows) -> list[int]:
    packed = pack(windows, np.arange(len(windows)))
    return [int(e) for e in packed.targets[packed.scored]]


@given(LENGTHS, st.integers(1, 6))
def test_every_event_is_predicted_once_with_its_history(lengths: list[int], length: int) -> None:
    log = make([*lengths, 3])
    split = leave_last_out(log)
    first = log.starts[log.owners]
    sets: list[tuple[Windows, np.ndarray, np.ndarray]] = [
        (training_windows(split, length), split.first, split.train),
        (scored_windows(split, "validation", length), split.train, split.validation),
        (scored_windows(split, "test", length), split.validation, split.test),
    ]
    for windows, begin, end in sets:
        wanted = [
            e for u, (a, b) in enumerate(zip(begin, end, strict=True)) for e in range(max(a, log.starts[u] + 1), b)
        ]
        assert _scored(windows) == wanted
        for a, s, b in zip(windows.first, windows.scored, windows.stop, strict=True):
            assert first[a] == first[b - 1], "a window is of one user"
            assert a < s < b <= a + length + 1
    packed = pack(sets[2][0], np.arange(len(sets[2][0])))
    assert np.array_equal(
        packed.history[packed.scored], np.minimum(packed.targets - first[packed.targets], length)[packed.scored]
    )


@given(st.integers(2, 60), st.integers(1, 9), st.integers(1, 59))
def test_what_is_scored_has_half_of_its_history_at_least(events: int, length: int, cut: int) -> None:
    cut = min(cut, events - 1)
    whole = np.array([0]), np.array([cut]), np.array([events]), np.array([events])
    packed = pack(windows := scored_windows(Split(*whole), "validation", length), np.arange(len(windows)))
    assert packed.targets[packed.scored].tolist() == list(range(cut, events))
    least = np.minimum(packed.targets, (length + 1) // 2)
    assert np.all(packed.history[packed.scored] >= least[packed.scored])


def test_packed_windows_follow_each_other() -> None:
    windows = training_windows(leave_last_out(make([6, 1, 8])), 3)
    assert list(zip(windows.first.tolist(), windows.scored.tolist(), windows.stop.tolist(), strict=True)) == [
        (0, 1, 4), (7, 8, 10), (9, 10, 13),
    ]  # fmt: skip
    packed = pack(windows, np.array([2, 1]))
    assert packed.inputs.tolist() == [9, 10, 11, 7, 8]
    assert packed.targets.tolist() == [10, 11, 12, 8, 9]
    assert packed.starts.tolist() == [0, 3, 5]
    assert packed.history.tolist() == [1, 2, 3, 1, 2]
    assert packed.scored.all()
    with pytest.raises(ValueError, match="windows of 0 events"):
        training_windows(leave_last_out(make([6])), 0)


def test_shares_of_the_events() -> None:
    log = make([50, 50], 2 * [float(t) for t in range(50)])
    split = by_share(log)
    assert (split.train - split.first).tolist() == [40, 40]
    assert (split.test - split.validation).tolist() == [5, 5]


def test_splits_that_are_none() -> None:
    log = make([4, 4], [1.0, 2, 3, 4, 1, 2, 3, 4])
    with pytest.raises(PlannerError, match="The log has no column of time: hold out the last events of each user"):
        by_time(make([4, 4]), 2, 3)
    with pytest.raises(PlannerError, match="The test set begins at 2, before the validation set at 3: swap them"):
        by_time(log, 3, 2)
    said = (
        "The log has times from 1 to 4. If it is cut at 5, the test set has no event to predict, because it is empty "
        "or contains only first events of users: cut the log"
    )
    with pytest.raises(PlannerError, match=said + " earlier"):
        by_time(log, 3, 5)
    with pytest.raises(PlannerError, match=r"cut at 1, the training set has no event .*: cut the log later"):
        by_time(log, 1, 3)


def test_popularity_is_that_of_what_is_trained_on() -> None:
    log = make([4, 2, 5], items=[0, 1, 1, 2, 3, 3, 1, 1, 4, 5, 6])
    assert popularity(log).counts.tolist() == [1, 4, 1, 2, 1, 1, 1, 0, 0]
    found = popularity(log, leave_last_out(log))
    assert found.counts.tolist() == [1, 3, 0, 2, 1, 0, 0, 0, 0]
    assert (found.events, found.seen) == (7, 4)
    assert found.falling.tolist() == [3, 2, 1, 1]
    assert found.head() == 3 / 7
    assert found.gini == pytest.approx(sum(abs(a - b) for a in (3, 2, 1, 1) for b in (3, 2, 1, 1)) / (2 * 16 * 7 / 4))


@pytest.mark.parametrize("exponent", [0.0, 0.7, 1.0, 1.4])
def test_the_zipf_exponent_is_found_again(exponent: float) -> None:
    weights = np.arange(1, 2001.0) ** -exponent
    counts = np.random.default_rng(0).multinomial(2_000_000, weights / weights.sum())
    # With equal weights, the ranks depend only on noise. The noise of each count, 1 / sqrt(1000), slightly changes the
    # exponent.
    assert Popularity(counts).zipf == pytest.approx(exponent, abs=0.03)


@settings(max_examples=30)
@given(LENGTHS, st.integers(0, 100))
def test_candidates_are_unseen(lengths: list[int], seed: int) -> None:
    log = make(lengths, size=13)
    users = np.repeat(np.arange(len(lengths)), 2)
    drawn = draw_unseen(log, users, 13, seed=seed)
    assert np.array_equal(drawn, draw_unseen(log, users, 13, seed=seed))
    for user, row in zip(users, drawn, strict=True):
        assert not set(row.tolist()) & set(log.items[log.starts[user] : log.starts[user + 1]].tolist())


def test_candidates_are_uniform_and_some_cannot_be_drawn() -> None:
    log = make([3, 1], items=[0, 4, 4, 0])
    drawn = draw_unseen(log, np.zeros(20_000, np.int64), 2, seed=1)
    counts = np.bincount(drawn.ravel(), minlength=9)
    assert counts[[0, 4]].tolist() == [0, 0]
    assert counts[counts > 0] == pytest.approx(np.full(7, 40_000 / 7), rel=0.05)
    with pytest.raises(PlannerError, match="10 candidates cannot be drawn from a catalogue of 9 items: request fewer"):
        draw_unseen(log, np.zeros(1, np.int64), 10, seed=1)
    with pytest.raises(PlannerError, match="User 'u0' has events with every item, so no unseen item can be drawn"):
        draw_unseen(make([9]), np.zeros(1, np.int64), 2, seed=1)


def test_the_parts_of_the_games_log(shared: Path) -> None:
    log = read_log(shared / "runs" / "amazon_video_games_events.txt")
    split = leave_last_out(log)
    part: Part = "test"
    windows = scored_windows(split, part, 50)
    assert len(windows) == np.sum(log.lengths >= 3)
    assert np.array_equal(windows.stop, log.starts[1:][log.lengths >= 3])
    assert (windows.stop - windows.first).max() == 51
    found = popularity(log, split)
    assert found.events == len(log) - 2 * len(windows)
    users = log.owners[windows.stop[::100] - 1]
    for user, row in zip(users, draw_unseen(log, users, 100, seed=0), strict=True):
        assert not np.isin(row, log.items[log.starts[user] : log.starts[user + 1]]).any()
