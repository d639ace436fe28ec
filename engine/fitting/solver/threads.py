"""Execution of blocks of work in one pool of threads, one thread for each core that this process may use.

All fits share the pool, so that concurrent fits wait for each other instead of overloading the machine. The result of a
block must not depend on other blocks; then 1, 2 and 16 threads give the same digits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

Progress = Callable[[float], None]
"""Function that receives the fraction of the work that is done, 0 to 1."""


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def pool() -> ThreadPoolExecutor:
    """Return the pool of threads."""
    return ThreadPoolExecutor(cores(), thread_name_prefix="isoplan-fit")


def over_blocks(work: Callable[[slice], None], parts: Iterable[slice], total: int, progress: Progress | None) -> None:
    """Call ``work`` on every slice of ``total``; ``progress`` is called in this thread with the completed fraction.

    If ``progress`` or a block raises, blocks that have not started are cancelled.
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
