"""Rank correlation of values without ties."""

from __future__ import annotations

import numpy as np

from isoplan.engine.arrays import Floats


def rank_correlation(x: Floats, y: Floats) -> float:
    """Spearman's correlation of ``x`` (n,) and ``y`` (n,), which hold no ties; zero where one does not vary.

    scipy's spearmanr gives the same, with a p-value and ties, in ten times the time and after 0.5 s of imports.
    """
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    a, b = (np.argsort(np.argsort(v)) for v in (x, y))
    return float(np.corrcoef(a, b)[0, 1])
