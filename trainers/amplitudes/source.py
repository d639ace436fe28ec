"""Source of the events of a training run: a file of the workspace, simulated events of a process, or toy events."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.events import Events
from isoplan.trainers.amplitudes.files import FORMATS, format_of, read_events
from isoplan.trainers.amplitudes.phase_space.flat import rambo
from isoplan.trainers.amplitudes.processes.catalogue import find_process
from isoplan.trainers.amplitudes.simulate import STREAMS, load_or_simulate
from isoplan.trainers.amplitudes.surrogate.preprocessing import LOG, RAW, pairs, unfit, unfit_momenta
from isoplan.trainers.backend.store.files import replace, sweep, writing
from isoplan.trainers.backend.store.heartbeat import hold_lock
from isoplan.trainers.cell import NAME, RunContext

Some = TypeVar("Some")
SPREAD = 1e-5
"""If the relative spread of p1.p2 over the events is at most this number, sqrt(s) counts as fixed.

Here p1 and p2 are the momenta of the incoming particles. Rounding to seven digits causes a smaller spread.
"""


def fixed_energy(momenta: NDArray[np.float64]) -> bool:
    """Return whether all events have the same sqrt(s), that is, the same product p1.p2 of the incoming momenta.

    ``momenta`` (n, particles, 4) are in GeV as (E, px, py, pz), the two incoming particles first. If there is only one
    event, the result is True.
    """
    one, two = momenta[:, 0], momenta[:, 1]
    products = one[:, 0] * two[:, 0] - (one[:, 1:] * two[:, 1:]).sum(axis=1)
    return bool(np.ptp(products) <= SPREAD * np.abs(products).max())


LOWEST, HIGHEST = 1.5, 2000.0
"""Limits of the varying sqrt(s) of toy events. The logarithm of sqrt(s) is uniformly distributed.

The minimum is LOWEST times the sum of all masses, but at least 300 GeV. The maximum is HIGHEST in GeV.
"""


def make_toy_events(process: str, n: int, seed: int, sqrt_s: float = 0.0) -> Events:
    """Return ``n`` events of a built-in process with random momenta from RAMBO and an artificial amplitude.

    The amplitude is s / ((p1 . p3) (p2 . p3)), where p3 is the momentum of the first outgoing particle. ``sqrt_s`` is
    in GeV; if it is 0, sqrt(s) varies. All events have the weight 1: the phase-space weights are ignored.
    """
    rng, masses = np.random.default_rng(seed), find_process(process).masses
    low = max(LOWEST * sum(masses), 300.0)
    energy = np.full(n, sqrt_s) if sqrt_s else low * (HIGHEST / low) ** rng.random(n)
    outgoing = rambo(energy, masses[2:], rng)
    beams = energy[:, None, None] / 2 * np.array([[1.0, 0, 0, 1.0], [1.0, 0, 0, -1.0]])
    first = outgoing[:, 0]
    products = (energy[:, None] / 2) ** 2 * (first[:, :1] - first[:, 3:]) * (first[:, :1] + first[:, 3:])
    return Events(np.concatenate([beams, outgoing], axis=1), energy**2 / products[:, 0], np.ones(n), process)


FOLDER, SIMULATED, TOY = "amplitudes", "simulated", "toy"
SHUFFLE = 20_260_104
"""Seed of the shuffle of the events of a file. All training runs use this seed."""


@dataclass(frozen=True)
class Source:
    """Source of the events of a training run.

    ``data`` is "simulated", "toy", or the name of a file. ``process`` and ``sqrt_s`` (GeV, 0 if the energy varies)
    apply to simulated and toy events, not to a file.
    """

    data: str
    process: str
    sqrt_s: float

    @property
    def made(self) -> bool:
        """Whether Isoplan generates the events, so that any number of events is available."""
        return self.data in (SIMULATED, TOY)

    def path(self, root: Path) -> Path:
        """Return the path of the event file in the workspace ``root``."""
        return root / FOLDER / self.data


@dataclass(frozen=True)
class Facts:
    """Properties of the events, available before a training run.

    - ``kinds``: one integer per external particle; identical particles have equal integers.
    - ``varying``: whether sqrt(s) varies.
    - ``events``: number of events in the file; 0 if Isoplan can generate any number of events.
    - ``unfit``: the reasons why the amplitudes cannot be a target, for each affected kind of target ("log" or "raw").
    - ``collinear``: the reason why some invariants have no logarithm; "" if all invariants have a logarithm.
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
class Data(Generic[Some]):
    """Three sets of events or points: ``train``, ``validation`` (to select the best weights), and ``test``."""

    train: Some
    validation: Some
    test: Some


