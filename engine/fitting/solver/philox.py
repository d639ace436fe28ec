"""Random numbers that are a function of a seed and a counter. The generator has no state.

Philox4x32-10 computes four random words of 32 bits from a key and a counter, in ten rounds of multiplication (Salmon et
al. 2011, SC '11, "Parallel random numbers: as easy as 1, 2, 3"). The key is the seed. For word j of stream i, the
counter consists of j // 4 and i. numpy and the compiled kernels therefore draw the same numbers, in any order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats, Ints

Words = NDArray[np.uint64]

ROUNDS = 10
MULTIPLY = (0xD2511F53, 0xCD9E8D57)
BUMP = (0x9E3779B9, 0xBB67AE85)
LOW = 0xFFFFFFFF


def philox(counter: Words, key: tuple[int, int]) -> Words:
    """Return four random words of 32 bits (4, ...) from a counter of four words (4, ...) and a key of two words."""
    a, b, c, d = counter
    low, half = np.uint64(LOW), np.uint64(32)
    for r in range(ROUNDS):
        one, other = (np.uint64((k + r * bump) & LOW) for k, bump in zip(key, BUMP, strict=True))
        first, second = np.uint64(MULTIPLY[0]) * a, np.uint64(MULTIPLY[1]) * c
        a, b, c, d = (second >> half) ^ b ^ one, second & low, (first >> half) ^ d ^ other, first & low
    return np.stack([a, b, c, d])


def words(seed: int, start: int, stop: int, count: int) -> Words:
    """Return the first ``count`` words of each stream from ``start`` to ``stop``: shape (stop - start, count)."""
    stream = np.arange(start, stop, dtype=np.uint64)[:, None]
    block = np.arange(-(-count // 4), dtype=np.uint64)[None]
    counter = np.broadcast_arrays(block, stream & np.uint64(LOW), stream >> np.uint64(32), np.uint64(0))
    found = philox(np.stack(counter), (seed & LOW, seed >> 32))
    return np.moveaxis(found, 0, -1).reshape(stop - start, 4 * block.size)[:, :count]


def draw(seed: int, start: int, stop: int, size: Ints, first: Ints, order: Ints) -> Floats:
    """Return how often each of n runs is drawn in the resamples ``start`` to ``stop``: shape (stop - start, n).

    Draw j chooses one of the runs ``order[first[j] : first[j] + size[j]]``. The probabilities of these runs are equal
    within 2^-32.
    """
    total, n = stop - start, len(order)
    pick = order[first + ((words(seed, start, stop, len(size)) * size.astype(np.uint64)) >> np.uint64(32)).astype(int)]
    place = pick + n * np.arange(total)[:, None]
    return np.bincount(place.ravel(), minlength=total * n).reshape(total, n).astype(float)
