"""Learning rates over the updates of a cell."""

from __future__ import annotations

import math

WARM = 0.05
"""Share of the updates in which a cosine rises to its peak."""


def warm_cosine(peak: float, update: int, total: int) -> float:
    """The rate of update ``update`` of ``total``, from 0: up to ``peak`` linearly, then to zero by a cosine."""
    return peak * min((update + 1) / max(WARM * total, 1), 0.5 * (1 + math.cos(math.pi * update / total)))


def cosine(peak: float, update: int, total: int, least: float = 0.0) -> float:
    """The rate of update ``update`` of ``total``, from 0: ``peak`` to ``least`` by a cosine (amplitudes, eq. 22)."""
    return least + 0.5 * (peak - least) * (1 + math.cos(math.pi * update / total))
