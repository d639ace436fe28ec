"""Thread pool that computes blocks of work, with one thread for each core that this process may use.

All fits share the pool, so simultaneous fits wait for each other and do not overload the processor. If the result of
each block does not depend on other blocks, the results are the same for any number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

Progress = Callable[[float], None]
"""Function that receives the completed fraction of the work, 0 to 1."""


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def pool() -> ThreadPoolExecutor:
    """Return the pool of threads that all fits share."""
    return ThreadPoolExecutor(cores(), thread_name_prefix="isoplan-fit")


def over_blocks(work: Callable[[slice], None], parts: Iterable[slice], total: int, progress: Progress | None) -> None:
    """Call ``work`` for each slice in ``parts`` in the thread pool, and report the completed fraction to ``progress``.

    ``total`` is the end of the last slice. ``progress`` is called in the thread of the caller. If ``progress`` or
    ``work`` raises an exception, all slices that have not started are cancelled.
    """
    waiting = [(part, pool().submit(work, part)) for part in parts]
    try:
        for part, future in waiting:
            future.result()
            if progress:
                progress(part.stop / total)
    finally:
        for _, future in waiting:
            future.cancel()
