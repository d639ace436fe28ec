"""Which runs each resample draws."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def counts(n: int, seed: int, start: int, stop: int, strata: NDArray[np.int64] | None = None) -> Floats:
    """How often each of ``n`` runs is drawn in resamples ``start`` to ``stop``: shape (stop - start, n).

    Pairs bootstrap: n draws with replacement (Efron 1979); with ``strata`` (n,) as many draws within each stratum as
    it has runs. Resample i depends on (seed, i) alone (a Philox stream keyed by both), so that blocks, threads, page
    and terminal give the same digits.
    """
    groups = [np.arange(n)] if strata is None else [np.flatnonzero(strata == s) for s in np.unique(strata)]
    out = np.empty((stop - start, n))
    for row, i in zip(out, range(start, stop), strict=True):
        random = np.random.Generator(np.random.Philox(key=np.array([seed, i], np.uint64)))
        for group in groups:
            row[group] = np.bincount(random.integers(0, len(group), len(group)), minlength=len(group))
    return out
