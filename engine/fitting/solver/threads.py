"""Blocks of work over one pool of threads, as many as this process may use cores.

All fits share the pool, so many at once wait for each other instead of crowding the machine. What a block computes must
not depend on the others; then 1, 2 and 16 threads give the same digits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

Progress = Callable[[float], None]
"""Receives the share of the work that is done, 0 to 1."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def pool() -> ThreadPoolExecutor:
    """The threads."""
    return ThreadPoolExecutor(cores(), thread_name_prefix="isoplan-fit")


def over_blocks(work: Callable[[slice], None], parts: Iterable[slice], total: int, progress: Progress | None) -> None:
    """Call ``work`` on every slice of ``total``; ``progress`` hears from this thread the share that is done.

    When ``progress`` or a block raises, blocks that have not begun are dropped.
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
