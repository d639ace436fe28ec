"""Built-in processes: their particles, quark lines, vertices and colour orders."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import permutations
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.processes.currents import Plan, plan
from isoplan.trainers.amplitudes.processes.fields import (
    CHARGED,
    COLOURS,
    ELECTROWEAK,
    FIELDS,
    NEUTRAL,
    QCD,
    TRIPLE,
    YUKAWA,
    Vertex,
)

Lines = tuple[tuple[int, int], ...]
"""Quark lines, each as a pair of legs: (leg of psibar, leg of psi). Legs are numbered from 0."""


@cache
def generators(n: int = COLOURS) -> NDArray[np.complex128]:
    """Return T^a of SU(n) with tr(T^a T^b) = delta^ab / 2, shape (n^2 - 1, n, n).

    For n = 3, the matrices T^a are the Gell-Mann matrices divided by two.
    """
    found = []
    for i in range(n):
        for j in range(i):
            for entry in (0.5, -0.5j):
                matrix = np.zeros((n, n), np.complex128)
                matrix[j, i], matrix[i, j] = entry, np.conj(entry)
                found.append(matrix)
        if i:
            found.append(
                np.diag([1.0] * i + [-i] + [0.0] * (n - i - 1)).astype(np.complex128) / np.sqrt(2 * i * (i + 1))
            )
    return np.stack(found)


def colour_orders(lines: Lines, gluons: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the colour orders, each as a tuple of all coloured legs.

    One quark line has one order for each permutation of its gluons. The order is psibar, the permuted gluons, psi.

    Two quark lines without external gluons have a single order: one line is inside the other. The lines exchange a
    gluon, so the only colour structure is T^a T^a.

    Raises ValueError for two lines with external gluons, because such processes have more colour structures than
    orders.
    """
    if len(lines) == 1:
        ((bar, psi),) = lines
        return tuple((bar, *order, psi) for order in permutations(gluons))
    if len(lines) != 2 or gluons:
        raise ValueError(
            "Colour orders are known for one quark line with gluons, or for two quark lines without gluons."
        )
    (outer_bar, outer_psi), (bar, psi) = lines
    return ((outer_bar, bar, psi, outer_psi),)


@cache
def colour_matrix(lines: int, gluons: int) -> NDArray[np.float64]:
    """Return the matrix c (orders, orders) of the colour sums in |M|^2 = sum_st A_s c_st conj(A_t).

    ``lines`` and ``gluons`` are the numbers of quark lines and gluons. The indices s and t number the orders of
    ``colour_orders``. Each colour structure is a tensor with one index per coloured leg, and c_st is the contraction of
    two such tensors.
    """
    t = generators()
    if lines == 2:
        tensors = np.einsum("aij,akl->ijkl", t, t)[None]
    else:
        chain = np.eye(COLOURS, dtype=np.complex128)
        for _ in range(gluons):
            chain = np.einsum("...ij,ajk->...aik", chain, t)
        tensors = np.stack([np.moveaxis(chain, range(gluons), order) for order in permutations(range(gluons))])
    flat = tensors.reshape(len(tensors), -1)
    return np.ascontiguousarray((flat @ flat.conj().T).real)


@dataclass(frozen=True)
class Process:
    """A process: two incoming particles, the outgoing particles, and the vertices that connect them.

    ``lines`` contains each quark line as a pair of legs (start, end) of its product of colour matrices. The start is an
    incoming antiquark or an outgoing quark. The end is an incoming quark or an outgoing antiquark.
    """

    name: str
    title: str
    incoming: tuple[str, str]
    outgoing: tuple[str, ...]
    vertices: tuple[Vertex, ...]
    lines: Lines = ((1, 0),)

    @property
    def particles(self) -> tuple[str, ...]:
        return self.incoming + self.outgoing

    @property
    def fields(self) -> tuple[str, ...]:
        """Name of the field of each leg as it enters the diagram: an outgoing particle enters as its antiparticle."""
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
        """The leg that completes the amplitude at the end of the recursion: the last leg without colour."""
        coloured = {*self.gluons, *(leg for line in self.lines for leg in line)}
        return max(leg for leg in range(len(self.particles)) if leg not in coloured)

    @property
    def identical(self) -> int:
        """Product of n! over all groups of n identical outgoing particles.

        Isoplan divides cross sections, but not squared amplitudes, by this number.
        """
        return prod(factorial(count) for count in Counter(self.outgoing).values())

    @cached_property
    def plan(self) -> Plan:
        orders = colour_orders(self.lines, self.gluons)
        return plan(self.fields, orders, self.root, self.vertices)

    def without(self, *vertices: Vertex) -> Process:
        """Return the process without the given ``vertices``."""
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
    """Return the built-in process ``name``. Raises PlannerError if the name is unknown."""
    if name not in PROCESSES:
        raise PlannerError(f"There is no built-in process {name!r}: use {', '.join(PROCESSES)}.")
    return PROCESSES[name]
