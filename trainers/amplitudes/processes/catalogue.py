"""Built-in processes, each declared by its particles, quark lines and vertices."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from math import factorial, prod

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.processes import colour
from isoplan.trainers.amplitudes.processes.currents import Plan, plan
from isoplan.trainers.amplitudes.processes.fields import (
    CHARGED,
    ELECTROWEAK,
    FIELDS,
    NEUTRAL,
    QCD,
    TRIPLE,
    YUKAWA,
    Vertex,
)


@dataclass(frozen=True)
class Process:
    """A process: two incoming particles, the outgoing particles, and the vertices that connect them.

    ``lines`` are the quark lines as (leg where the colour matrices begin, leg where they end): the incoming antiquark
    or outgoing quark, and the incoming quark or outgoing antiquark. The root of the recursion is the last colourless
    leg.
    """

    name: str
    title: str
    incoming: tuple[str, str]
    outgoing: tuple[str, ...]
    vertices: tuple[Vertex, ...]
    lines: colour.Lines = ((1, 0),)

    @property
    def particles(self) -> tuple[str, ...]:
        return self.incoming + self.outgoing

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields of the legs as they enter the diagram: outgoing particles as their antiparticles."""
        return self.incoming + tuple(FIELDS[name].anti for name in self.outgoing)

    @property
    def masses(self) -> tuple[float, ...]:
        """Masses in GeV, incoming particles first."""
        return tuple(FIELDS[name].mass for name in self.particles)

    @property
    def gluons(self) -> tuple[int, ...]:
        return tuple(leg for leg, name in enumerate(self.particles) if name == "g")

    @property
    def root(self) -> int:
        """Leg that is contracted last."""
        coloured = {*self.gluons, *(leg for line in self.lines for leg in line)}
        return max(leg for leg in range(len(self.particles)) if leg not in coloured)

    @property
    def identical(self) -> int:
        """n! for n identical outgoing particles. Cross sections are divided by it, squared amplitudes are not."""
        return prod(factorial(count) for count in Counter(self.outgoing).values())

    @cached_property
    def plan(self) -> Plan:
        orders = colour.orders(self.lines, self.gluons)
        return plan(self.fields, orders, self.root, self.vertices)

    def without(self, *vertices: Vertex) -> Process:
        """Return the process without some of its vertices."""
        return replace(self, vertices=tuple(vertex for vertex in self.vertices if vertex not in vertices))


def _z_gluons(count: int) -> Process:
    return Process(f"Z{'g' * count}", f"u ubar -> Z + {count} g", ("u", "u~"), ("Z", *"g" * count), QCD + NEUTRAL)


def _wz_gluons(count: int) -> Process:
    title = f"u dbar -> W+ Z + {count} g" if count else "u dbar -> W+ Z"
    vertices = QCD + NEUTRAL + CHARGED + TRIPLE if count else NEUTRAL + CHARGED + TRIPLE
    return Process(f"WZ{'g' * count}", title, ("u", "d~"), ("W+", "Z", *"g" * count), vertices)


PROCESSES: dict[str, Process] = {
    process.name: process
    for process in (
        *(_z_gluons(count) for count in (1, 2, 3, 4)),
        Process("ttH", "u ubar -> t tbar H", ("u", "u~"), ("t", "t~", "H"), QCD + YUKAWA, ((2, 3), (1, 0))),
        *(_wz_gluons(count) for count in (0, 1, 2)),
        Process("WWZ", "u ubar -> W+ W- Z", ("u", "u~"), ("W+", "W-", "Z"), ELECTROWEAK),
    )
}


def find_process(name: str) -> Process:
    """Return the built-in process ``name``. Raises PlannerError if there is none."""
    if name not in PROCESSES:
        raise PlannerError(f"There is no built-in process {name!r}: use {', '.join(PROCESSES)}.")
    return PROCESSES[name]
