"""Splits of a log into training and scored events, and windows of events for a model.

The events of a user are ordered in time, and a split cuts them twice. The training events come first, then the
validation set, then the test set. To score an event, a model reads the history of the event: the earlier events of its
user from all sets, limited by the maximum length of a sequence.
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
"""Fraction of all events in the test set of a split by time. The validation set has the same fraction."""
FEWEST = 3
"""Minimum number of events of a user who has events in the validation and test sets of ``leave_last_out``."""


@dataclass(frozen=True, eq=False)
class Split:
    """The cuts of each user, as indices of events of the log. All arrays are (users,).

    For user u, the training events go from ``first[u]`` to ``train[u]``, the validation set from ``train[u]`` to
    ``validation[u]``, and the test set from ``validation[u]`` to ``test[u]``. The end of each interval is excluded.
    Each set can be empty.
    """

    first: Ints
    train: Ints
    validation: Ints
    test: Ints


@dataclass(frozen=True, eq=False)
class Windows:
    """Sequences of consecutive events, each of one user. All arrays are (windows,).

    Window w contains the events from ``first[w]`` to ``stop[w]``, with ``stop[w]`` excluded. The model reads each event
    except the last, and predicts each event except the first. The loss and the metrics include only the events from
    ``scored[w]`` to ``stop[w]`` (excluded), with ``first[w] < scored[w] < stop[w]``. In training, these are all
    predicted events. In evaluation, each event of the scored set is included in exactly one window.

    ``length`` is the maximum number of events that the model reads (L_seq). A window thus has at most ``length`` + 1
    events.
    """

    first: Ints
    scored: Ints
    stop: Ints
    length: int

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, eq=False)
class Packed:
    """Several windows, concatenated in one row without padding.

    Position p reads the event ``inputs[p]`` and predicts the event ``targets[p]``. ``inputs`` and ``targets``
    (positions,) are indices of events of the log. ``starts`` (windows + 1,) contains the offset of each window: the
    first is 0, the last is the number of positions. ``scored`` (positions,) is True for positions with scored events.
    ``history`` (positions,) is the number of events that the model has read in the window up to and including each
    position.
    """

    inputs: Ints
    targets: Ints
    starts: Ints
    scored: Bools
    history: Codes


def leave_last_out(log: Log) -> Split:
    """Return the split with the last event of each user in the test set, and the second to last in the validation set.

    Users with fewer than three events have only training events. Raises PlannerError if no user has three events.
    """
    first, stop = log.starts[:-1], log.starts[1:]
    many = (stop - first >= FEWEST).astype(np.int64)
    if not many.any():
        raise PlannerError(
            f"No user has {FEWEST} or more events, so the validation set is empty: split by time, or give a longer log."
        )
    return Split(first, stop - 2 * many, stop - many, stop)


def leave_one_out(log: Log) -> Split:
    """Return the split with the last event of each user in the test set, and all earlier events for training.

    There is no validation set, so this split is intended for a model that is already selected.
    """
    both = leave_last_out(log)
    return Split(both.first, both.validation, both.validation, both.test)


def by_time(log: Log, validation: float, test: float) -> Split:
    """Return the split of a log at the times ``validation`` and ``test``, in the unit of ``log.times``.

    Training events are before ``validation``. Test events are at ``test`` or later. All events between these two sets
    are the validation set. The first event of a user belongs to a set but is not scored. Raises PlannerError if a set
    has no event to predict, or if the log has no times.
    """
    if not log.timed:
        raise PlannerError("The log has no column of time: hold out the last events of each user instead.")
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
                f"The log has times from {low:.10g} to {high:.10g}. If it is cut at {moment:.10g}, the {name} "
                "set has no event to predict, because it is empty or contains only first events of users: cut the log "
                f"{other}, or hold out the last events of each user."
            )
    return split


def by_share(log: Log) -> Split:
    """Return a split by time. The test set is the last fraction ``SHARE`` of all events.

    The validation set has about the same number of events, which are the last events before the test set. Events with
    equal times are in one set. Raises PlannerError in the cases of ``by_time``.
    """
    ends = np.quantile(log.times, [1 - SHARE - SHARE, 1 - SHARE], method="higher")
    return by_time(log, float(ends[0]), float(ends[1]))


def training_windows(split: Split, length: int) -> Windows:
    """Return windows that predict each training event once, except the first event of each user.

    The events of a user are divided into windows from the last event backwards. The model therefore reads ``length``
    events in each window, except that the first window of a user can have fewer.
    """
    return _windows(split.first, split.first, split.train, length, length)


def scored_windows(split: Split, part: Part, length: int) -> Windows:
    """Return windows that score each event of a set once, except the first event of each user.

    ``part`` is the name of the scored set. A window contains at least ``length / 2`` events before each scored
    event, or all earlier events of the user if there are fewer.
    """
    begin, end = (split.train, split.validation) if part == "validation" else (split.validation, split.test)
    return _windows(split.first, begin, end, length, (length + 1) // 2)


def pack(windows: Windows, chosen: Ints) -> Packed:
    """Return the windows with the indices ``chosen`` (B,), concatenated in one row."""
    first = windows.first[chosen]
    lengths = windows.stop[chosen] - first - 1
    starts = np.concatenate([[0], np.cumsum(lengths)])
    within = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    inputs = np.repeat(first, lengths) + within
    scored = inputs + 1 >= np.repeat(windows.scored[chosen], lengths)
    return Packed(inputs, inputs + 1, starts, scored, (within + 1).astype(np.int32))


def _before(log: Log, moment: float) -> Ints:
    """Return the index of the first event of each user that is not earlier than the time ``moment``, (users,)."""
    counts = np.concatenate([[0], np.cumsum(log.times < moment)])
    return log.starts[:-1] + counts[log.starts[1:]] - counts[log.starts[:-1]]


def _windows(first: Ints, begin: Ints, end: Ints, length: int, step: int) -> Windows:
    """Return windows that score the events of each user from ``begin`` to ``end``.

    From the last event of a user backwards, each window scores ``step`` events. The first window of the user scores the
    remaining events.
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
