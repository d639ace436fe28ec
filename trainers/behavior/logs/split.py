"""Which events of a log are trained on, and which are scored with what history before them.

The events of a user lie in time, so two cuts a user say everything: first come those that are trained on, then those
of the validation set, then those of the test set. The history of a scored event is all that its user did before it,
whatever set that is in, as far as the sequence reaches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Bools, Ints
from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.logs.log import Log

Codes = NDArray[np.int32]
Part = Literal["validation", "test"]

FEWEST = 3
"""Events of a user from which on the last two are scored where the last ones are left out."""


@dataclass(frozen=True, eq=False)
class Split:
    """Cuts of each user, (users,) each, as events of the log, none before the one named above it.

    User u trains on the events from ``first[u]`` up to ``train[u]``; those up to ``validation[u]`` are the validation
    set, those up to ``test[u]`` the test set. Each may be empty.
    """

    first: Ints
    train: Ints
    validation: Ints
    test: Ints


@dataclass(frozen=True, eq=False)
class Windows:
    """Sequences of events that follow each other, each of one user, (windows,) each.

    Window w holds the events from ``first[w]`` up to ``stop[w]``: all but the last are what the model reads, all but
    the first what it predicts. Those from ``scored[w]`` on count, ``first[w] < scored[w] < stop[w]``: all of them where
    one trains, and where one evaluates each event of the set in exactly one window. ``length`` is L_seq: a window has
    at most one event more.
    """

    first: Ints
    scored: Ints
    stop: Ints
    length: int

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, eq=False)
class Packed:
    """Some windows in one row, one after the other, without padding.

    ``inputs`` (positions,) and ``targets`` (positions,) are events of the log: position p reads the event
    ``inputs[p]`` and predicts ``targets[p]``. ``starts`` (windows + 1,) says where the positions of each window begin,
    from 0, and last how many there are. ``scored`` (positions,) says which count, and ``history`` (positions,) how many
    events the model has read there, from 1.
    """

    inputs: Ints
    targets: Ints
    starts: Ints
    scored: Bools
    history: Codes


def leave_last_out(log: Log) -> Split:
    """The last event of each user is the test set, the one before it the validation set.

    Users with fewer than three events are trained on whole. Raises PlannerError where no user has three.
    """
    first, stop = log.starts[:-1], log.starts[1:]
    many = (stop - first >= FEWEST).astype(np.int64)
    if not many.any():
        raise PlannerError(
            f"No user has {FEWEST} events, so that the validation set is empty: split by time, or give a longer log."
        )
    return Split(first, stop - 2 * many, stop - many, stop)


def leave_one_out(log: Log) -> Split:
    """The test set of ``leave_last_out``, and everything before it to train on: for a model that is already chosen."""
    both = leave_last_out(log)
    return Split(both.first, both.validation, both.validation, both.test)


def by_time(log: Log, validation: float, test: float) -> Split:
    """What is before the moment ``validation`` is trained on, what is not before the moment ``test`` is the test set.

    Moments are in the unit of ``log.times``. An event without one of its user before it is in a set but not scored.
    Raises PlannerError where a set is empty so, and for a log without times.
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


def by_share(log: Log, validation: float = 0.1, test: float = 0.1) -> Split:
    """The last shares of all events by time: the ``test`` share, and before it the ``validation`` share.

    Events of one moment stay together. Raises as ``by_time``, and PlannerError for shares that leave nothing.
    """
    if not (validation > 0 and test > 0 and validation + test < 1):
        raise PlannerError(
            f"The shares {validation:g} and {test:g} of the validation and the test set must be above 0 and below 1 "
            f"together: lower them."
        )
    ends = np.quantile(log.times, [1 - validation - test, 1 - test], method="higher")
    return by_time(log, float(ends[0]), float(ends[1]))


def training_windows(split: Split, length: int) -> Windows:
    """Windows in which each event that is trained on is predicted once, but for the first of each user.

    They are cut from the end of a user's events, so that the last ones have ``length`` events to read where there are
    so many.
    """
    return _windows(split.first, split.first, split.train, length, length)


def scored_windows(split: Split, part: Part, length: int) -> Windows:
    """Windows in which each event of a set is scored once, but for the first of each user.

    Where one window does not do, those that are scored have half of ``length`` events before them at least, or all that
    there are.
    """
    begin, end = (split.train, split.validation) if part == "validation" else (split.validation, split.test)
    return _windows(split.first, begin, end, length, (length + 1) // 2)


def pack(windows: Windows, chosen: Ints) -> Packed:
    """The ``chosen`` windows, (B,), in one row."""
    first = windows.first[chosen]
    lengths = windows.stop[chosen] - first - 1
    starts = np.concatenate([[0], np.cumsum(lengths)])
    within = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    inputs = np.repeat(first, lengths) + within
    scored = inputs + 1 >= np.repeat(windows.scored[chosen], lengths)
    return Packed(inputs, inputs + 1, starts, scored, (within + 1).astype(np.int32))


def _before(log: Log, moment: float) -> Ints:
    """The first event of each user that is not before a moment, (users,)."""
    counts = np.concatenate([[0], np.cumsum(log.times < moment)])
    return log.starts[:-1] + counts[log.starts[1:]] - counts[log.starts[:-1]]


def _windows(first: Ints, begin: Ints, end: Ints, length: int, step: int) -> Windows:
    """Windows that score each user's events from ``begin`` up to ``end``, ``step`` in each but the user's first."""
    if length < 1:
        raise ValueError(f"windows of {length} events")
    begin = np.maximum(begin, first + 1)
    counts = np.maximum(-(-(end - begin) // step), 0)
    users = np.repeat(np.arange(len(first)), counts)
    left = np.cumsum(counts)[users] - np.arange(len(users)) - 1  # how many windows of the user come after
    stop = end[users] - left * step
    scored = np.maximum(begin[users], stop - step)
    return Windows(np.maximum(first[users], stop - 1 - length), scored, stop, length)
