"""Source of the events of a cell: a file, a simulated process or a toy, and its properties before a cell runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.events import Events
from isoplan.trainers.amplitudes.files import read_events
from isoplan.trainers.amplitudes.phase_space.rambo import rambo
from isoplan.trainers.amplitudes.processes.catalogue import find_process
from isoplan.trainers.amplitudes.simulate import STREAMS, load_or_simulate
from isoplan.trainers.amplitudes.surrogate.invariants import pairs, unfit_momenta
from isoplan.trainers.amplitudes.surrogate.standard import LOG, RAW, unfit
from isoplan.trainers.cell import RunContext

SPREAD = 1e-5
"""Relative spread of a constant p1.p2 that remains after rounding to seven digits."""


def fixed_energy(momenta: NDArray[np.float64]) -> bool:
    """Return whether all events have the same sqrt(s), that is, whether p1.p2 of the incoming particles is constant.

    ``momenta`` (n, particles, 4) in GeV as (E, px, py, pz), the two incoming particles first. A single event counts as
    fixed.
    """
    one, two = momenta[:, 0], momenta[:, 1]
    products = one[:, 0] * two[:, 0] - (one[:, 1:] * two[:, 1:]).sum(axis=1)
    return bool(np.ptp(products) <= SPREAD * np.abs(products).max())


LOWEST, HIGHEST = 1.5, 2000.0
"""Range of a varying sqrt(s): from LOWEST times the sum of masses (at least 300 GeV) to HIGHEST GeV, flat in log."""


def make_toy_events(process: str, n: int, seed: int, sqrt_s: float = 0.0) -> Events:
    """Return ``n`` events, flat in the phase space of a built-in process, with an artificial amplitude.

    The amplitude is s / ((p1 . p3) (p2 . p3)). ``sqrt_s`` in GeV, 0 if it varies. The weights of flat phase space are
    left out.
    """
    rng, masses = np.random.default_rng(seed), find_process(process).masses
    low = max(LOWEST * sum(masses), 300.0)
    energy = np.full(n, sqrt_s) if sqrt_s else low * (HIGHEST / low) ** rng.random(n)
    outgoing, _ = rambo(energy, masses[2:], rng)
    beams = energy[:, None, None] / 2 * np.array([[1.0, 0, 0, 1.0], [1.0, 0, 0, -1.0]])
    first = outgoing[:, 0]
    products = (energy[:, None] / 2) ** 2 * (first[:, :1] - first[:, 3:]) * (first[:, :1] + first[:, 3:])
    return Events(np.concatenate([beams, outgoing], axis=1), energy**2 / products[:, 0], np.ones(n), process)


FOLDER, SIMULATED, TOY = "amplitudes", "simulated", "toy"
SHUFFLE = 20_260_104
"""Seed of the shuffle of the events of a file, the same for all cells."""


@dataclass(frozen=True)
class Source:
    """Source of events, from the fields of a cell.

    ``data`` is simulated, toy, or a file name; the other fields apply to simulated and toy events.
    """

    data: str
    process: str
    sqrt_s: float

    @property
    def made(self) -> bool:
        """Whether Isoplan makes the events, in any number."""
        return self.data in (SIMULATED, TOY)

    def path(self, root: Path) -> Path:
        """Return the path of the file in the workspace ``root``."""
        return root / FOLDER / self.data


@dataclass(frozen=True)
class Facts:
    """Properties of events that are available before a cell runs.

    ``kinds``: one integer per external particle, equal for identical particles. ``varying``: whether sqrt(s) varies.
    ``events``: number of events, 0 for any number. ``unfit``: for each kind of target that the amplitudes do not allow,
    the reason. ``collinear``: the reason why the invariants have no logarithm, or empty.
    """

    kinds: tuple[int, ...]
    varying: bool
    events: int = 0
    unfit: Mapping[str, str] = field(default_factory=dict)
    collinear: str = ""

    @property
    def particles(self) -> int:
        """Number of external particles."""
        return len(self.kinds)


@dataclass(frozen=True, eq=False)
class Data:
    """Events for training, for the choice of the best weights (validation), and for the test."""

    train: Events
    validation: Events
    test: Events


def facts_of(root: Path, source: Source) -> Facts:
    """Return the properties of the events. Raises PlannerError if the file is missing or cannot be read."""
    if source.made:
        return Facts(kinds_of(find_process(source.process).particles), not source.sqrt_s)
    path = source.path(root)
    if not path.is_file():
        raise PlannerError(
            f"There are no events {source.data!r}: put a file of that name into {FOLDER} of the workspace, or use "
            f"{SIMULATED}."
        )
    about = path.stat()
    return _facts(path, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=64)
def _facts(path: Path, size: int, changed: int) -> Facts:
    """Return the properties of a file. Size and modification time are part of the cache key."""
    events = read_events(path)
    own = [str(place) for place in range(events.momenta.shape[1])]
    names = find_process(events.process).particles if events.process else own
    amiss = {kind: why for kind in (LOG, RAW) if (why := unfit(events.amplitude, kind))}
    varying = not fixed_energy(events.momenta)
    collinear = unfit_momenta(events.momenta, pairs(len(names), varying))
    return Facts(kinds_of(names), varying, len(events), amiss, collinear)


def kinds_of(names: Sequence[str]) -> tuple[int, ...]:
    """Return an integer for each particle, equal for equal names, in the order of first occurrence."""
    different = list(dict.fromkeys(names))
    return tuple(different.index(name) for name in names)


def open_events(root: Path, source: Source, counts: tuple[int, int, int], stream: RunContext) -> Data:
    """Return the requested numbers of training, validation and test events; missing simulated events are made.

    Events of a file are shuffled with a fixed seed: the first ones are for tests, the next ones for training, and the
    last ones for validation, so larger training sets contain smaller ones. Raises PlannerError if a file has too few
    events.
    """
    train, validation, test = counts
    if not source.made:
        events = read_events(source.path(root))
        check_enough(source, len(events), counts)
        order = np.random.default_rng(SHUFFLE).permutation(len(events))
        return Data(events[order[test : test + train]], events[order[len(events) - validation :]], events[order[:test]])
    made = dict(zip(STREAMS, counts, strict=True))
    if source.data == TOY:
        sets = [make_toy_events(source.process, n, STREAMS[name], source.sqrt_s) for name, n in made.items()]
    else:
        folder = root / FOLDER / SIMULATED
        sets = [load_or_simulate(folder, source.process, source.sqrt_s, name, n, stream) for name, n in made.items()]
    return Data(*sets)


def check_enough(source: Source, there: int, counts: tuple[int, int, int]) -> None:
    """Check that a file has at least the requested number of events. Raises PlannerError otherwise."""
    if sum(counts) > there:
        train, validation, test = counts
        raise PlannerError(
            f"{FOLDER}/{source.data} holds {there:,} events, and the cell asks for {train:,} to train, {validation:,} "
            f"to validate and {test:,} to test on: ask for fewer."
        )
