"""Unweighted events of built-in processes that cells share: made once, chunk by chunk, and kept in the workspace.

Chunk i of a stream has a seed of its own, so that the first n events are the same however many are asked for, and those
of ``train``, ``validation`` and ``test`` share nothing.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from isoplan.trainers.amplitudes.events import Events
from isoplan.trainers.amplitudes.phase_space.sampler import Sampler
from isoplan.trainers.amplitudes.phase_space.unweight import Ready
from isoplan.trainers.amplitudes.simulate import Request, adapt, simulate
from isoplan.trainers.backend.store.files import replace
from isoplan.trainers.backend.store.heartbeat import hold_lock
from isoplan.trainers.cell import RunContext, Stopped

Columns = dict[str, NDArray[np.float64]]
STREAMS = {"train": 20_260_101, "validation": 20_260_102, "test": 20_260_103}
"""Sets of events that share none, and their seeds, which nobody types by chance."""
SEEDS = 100_000
"""Chunks of a stream at most."""
FIRST, CHUNK = 1_000, 8_000
"""Events of the first chunk and at most; each has twice as many as the one before, so that small cells wait little."""
SAMPLER, READY = 1, "ready.npz"
"""To be raised where the same seed gives other events; and the file of what those of a process are drawn from."""
PAUSE = 0.2
"""Seconds between two looks at what another cell makes."""


def simulated(folder: Path, process: str, sqrt_s: float, name: str, count: int, stream: RunContext) -> Events:
    """The first ``count`` events of the stream ``name``; those that are missing are made, by all who wait for them.

    ``sqrt_s`` in GeV, 0 for that of partons in protons. Raises Stopped where the cell must end, and PlannerError where
    vegas is not installed or no event has that energy.
    """
    home = folder / f"{process}-{sqrt_s:g}-{SAMPLER}"
    place = home / name
    place.mkdir(parents=True, exist_ok=True)
    wanted = list(itertools.takewhile(lambda chunk: chunk[1] < count, _ladder()))
    total = float(sum(size for _, _, size in wanted))
    while missing := [chunk for chunk in wanted if not _file(place, chunk[0]).exists()]:
        ready = _ready(home, Request(process, 1, 0, sqrt_s or None), stream)
        for index, before, size in missing:
            stream.step(0, None, simulated=float(before), to_simulate=total)
            request = Request(process, size, STREAMS[name] * SEEDS + index, sqrt_s or None)
            _once(_file(place, index), partial(_made, request, ready, stream), stream)
    found = [_read(_file(place, index)) for index, _, _ in wanted]
    whole = {column: np.concatenate([chunk[column] for chunk in found])[:count] for column in found[0]}
    return Events(**whole, process=process)


def _made(request: Request, ready: Ready, stream: RunContext) -> Columns:
    """A chunk. Raises Stopped where the cell must end."""
    events = simulate(request, ready, said=lambda _: stream.step(0)).events
    return {"momenta": events.momenta, "amplitude": events.amplitude, "weight": events.weight}


def _ready(home: Path, request: Request, stream: RunContext) -> Ready:
    """What the events of a process are drawn from, adapted by whoever comes first."""
    path = home / READY

    def make() -> Columns:
        ready = adapt(request, lambda _: stream.step(0))
        return {"grid": np.asarray(ready.sampler.grid), "floor": np.array(ready.floor)}

    while not path.exists():
        _once(path, make, stream)
    found = _read(path)
    return Ready(Sampler(request.mapping, found["grid"]), float(found["floor"]))


def _ladder() -> Iterator[tuple[int, int, int]]:
    """Number, events before it, and events of each chunk."""
    before = 0
    for index in itertools.count():
        size = min(FIRST * 2**index, CHUNK)
        yield index, before, size
        before += size


def _file(place: Path, index: int) -> Path:
    return place / f"{index:05d}.npz"


def _once(path: Path, make: Callable[[], Columns], stream: RunContext) -> None:
    """Write the file ``path``, unless it is there or another cell is at it. Raises Stopped where the cell must end."""
    if stream.stopping:
        raise Stopped
    with hold_lock(path.with_suffix(".lock")) as mine:
        if not mine:
            time.sleep(PAUSE)
        elif not path.exists():
            columns = make()
            replace(path, lambda place: _write(place, columns))


def _write(place: Path, columns: Columns) -> None:
    with place.open("wb") as file:  # by its name numpy gives it another end
        np.savez(file, allow_pickle=False, **columns)


def _read(path: Path) -> Columns:
    with np.load(path, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}
