"""Compiled version of ``isoplan.engine.fitting.solver.philox``, with the same random numbers."""

from __future__ import annotations

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting.solver.kernels.jit import kernel
from isoplan.engine.fitting.solver.philox import BUMP, LOW, MULTIPLY, ROUNDS

_LOW, _HALF = np.uint64(LOW), np.uint64(32)
_FIRST, _SECOND = np.uint64(MULTIPLY[0]), np.uint64(MULTIPLY[1])
_BUMP_ONE, _BUMP_OTHER = np.uint64(BUMP[0]), np.uint64(BUMP[1])


@kernel
def draw(seed: np.uint64, start: int, size: Ints, first: Ints, order: Ints, out: Floats) -> None:
    """Add to ``out`` (r, n) how often each run is drawn in the resamples ``start`` to ``start`` + r.

    See ``philox.draw``.
    """
    draws = len(size)
    word = np.empty((4, -(-draws // 4)), np.uint64)
    for r in range(len(out)):
        stream = np.uint64(start + r)
        for block in range(word.shape[1]):
            a, b, c, d = np.uint64(block), stream & _LOW, stream >> _HALF, np.uint64(0)
            one, other = seed & _LOW, seed >> _HALF
            for _ in range(ROUNDS):
                x, y = _FIRST * a, _SECOND * c
                a, b, c, d = (y >> _HALF) ^ b ^ one, y & _LOW, (x >> _HALF) ^ d ^ other, x & _LOW
                one, other = (one + _BUMP_ONE) & _LOW, (other + _BUMP_OTHER) & _LOW
            word[0, block], word[1, block], word[2, block], word[3, block] = a, b, c, d
        for j in range(draws):
            picked = (word[j & 3, j >> 2] * np.uint64(size[j])) >> _HALF
            out[r, order[first[j] + np.int64(picked)]] += 1.0
