"""Which events of a log are trained on, and which are scored with what history before them.

The events of a user lie in time, so two cuts a user say everything: first come those that are trained on, then those
of the validation set, then those of the test set. The history of a scored event is all that its user did before it,
whatever set that is in, as far as the sequence reaches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Bools = NDArray[np.bool_]


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