def facts_of(root: Path, source: Source) -> Facts:
    """Return the properties of the events of ``source``. Raises PlannerError if a file is missing or cannot be read."""
    if source.made:
        return Facts(kinds_of(find_process(source.process).particles), not source.sqrt_s)
    path = source.path(root)
    if not path.is_file():
        raise PlannerError(
            f"There is no event file {source.data!r}: put a file with this name into the folder {FOLDER} of the "
            f"workspace, or set data to {SIMULATED}."
        )
    about = path.stat()
    return _facts(path, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=64)
def _facts(path: Path, size: int, changed: int) -> Facts:
    """Return the properties of an event file.

    The results are cached. ``size`` and ``changed`` (the modification time) are arguments, so a changed file is read
    again.
    """
    events = read_events(path)
    own = [str(place) for place in range(events.momenta.shape[1])]
    names = find_process(events.process).particles if events.process else own
    amiss = {kind: why for kind in (LOG, RAW) if (why := unfit(events.amplitude, kind))}
    varying = not fixed_energy(events.momenta)
    collinear = unfit_momenta(events.momenta, pairs(len(names), varying))
    return Facts(kinds_of(names), varying, len(events), amiss, collinear)


def kinds_of(names: Sequence[str]) -> tuple[int, ...]:
    """Return one integer per particle. Particles with equal names have equal integers.

    The integers count from 0, in the order of the first occurrence of each name.
    """
    different = list(dict.fromkeys(names))
    return tuple(different.index(name) for name in names)


def open_events(root: Path, source: Source, counts: tuple[int, int, int], stream: RunContext) -> Data[Events]:
    """Return the training, validation and test events of ``source``; ``counts`` are their numbers in this order.

    Simulated events that are not stored yet are simulated. The events of a file are shuffled with a fixed seed. The
    first events are for the test, the next for training, and the last for validation. A larger training set thus
    contains each smaller one. Raises PlannerError if a file has too few events.
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
    """Check that ``there``, the number of events in a file, is at least the sum of ``counts``.

    Raises PlannerError otherwise.
    """
    if sum(counts) > there:
        train, validation, test = counts
        raise PlannerError(
            f"{FOLDER}/{source.data} contains {there:,} events, but the training run needs {train:,} for training, "
            f"{validation:,} for validation and {test:,} for the test: set smaller numbers."
        )


MOST_BYTES = 200 * 1024**2
"""Maximum size in bytes of a file that is uploaded through a page.

Users must copy larger files into the folder of the workspace.
"""
LOCK, PATIENCE = ".lock", 10.0
"""Name of the lock file of an import, and seconds that an import waits for another import to end."""


def list_files(root: Path) -> list[str]:
    """Return the sorted names of the event files in the workspace ``root`` that a training run can use."""
    folder = root / FOLDER
    there = (path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else ()
    return sorted(path.name for path in there if re.fullmatch(NAME, path.name) and path.suffix.lower() in FORMATS)


def import_file(root: Path, name: str, sent: bytes) -> None:
    """Validate the uploaded bytes ``sent`` and store them as the file ``name`` in the workspace ``root``.

    The file is stored completely or not at all. Raises PlannerError with a one-sentence message if the name is invalid
    or already used, if the file is larger than ``MOST_BYTES``, or if ``read_events`` rejects its content. The message
    contains the name of the file.
    """
    if not re.fullmatch(NAME, name):
        raise PlannerError(
            f"The file {name!r} has an invalid name: use at most 64 letters, digits, dots, hyphens and "
            "underscores, and begin with a letter or digit."
        )
    format_of(Path(name))
    if len(sent) > MOST_BYTES:
        raise PlannerError(
            f"{name} has {len(sent) / 1024**2:,.0f} MB, and at most {MOST_BYTES // 1024**2} MB can be uploaded: "
            f"copy it into the folder {FOLDER} of the workspace."
        )
    folder = root / FOLDER
    with writing(root):
        folder.mkdir(exist_ok=True)
        with hold_lock(folder / LOCK, PATIENCE) as mine:
            if not mine:
                raise PlannerError(
                    f"Another file is being uploaded to {FOLDER}: try again when that upload has finished."
                )
            if (folder / name).exists():
                raise PlannerError(
                    f"{FOLDER}/{name} already exists: give the file another name, or delete the existing file."
                )
            sweep(folder, name)
            replace(folder / name, lambda place: _write(place, name, sent))


def _write(place: Path, name: str, sent: bytes) -> None:
    """Write the bytes ``sent`` to the temporary path ``place`` and check that they are an event file.

    Raises PlannerError otherwise. The message contains ``name``, because the user does not know the temporary path.
    """
    place.write_bytes(sent)
    try:
        read_events(place)
    except PlannerError as error:
        raise PlannerError(str(error).replace(str(place), name)) from None
