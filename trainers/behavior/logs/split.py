"""Splits of a log into training and scored events, with the history of each scored event.

The events of a user are ordered in time, so two cuts per user define a split: training events first, then those of the
validation set, then those of the test set. The history of a scored event is all earlier events of its user, from any
set, up to the length of the sequence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from isoplan.engine.arrays import Bools, Ints
from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.logs.log import Codes, Log

Part = Literal["validation", "test"]

SHARE = 0.1
"""Share of all events in the validation set and in the test set, if they are split by time."""
FEWEST = 3
"""Minimum number of events of a user for which the last two are scored, if the last events are left out."""


@dataclass(frozen=True, eq=False)
class Split:
    """Cuts of each user, (users,) each, as indices of events of the log, in nondecreasing order.

    User u trains on the events from ``first[u]`` up to ``train[u]``. The events up to ``validation[u]`` are the
    validation set, those up to ``test[u]`` the test set. Each set may be empty.
    """

    first: Ints
    train: Ints
    validation: Ints
    test: Ints


@dataclass(frozen=True, eq=False)
class Windows:
    """Sequences of consecutive events of one user, (windows,) each.

    Window w has the events from ``first[w]`` up to ``stop[w]``. The model reads all but the last and predicts all but
    the first. Only events from ``scored[w]`` on count, with ``first[w] < scored[w] < stop[w]``: all of them in
    training, and each event of the set in exactly one window in evaluation. ``length`` is L_seq: a window has at most
    one event more.
    """

    first: Ints
    scored: Ints
    stop: Ints
    length: int

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, eq=False)
class Packed:
    """Some windows concatenated in one row without padding.

    ``inputs`` (positions,) and ``targets`` (positions,) are events of the log: position p reads the event ``inputs[p]``
    and predicts ``targets[p]``. ``starts`` (windows + 1,) are the offsets of the windows, from 0; the last one is the
    number of positions. ``scored`` (positions,) marks the positions that count, and ``history`` (positions,) is the
    number of events that the model has read there, from 1.
    """

    inputs: Ints
    targets: Ints
    starts: Ints
    scored: Bools
    history: Codes


def leave_last_out(log: Log) -> Split:
    """Use the last event of each user as the test set and the one before it as the validation set.

    All events of users with fewer than three events are for training. Raises PlannerError if no user has three.
    """
    first, stop = log.starts[:-1], log.starts[1:]
    many = (stop - first >= FEWEST).astype(np.int64)
    if not many.any():
        raise PlannerError(
            f"No user has {FEWEST} events, so that the validation set is empty: split by time, or give a longer log."
        )
    return Split(first, stop - 2 * many, stop - many, stop)


def leave_one_out(log: Log) -> Split:
    """Use the test set of ``leave_last_out`` and train on all earlier events, for a model that is already selected."""
    both = leave_last_out(log)
    return Split(both.first, both.validation, both.validation, both.test)


def by_time(log: Log, validation: float, test: float) -> Split:
    """Train on the events before the time ``validation``, and test on those from the time ``test`` on.

    Times are in the unit of ``log.times``. The first event of a user belongs to a set but is not scored. Raises
    PlannerError if a set is empty, or if the log has no times.
    """
    if not log.timed:
        raise PlannerError("The log has no column of time: leave the last events of each user out instead.")
    if not validation <= test:
        raise PlannerError(f"The test set begins at {test:g}, before the validation set at {validation:g}: swap them.")
    cuts = [_before(log, moment) for moment in (validation, test)]
    split = Split(log.starts[:-1], cuts[0], cuts[1], log.starts[1:])
    low, high = float(log.times.min()), float(log.times.max())
    for name, found, moment, other in (
        ("training", split.train - split.first > 1, validation, "later"),
        ("validation", split.validation > np.maximum(split.train, split.first + 1), validation, "earlier"),
        ("test", split.test > np.maximum(split.validation, split.first + 1), test, "earlier"),
    ):
        if not found.any():
            raise PlannerError(
                f"The {name} set has no event with one of the same user before it when the log, from {low:.10g} to "
                f"{high:.10g}, is cut at {moment:.10g}: cut it {other}, or leave the last events of each user out."
            )
    return split


def by_share(log: Log) -> Split:
    """Split all events by time: the last ``SHARE`` of them for the test set, and as many before for validation.

    Simultaneous events stay together. Raises as ``by_time``.
    """
    ends = np.quantile(log.times, [1 - SHARE - SHARE, 1 - SHARE], method="higher")
    return by_time(log, float(ends[0]), float(ends[1]))


def training_windows(split: Split, length: int) -> Windows:
    """Return windows in which each training event is predicted once, except the first of each user.

    They are cut from the end of a user's events, so that the last ones have ``length`` events to read if the user has
    enough.
    """
    return _windows(split.first, split.first, split.train, length, length)


def scored_windows(split: Split, part: Part, length: int) -> Windows:
    """Return windows in which each event of a set is scored once, except the first of each user.

    If a user needs several windows, the scored events have at least half of ``length`` events before them, or all
    available ones.
    """
    begin, end = (split.train, split.validation) if part == "validation" else (split.validation, split.test)
    return _windows(split.first, begin, end, length, (length + 1) // 2)


def pack(windows: Windows, chosen: Ints) -> Packed:
    """Concatenate the ``chosen`` windows, (B,), in one row."""
    first = windows.first[chosen]
    lengths = windows.stop[chosen] - first - 1
    starts = np.concatenate([[0], np.cumsum(lengths)])
    within = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    inputs = np.repeat(first, lengths) + within
    scored = inputs + 1 >= np.repeat(windows.scored[chosen], lengths)
    return Packed(inputs, inputs + 1, starts, scored, (within + 1).astype(np.int32))


def _before(log: Log, moment: float) -> Ints:
    """Return the first event of each user at or after the time ``moment``, (users,)."""
    counts = np.concatenate([[0], np.cumsum(log.times < moment)])
    return log.starts[:-1] + counts[log.starts[1:]] - counts[log.starts[:-1]]


def _windows(first: Ints, begin: Ints, end: Ints, length: int, step: int) -> Windows:
    """Return windows that score each user's events from ``begin`` up to ``end``.

    Each window scores ``step`` events, except the first one of a user.
    """
    if length < 1:
        raise ValueError(f"windows of {length} events")
    begin = np.maximum(begin, first + 1)
    counts = np.maximum(-(-(end - begin) // step), 0)
    users = np.repeat(np.arange(len(first)), counts)
    left = np.cumsum(counts)[users] - np.arange(len(users)) - 1  # number of later windows of the user
    stop = end[users] - left * step
    scored = np.maximum(begin[users], stop - step)
    return Windows(np.maximum(first[users], stop - 1 - length), scored, stop, length)
