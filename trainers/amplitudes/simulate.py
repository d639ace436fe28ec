"""Events of a built-in process, made by as many processes as there are cores: the same events by any number."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import count

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.files import need_memory
from isoplan.trainers.amplitudes.phase_space.mapping import Mapping
from isoplan.trainers.amplitudes.phase_space.sampler import Sampler, need_vegas
from isoplan.trainers.amplitudes.phase_space.unweight import Part, Ready, Sample, gather, make_part
from isoplan.trainers.amplitudes.processes import find_process

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
