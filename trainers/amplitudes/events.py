"""Events (momenta, squared amplitude, weight) for the training of surrogates, and checks of a set of events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.processes import PROCESSES
from isoplan.trainers.amplitudes.processes.check import check_momenta, check_own_momenta, row_of

LEAST = 4
"""Minimum number of particles of an event: two incoming and two outgoing particles."""


@dataclass(frozen=True)
class Events:
    """A set of ``n`` phase-space points of one process.

    ``momenta`` (n, particles, 4) are in GeV as (E, px, py, pz), with the two incoming particles first. ``amplitude``
    (n,) is |M|^2 in the user's units (built-in processes: GeV^(8 - 2 * particles)). ``weight`` (n,) is the statistical
    weight of each event. Unweighted events have the weight 1. ``process`` is the name of a built-in process, or "" for
    a user-defined process.

    Raises PlannerError if the shapes of the arrays are inconsistent or if the process is unknown. ``check_events``
    checks the values.
    """

    momenta: Floats
    amplitude: Floats
    weight: Floats
    process: str = ""

    def __post_init__(self) -> None:
        check_process(self.process)
        shape = self.momenta.shape
        check_shapes(shape, {"amplitude": self.amplitude.shape, "weight": self.weight.shape})
        if self.process and shape[1] != len(PROCESSES[self.process].particles):
            raise PlannerError(
                f"The momenta have {shape[1]} particles, but {self.process} ({PROCESSES[self.process].title}) has "
                f"{len(PROCESSES[self.process].particles)}, including the two incoming particles."
            )

    def __len__(self) -> int:
        return len(self.momenta)

    def __getitem__(self, rows: slice | NDArray[np.int64] | NDArray[np.bool_]) -> Events:
        """Return the events in these ``rows``."""
        return Events(self.momenta[rows], self.amplitude[rows], self.weight[rows], self.process)


def check_shapes(momenta: tuple[int, ...], columns: Mapping[str, tuple[int, ...]]) -> None:
    """Check that the arrays of events have valid shapes.

    ``momenta`` is the shape of the momenta. ``columns`` contains the shapes of the arrays with one number per event, by
    name, for example ``amplitude``. Raises PlannerError if a shape is wrong.
    """
    if len(momenta) != 3 or momenta[2] != 4 or momenta[1] < LEAST:
        raise PlannerError(
            f"The momenta have the shape {momenta}: give an array (events, particles, 4) of (E, px, py, pz) in "
            "GeV, with two incoming particles first, then at least two outgoing particles."
        )
    for name, shape in columns.items():
        if shape != momenta[:1]:
            raise PlannerError(
                f"The {name} has the shape {shape} and the momenta contain {momenta[0]} events: give one number per "
                "event."
            )


def check_process(name: str) -> None:
    """Check that ``name`` is the name of a built-in process, or "". Raises PlannerError otherwise."""
    if name and name not in PROCESSES:
        raise PlannerError(
            f"There is no built-in process {name!r}: use {', '.join(PROCESSES)}, or an empty name for a "
            "process of your own."
        )


def check_events(events: Events) -> None:
    """Check the values of all events.

    Momenta must be finite and conserved, and the particles of a built-in process must be on their mass shells. In a
    user-defined process, no particle may be faster than light, and each particle must have the same mass in all rows.
    Amplitudes must be finite. Weights must be finite and positive.

    Raises PlannerError. Its message contains the first invalid row and the wrong value.
    """
    if events.process:
        check_momenta(events.momenta, PROCESSES[events.process].particles)
    else:
        check_own_momenta(events.momenta)
    _refuse("amplitude", events.amplitude, ~np.isfinite(events.amplitude), "not a finite number: remove such rows")
    not_above = ~(np.isfinite(events.weight) & (events.weight > 0))
    _refuse("weight", events.weight, not_above, "not above zero: remove such events")


def _refuse(name: str, values: Floats, bad: NDArray[np.bool_], why: str) -> None:
    """Raise PlannerError if any entry of ``bad`` (n,) is True.

    The message contains ``name``, the first row with a True entry, the entry of ``values`` (n,) in this row, and the
    reason ``why``.
    """
    if bad.any():
        row = int(np.argmax(bad))
        raise PlannerError(f"{row_of(row, bad.sum())} has the {name} {values[row]:g}, which is {why}.")
