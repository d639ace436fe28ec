"""Which samples each update sees: pass after pass, every batch whole."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from isoplan.engine.arrays import Ints


def whole_batches(samples: int, batch: int, seed: tuple[int, ...], first: int, total: int) -> Iterator[Ints]:
    """The samples (batch,) of the updates from number ``first`` up to ``total``, of ``samples``, at least ``batch``.

    Each pass has an order of its own, which ``seed`` and its number give; the batch that ends a pass goes on with the
    next, so that every batch is whole.
    """

    @lru_cache(maxsize=2)
    def order(epoch: int) -> Ints:
        return np.random.default_rng([*seed, epoch]).permutation(samples)

    for k in range(first, total):
        epoch, at = divmod(k * batch, samples)
        chosen = order(epoch)[at : at + batch]
        rest = batch - len(chosen)
        yield np.concatenate([chosen, order(epoch + 1)[:rest]]) if rest else chosen
