"""Size of the deviation from the law that the choice of cells takes into account.

A large deviation protects the answer if the law is wrong. If the law is right, cells that are chosen for a large
deviation determine the answer less precisely. This loss of precision is limited.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from isoplan.engine.design.linear_models import LinearModels

PREMIUM = 1.2
"""Largest factor by which the hedge may increase the standard deviation of the answer if the law is right."""
FACTORS = (1.0, 0.5, 0.25)
"""Sizes of the deviation that are tried, relative to that of ``covariance``."""


def affordable(models: LinearModels, best: Callable[[LinearModels], tuple[int, ...]]) -> LinearModels:
    """Return ``models`` with the largest deviation of ``FACTORS`` that is not too expensive, or without a deviation.

    ``best(models)`` returns the best set of cells for linear models. A deviation is too expensive if its best set gives
    an answer whose standard deviation, if the law is right, exceeds that of the best set without a deviation by more
    than the factor ``PREMIUM``.
    """
    right = models.deviating(0)
    limit = right.after(best(right)).remaining + 2 * math.log(PREMIUM) * float(models.weight.sum())
    for factor in FACTORS:
        hedged = models.deviating(factor)
        if right.after(best(hedged)).remaining <= limit:
            return hedged
    return right
