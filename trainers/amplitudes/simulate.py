"""Simulation of events of a built-in process on several CPU cores. Training runs with equal settings share events.

There are three streams of events: ``train``, ``validation`` and ``test``. They have no events in common. The events of
a stream are stored in chunks. Each chunk has its own seed, so the first n events do not depend on the number of
requested events.
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
"""Number of parts of the sample that are queued per worker process, so that no worker is idle."""


@dataclass(frozen=True)
class Request:
    """A request for ``n`` events of a built-in process.

    ``sqrt_s`` is the fixed energy in GeV. If ``sqrt_s`` is None, the energy varies with the parton luminosity. Raises
    PlannerError if the process is unknown, no event has this energy, ``n`` is less than one, the events do not fit into
    memory, or the seed is negative.
    """

    process: str
    n: int
    seed: int = 0
    sqrt_s: float | None = None

    def __post_init__(self) -> None:
        if self.n < 1:
            raise PlannerError(f"{self.n} events cannot be simulated: request at least one.")
        if self.seed < 0:
            raise PlannerError(f"The seed {self.seed} is negative: give 0 or a positive number.")
        need_memory(self.n, len(self.mapping.process.particles), f"{self.n:,} events of {self.process}")

    @property
    def mapping(self) -> Mapping:
        return Mapping(find_process(self.process), self.sqrt_s)


def adapt(request: Request, said: Callable[[int], None] = lambda rounds: None) -> Ready:
    """Return the adapted sampler for a request.

    The sampler does not depend on the seed and the number of events of the request. ``said`` is called with the number
    of completed rounds; ``ROUNDS`` is the total number. Raises PlannerError if vegas is not installed or no point
    passes the cuts.
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
    """Simulate the events of ``request`` in ``cores`` processes, with the adapted sampler ``ready``.

    After each part of the sample, ``said`` is called with the number of events so far, and ``stop`` is called. Raises
    Stopped if ``stop`` returns True, PlannerError if a process dies, and KeyboardInterrupt after Ctrl+C. In all cases
    the processes have ended before the function returns or raises.
    """
    with closing(_parts(partial(make_part, ready, request.seed), cores)) as parts:
        return gather(parts, request.n, ready, said, stop)


def _parts(make: Callable[[int], Part], cores: int) -> Generator[Part, None, None]:
    """Yield ``make(0)``, ``make(1)``, ... in this order without end, computed by ``cores`` worker processes."""
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
                "A process that simulated events ended, perhaps because memory was too small: run the same "
                "command with fewer "
                "--cores."
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """Initialise a worker process: it ignores Ctrl+C, and it exits when the main process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, daemon=True).start()


def _follow() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


Columns = dict[str, NDArray[np.float64]]
STREAMS = {"train": 20_260_101, "validation": 20_260_102, "test": 20_260_103}
"""Seed of each stream of events. Users are unlikely to choose one of these numbers as a seed."""
SEEDS = 100_000
"""Maximum number of chunks of a stream. The seed of chunk i is (seed of the stream) * SEEDS + i."""
FIRST, CHUNK = 1_000, 8_000
"""Number of events of the first chunk, and maximum number of events of a chunk.

Each chunk is twice as large as the previous one, up to the maximum.
"""
SAMPLER, READY = 1, "ready.npz"
"""Version of the sampler, and name of the file with the adapted sampler.

Increase the version if a change of the code gives other events for a seed.
"""
PAUSE = 0.2
"""Time in seconds between two checks whether another training run has finished writing a file."""


def load_or_simulate(folder: Path, process: str, sqrt_s: float, name: str, count: int, stream: RunContext) -> Events:
    """Return the first ``count`` events of the stream ``name``. Simulate the chunks that are not stored yet.

    Training runs that need the same chunks at the same time divide the work: only one of them simulates each chunk.
    ``sqrt_s`` is in GeV. If ``sqrt_s`` is 0, the energy varies as for partons in protons. Raises Stopped if the
    training run must end. Raises PlannerError if vegas is not installed, or if no event can have the energy ``sqrt_s``.
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
    """Simulate a chunk of events and return its arrays by name. Raises Stopped if the training run must end."""
    events = simulate(request, ready, said=lambda _: stream.step(0)).events
    return {"momenta": events.momenta, "amplitude": events.amplitude, "weight": events.weight}


def _ready(home: Path, request: Request, stream: RunContext) -> Ready:
    """Return the adapted sampler of a process from the folder ``home``.

    If the folder does not contain the sampler yet, the function adapts and stores it.
    """
    path = home / READY

    def make() -> Columns:
        ready = adapt(request, lambda _: stream.step(0))
        return {"grid": np.asarray(ready.sampler.grid), "floor": np.array(ready.floor)}

    while not path.exists():
        _once(path, make, stream)
    found = _read(path)
    return Ready(Sampler(request.mapping, found["grid"]), float(found["floor"]))


def _ladder() -> Iterator[tuple[int, int, int]]:
    """Yield for each chunk: its number, the number of events in all earlier chunks, and its number of events."""
    before = 0
    for index in itertools.count():
        size = min(FIRST * 2**index, CHUNK)
        yield index, before, size
        before += size


def _file(place: Path, index: int) -> Path:
    return place / f"{index:05d}.npz"


def _once(path: Path, make: Callable[[], Columns], stream: RunContext) -> None:
    """Write the result of ``make`` to ``path`` unless the file exists.

    If another training run is writing the file, the function waits ``PAUSE`` seconds and returns, even if the file does
    not exist yet. Raises Stopped if the training run must end.
    """
    if stream.stopping:
        raise Stopped
    with hold_lock(path.with_suffix(".lock")) as mine:
        if not mine:
            time.sleep(PAUSE)
        elif not path.exists():
            columns = make()
            replace(path, lambda place: _write(place, columns))


def _write(place: Path, columns: Columns) -> None:
    with place.open("wb") as file:  # np.savez would append .npz to the name of a path
        np.savez(file, allow_pickle=False, **columns)


def _read(path: Path) -> Columns:
    with np.load(path, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}
