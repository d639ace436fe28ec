"""How the jets of a batch lie in memory: taken out of a set of jets, then in rectangles with hardly any padding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Ints, Singles
from isoplan.trainers.jets.classes import MOST_PARTICLES
from isoplan.trainers.jets.jetset import JetSet
from isoplan.trainers.packed import rectangles
from isoplan.trainers.packed.rectangles import CALLS, runs


def gather(jets: JetSet, chosen: Ints, most: int = MOST_PARTICLES) -> tuple[Singles, Ints, Ints]:
    """The particles (P, F) of the ``chosen`` jets (B,) one jet after the other, their lengths (B,) and labels (B,).

    Of each jet the ``most`` first particles are read, which are its hardest.
    """
    starts = jets.starts[chosen]
    lengths = np.minimum(jets.starts[chosen + 1] - starts, most)
    return jets.features[runs(starts, lengths)], lengths, jets.labels[chosen]


@dataclass(frozen=True)
class Layout(rectangles.Layout):
    """Where the tokens of a batch lie, with ``particles`` (P,) the row of each particle of the batch as it came.

    ``filled`` counts [CLS] and particles; [CLS] comes first.
    """

    particles: Ints

    @property
    def cls(self) -> Ints:
        """The row of each jet's [CLS], (B,), in ``order``."""
        return self.first


def lay_out(lengths: Ints, calls: float = CALLS) -> Layout:
    """Where the tokens of jets of ``lengths`` (B,) particles lie; B is at least 1.

    A rectangle more costs as much time as ``calls`` rows of padding. Which jets a batch holds is never chosen by
    length, which goes with the class.
    """
    found = rectangles.lay_out(lengths + 1, calls)
    return Layout(**found.__dict__, particles=runs(found.begins + 1, lengths))
