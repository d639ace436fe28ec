"""Events of a built-in process, simulated on all cores, and once for all cells that use the same events.

Chunk i of a stream has its own seed, so that the first n events do not depend on the number that is requested. The
streams ``train``, ``validation`` and ``test`` share no events.
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
from isoplan.trainers.amplitudes.phase_space.sampler import Part, Ready, Sample, Sampler, gather, make_part, need_vegas
from isoplan.trainers.amplitudes.processes import find_process
from isoplan.trainers.backend.store.files import replace
from isoplan.trainers.backend.store.heartbeat import hold_lock
from isoplan.trainers.cell import RunContext, Stopped

AHEAD = 2
"""Number of parts per process that are submitted in advance."""


@dataclass(frozen=True)
class Request:
    """A request for ``n`` events of a built-in process, at ``sqrt_s`` GeV or (None) with the parton luminosity.

    Raises PlannerError if the process is unknown, no event has this energy, ``n`` is less than one, the events do not
    fit into memory, or the seed is negative.
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
    """Return the adapted sampler for a request; it is the same for every seed and number of events.

    ``said`` is called with the number of completed rounds of ``ROUNDS``. Raises PlannerError if vegas is not installed
    or no point passes the cuts.
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
    """Simulate the events of ``request`` with the result of ``adapt`` on ``cores`` processes.

    After every part ``said`` is called with the number of events, and ``stop`` is called. Raises Stopped if ``stop``
    returns True, PlannerError if a process dies, and KeyboardInterrupt after Ctrl+C. All processes have ended by then.
    """
    with closing(_parts(partial(make_part, ready, request.seed), cores)) as parts:
        return gather(parts, request.n, ready, said, stop)


def _parts(make: Callable[[int], Part], cores: int) -> Generator[Part, None, None]:
    """Yield all parts in order, without end."""
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
    """Initialise a worker process: it ignores Ctrl+C and exits if the main process has died."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, daemon=True).start()


def _follow() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


Columns = dict[str, NDArray[np.float64]]
STREAMS = {"train": 20_260_101, "validation": 20_260_102, "test": 20_260_103}
"""Seeds of the disjoint sets of events, chosen so that users are unlikely to use them."""
SEEDS = 100_000
"""Maximum number of chunks of a stream."""
FIRST, CHUNK = 1_000, 8_000
"""Events of the first chunk, and maximum per chunk. Each chunk is twice as large as the previous one up to there."""
SAMPLER, READY = 1, "ready.npz"
"""Version of the sampler (increase it if the same seed gives other events), and the file of the adapted sampler."""
PAUSE = 0.2
"""Seconds between two checks for a file that another cell is writing."""


def load_or_simulate(folder: Path, process: str, sqrt_s: float, name: str, count: int, stream: RunContext) -> Events:
    """Return the first ``count`` events of the stream ``name``; waiting cells make the missing ones together.

    ``sqrt_s`` in GeV, 0 for the energies of partons in protons. Raises Stopped if the cell must end, and PlannerError
    if vegas is not installed or no event has this energy.
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
    """Make a chunk. Raises Stopped if the cell must end."""
    events = simulate(request, ready, said=lambda _: stream.step(0)).events
    return {"momenta": events.momenta, "amplitude": events.amplitude, "weight": events.weight}


def _ready(home: Path, request: Request, stream: RunContext) -> Ready:
    """Return the adapted sampler of a process. The first cell that needs it adapts it."""
    path = home / READY

    def make() -> Columns:
        ready = adapt(request, lambda _: stream.step(0))
        return {"grid": np.asarray(ready.sampler.grid), "floor": np.array(ready.floor)}

    while not path.exists():
        _once(path, make, stream)
    found = _read(path)
    return Ready(Sampler(request.mapping, found["grid"]), float(found["floor"]))


def _ladder() -> Iterator[tuple[int, int, int]]:
    """Yield the number of each chunk, the number of events before it, and its number of events."""
    before = 0
    for index in itertools.count():
        size = min(FIRST * 2**index, CHUNK)
        yield index, before, size
        before += size


def _file(place: Path, index: int) -> Path:
    return place / f"{index:05d}.npz"


def _once(path: Path, make: Callable[[], Columns], stream: RunContext) -> None:
    """Write the file ``path`` unless it exists or another cell is writing it. Raises Stopped if the cell must end."""
    if stream.stopping:
        raise Stopped
    with hold_lock(path.with_suffix(".lock")) as mine:
        if not mine:
            time.sleep(PAUSE)
        elif not path.exists():
            columns = make()
            replace(path, lambda place: _write(place, columns))


def _write(place: Path, columns: Columns) -> None:
    with place.open("wb") as file:  # open file: numpy changes the name of a path
        np.savez(file, allow_pickle=False, **columns)


def _read(path: Path) -> Columns:
    with np.load(path, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}
