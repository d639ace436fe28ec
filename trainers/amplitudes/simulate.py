"""Events of a built-in process: simulated on all cores, and once for all cells that share them.

Chunk i of a stream has a seed of its own, so that the first n events are the same however many are asked for, and those
of ``train``, ``validation`` and ``test`` share nothing.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.events import Events
from isoplan.trainers.amplitudes.files import need_memory
from isoplan.trainers.amplitudes.phase_space.mapping import Mapping
from isoplan.trainers.amplitudes.phase_space.sampler import Sampler, need_vegas
from isoplan.trainers.amplitudes.phase_space.unweight import Part, Ready, Sample, gather, make_part
from isoplan.trainers.amplitudes.processes import find_process
from isoplan.trainers.backend.store.files import replace
from isoplan.trainers.backend.store.heartbeat import hold_lock
from isoplan.trainers.cell import RunContext, Stopped

AHEAD = 2
"""Parts that each process is asked for before they are taken."""


@dataclass(frozen=True)
class Request:
    """``n`` events of the built-in ``process``, at ``sqrt_s`` GeV or, where it is None, with the parton luminosity.

    Raises PlannerError for a process that there is not, an energy that none of its events has, no events, more than fit
    into memory, and a negative seed.
    """

    process: str
    n: int
    seed: int = 0
    sqrt_s: float | None = None

    def __post_init__(self) -> None:
        if self.n < 1:
            raise PlannerError(f"{self.n} events cannot be simulated: ask for at least one.")
        if self.seed < 0:
            raise PlannerError(f"The seed {self.seed} is negative: give one from 0 on.")
        need_memory(self.n, len(self.mapping.process.particles), f"{self.n:,} events of {self.process}")

    @property
    def mapping(self) -> Mapping:
        return Mapping(find_process(self.process), self.sqrt_s)


def adapt(request: Request, said: Callable[[int], None] = lambda rounds: None) -> Ready:
    """What these events are drawn from: the same for every seed and number.

    ``said`` is told how many rounds of ``ROUNDS`` are done. Raises PlannerError where vegas is not installed and where
    no point passes the cuts.
    """
    need_vegas()
    return Ready.of(Sampler(request.mapping).adapted(said=said))


def simulate(
    request: Request,
    ready: Ready,
    cores: int = 1,
    said: Callable[[int], None] = lambda events: None,
    stop: Callable[[], bool] = lambda: False,
) -> Sample:
    """The events of ``request`` from what ``adapt`` made, by ``cores`` processes.

    ``said`` is told how many there are, and ``stop`` asked, after every part. Raises Stopped, and PlannerError where a
    process dies; KeyboardInterrupt after Ctrl+C. The processes have ended by then.
    """
    with closing(_parts(partial(make_part, ready, request.seed), cores)) as parts:
        return gather(parts, request.n, ready, said, stop)


def _parts(make: Callable[[int], Part], cores: int) -> Generator[Part, None, None]:
    """All parts in their order, without end."""
    if cores == 1:
        yield from map(make, count())
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(cores, mp_context=context, initializer=_begin) as pool:
        try:
            waiting = deque(pool.submit(make, index) for index in range(AHEAD * cores))
            for index in count(AHEAD * cores):
                yield waiting.popleft().result()
                waiting.append(pool.submit(make, index))
        except BrokenProcessPool:
            raise PlannerError(
                "A process that simulated events ended, perhaps for want of memory: run the same command with fewer "
                "--cores."
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """In each process: it leaves Ctrl+C to the first one, and ends where that one has died."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, daemon=True).start()


def _follow() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


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


def load_or_simulate(folder: Path, process: str, sqrt_s: float, name: str, count: int, stream: RunContext) -> Events:
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
    chunks = [_read(_file(place, index)) for index, _, _ in wanted]
    whole = {column: np.concatenate([chunk[column] for chunk in chunks])[:count] for column in chunks[0]}
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
