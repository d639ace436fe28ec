"""Batches and learning rates over the updates of a cell."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from isoplan.engine.arrays import Ints

WARM = 0.05
"""Share of the updates in which a cosine rises to its peak."""


def warm_cosine(peak: float, update: int, total: int) -> float:
    """The rate of update ``update`` of ``total``, from 0: up to ``peak`` linearly, then to zero by a cosine."""
    return peak * min((update + 1) / max(WARM * total, 1), 0.5 * (1 + math.cos(math.pi * update / total)))


def cosine(peak: float, update: int, total: int, least: float = 0.0) -> float:
    """The rate of update ``update`` of ``total``, from 0: ``peak`` to ``least`` by a cosine (amplitudes, eq. 22)."""
    return least + 0.5 * (peak - least) * (1 + math.cos(math.pi * update / total))


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
