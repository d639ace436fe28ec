"""Events that surrogates learn from: momenta, squared amplitude, weight; and what makes a set of them one."""

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
"""Particles of an event at least: two that come in and two that go out."""


@dataclass(frozen=True)
class Events:
    """``n`` points of phase space of one process.

    ``momenta`` (n, particles, 4) in GeV as (E, px, py, pz), the two incoming particles first; ``amplitude`` (n,) is
    |M|^2 in the user's units (built-in processes: GeV^(8 - 2 particles)); ``weight`` (n,) is 1 for unweighted events
    and otherwise what an event counts for; ``process`` names a built-in process and is empty for one of the user's own.

    Raises PlannerError for arrays whose shapes do not fit together and for a process that there is not. Values are
    looked at by ``check_events``.
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
                f"The momenta have {shape[1]} particles and {self.process} has "
                f"{len(PROCESSES[self.process].particles)}: {PROCESSES[self.process].title}, incoming ones included."
            )

    def __len__(self) -> int:
        return len(self.momenta)

    def __getitem__(self, rows: slice | NDArray[np.int64] | NDArray[np.bool_]) -> Events:
        """Those of them in ``rows``."""
        return Events(self.momenta[rows], self.amplitude[rows], self.weight[rows], self.process)


def check_shapes(momenta: tuple[int, ...], columns: Mapping[str, tuple[int, ...]]) -> None:
    """Raises PlannerError where arrays of such shapes are no events: ``columns`` have one number an event, by name."""
    if len(momenta) != 3 or momenta[2] != 4 or momenta[1] < LEAST:
        raise PlannerError(
            f"The momenta have the shape {momenta}: give (events, particles, 4) as (E, px, py, pz) in GeV, two "
            "incoming particles first and two outgoing ones at least."
        )
    for name, shape in columns.items():
        if shape != momenta[:1]:
            raise PlannerError(
                f"The {name} has the shape {shape} and the momenta hold {momenta[0]} events: give one number an event."
            )


def check_process(name: str) -> None:
    """Raises PlannerError for a name that is no built-in process and not empty."""
    if name and name not in PROCESSES:
        raise PlannerError(
            f"There is no built-in process {name!r}: use {', '.join(PROCESSES)}, or no name for a process of your own."
        )


def check_events(events: Events) -> None:
    """Raises PlannerError that names the first row that is no event, and by how much it fails.

    Momenta are finite, conserved and on shell (of a process of the user's own: not faster than light, and with one mass
    for each particle); amplitudes are finite, weights finite and positive.
    """
    if events.process:
        check_momenta(events.momenta, PROCESSES[events.process].particles)
    else:
        check_own_momenta(events.momenta)
    _refuse("amplitude", events.amplitude, ~np.isfinite(events.amplitude), "no finite number: leave such rows out")
    not_above = ~(np.isfinite(events.weight) & (events.weight > 0))
    _refuse("weight", events.weight, not_above, "not above zero: leave out what does not count")


def _refuse(name: str, values: Floats, bad: NDArray[np.bool_], why: str) -> None:
    """Raises PlannerError that names the first of ``values`` (n,) that is ``bad``."""
    if bad.any():
        row = int(np.argmax(bad))
        raise PlannerError(f"{row_of(row, bad.sum())} has the {name} {values[row]:g}, which is {why}.")
