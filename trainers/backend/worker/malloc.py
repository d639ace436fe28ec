"""The heap while a cell trains: what an update frees is kept for the next one."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

TRIM, MMAP = -1, -3
"""M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of glibc's mallopt."""
KEPT = 2**30
"""Bytes at the end of the heap that may be free."""
LARGEST = 2**25
"""Bytes of an array up to which it comes from the heap; glibc takes no more."""


@contextlib.contextmanager
def reuse_freed_memory() -> Iterator[None]:
    """Until the context ends, memory that is freed stays with this process, and goes back to the system afterwards.

    Dask has its workers give every freed page back, so that an update would spend up to half of its time on getting
    the pages of its activations again. Without glibc nothing is done.
    """
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallopt"):
        yield
        return
    libc.mallopt(TRIM, KEPT)
    libc.mallopt(MMAP, LARGEST)
    try:
        yield
    finally:
        libc.malloc_trim(0)
