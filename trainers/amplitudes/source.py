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
"""Of p1.p2: what rounding to seven digits leaves of one that is constant."""


def fixed_energy(momenta: NDArray[np.float64]) -> bool:
    """Whether all events have one sqrt(s): p1.p2 of the incoming particles is constant.

    ``momenta`` (n, particles, 4) in GeV as (E, px, py, pz), the two incoming particles first; a single event counts as
    fixed.
    """
    one, two = momenta[:, 0], momenta[:, 1]
    products = one[:, 0] * two[:, 0] - (one[:, 1:] * two[:, 1:]).sum(axis=1)
    return bool(np.ptp(products) <= SPREAD * np.abs(products).max())


LOWEST, HIGHEST = 1.5, 2000.0
"""sqrt(s), where it varies, from so many times the masses (300 GeV at least) to so many GeV, even in the logarithm."""


def make_toy_events(process: str, n: int, seed: int, sqrt_s: float = 0.0) -> Events:
    """``n`` events, flat in the phase space of a built-in process, whose amplitude is s / ((p1 . p3) (p2 . p3)).

    ``sqrt_s`` in GeV, 0 where it varies. The weights, which flat phase space has, are left out.
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
"""Seed of the order in which events of a file are given out, the same for all cells."""


@dataclass(frozen=True)
class Source:
    """Events by the fields of a cell: ``data`` is simulated, toy, or a file; the others are of what is made here."""

    data: str
    process: str
    sqrt_s: float

    @property
    def made(self) -> bool:
        """Whether they are made here, as many as are asked for."""
        return self.data in (SIMULATED, TOY)

    def path(self, root: Path) -> Path:
        """Their file in the workspace ``root``."""
        return root / FOLDER / self.data


@dataclass(frozen=True)
class Facts:
    """The ``kinds`` of external particles (a number each, the same for identical ones), whether sqrt(s) is ``varying``,
    how many ``events`` there are, 0 for any number, why the amplitudes are ``unfit`` for kinds of targets, if so, and
    why invariants have no logarithms, as those of ``collinear`` particles, if so.
    """

    kinds: tuple[int, ...]
    varying: bool
    events: int = 0
    unfit: Mapping[str, str] = field(default_factory=dict)
    collinear: str = ""

    @property
    def particles(self) -> int:
        """How many external ones."""
        return len(self.kinds)


@dataclass(frozen=True, eq=False)
class Data:
    """The events that a cell trains on, those that choose its best weights, and those that it is tested on."""

    train: Events
    validation: Events
    test: Events


def facts_of(root: Path, source: Source) -> Facts:
    """What is known of the events. Raises PlannerError for a file that is not there or cannot be read."""
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
    """Those of a file as it was when it had that size and was changed then."""
    events = read_events(path)
    own = [str(place) for place in range(events.momenta.shape[1])]
    names = find_process(events.process).particles if events.process else own
    amiss = {kind: why for kind in (LOG, RAW) if (why := unfit(events.amplitude, kind))}
    varying = not fixed_energy(events.momenta)
    collinear = unfit_momenta(events.momenta, pairs(len(names), varying))
    return Facts(kinds_of(names), varying, len(events), amiss, collinear)


def kinds_of(names: Sequence[str]) -> tuple[int, ...]:
    """The kind of each particle, in the order in which its name comes first."""
    different = list(dict.fromkeys(names))
    return tuple(different.index(name) for name in names)


def open_events(root: Path, source: Source, counts: tuple[int, int, int], stream: RunContext) -> Data:
    """So many events to train, validate and test on; simulated ones are made as far as they are missing.

    Those of a file are shuffled once and for all: the first are for tests, the next to train on, and the last to
    validate, so that larger training sets hold smaller ones. Raises PlannerError where a file holds too few.
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
    """Raises PlannerError where a file holds fewer events than are asked for."""
    if sum(counts) > there:
        train, validation, test = counts
        raise PlannerError(
            f"{FOLDER}/{source.data} holds {there:,} events, and the cell asks for {train:,} to train, {validation:,} "
            f"to validate and {test:,} to test on: ask for fewer."
        )
