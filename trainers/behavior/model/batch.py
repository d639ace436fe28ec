"""What a step of training reads of a log: some windows, and the distinct items in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Ints


@dataclass(frozen=True, eq=False)
class Batch:
    """Sequences of ``lengths`` (S,) positions one after the other, P in all; each reads an item and predicts the next.

    ``items`` (I,) are the distinct items of the batch, rising. ``inputs`` (P,) are places among them. ``candidates``
    (M,) are the places of those that are the target of any position, and ``targets`` (P,) are places among the
    candidates. ``events`` (P,) are the events of the log that are read.
    """

    items: Ints
    inputs: Ints
    candidates: Ints
    targets: Ints
    lengths: Ints
    events: Ints

    @property
    def positions(self) -> int:
        """Events that the step trains on."""
        return len(self.inputs)


def batch_of(
    inputs: NDArray[np.integer], targets: NDArray[np.integer], lengths: Ints, events: NDArray[np.integer]
) -> Batch:
    """The batch in which position p reads event ``events[p]`` of item ``inputs[p]`` and predicts ``targets[p]``."""
    if not len(inputs) == len(targets) == len(events) == lengths.sum():
        raise ValueError(f"{len(inputs)} inputs, {len(targets)} targets, {lengths.sum()} positions")
    items, places = np.unique(np.concatenate([inputs, targets]), return_inverse=True)
    read, wanted = np.split(places, 2)
    candidates, own = np.unique(wanted, return_inverse=True)
    return Batch(items.astype(np.int64), read, candidates, own, lengths, events.astype(np.int64))
