"""Number of times that each resample draws each run."""

from __future__ import annotations

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting.solver import kernels


def counts(n: int, seed: int, start: int, stop: int, strata: Ints | None = None) -> Floats:
    """Return how often each of ``n`` runs is drawn in resamples ``start`` to ``stop``: shape (stop - start, n).

    Pairs bootstrap: n draws with replacement (Efron 1979); with ``strata`` (n,) as many draws within each stratum as it
    has runs. Resample i depends on (seed, i) alone (stream i of ``philox``), so that blocks, threads, page and
    terminal, and numpy and the compiled kernels, give the same digits.
    """
    group = np.zeros(n, np.int64) if strata is None else np.unique(strata, return_inverse=True)[1]
    sizes = np.bincount(group, minlength=1)
    size, first = np.repeat(sizes, sizes), np.repeat(np.cumsum(sizes) - sizes, sizes)
    engine = kernels.compiled(0) or kernels.NUMPY
    return engine.draw(seed, start, stop, size, first, np.argsort(group, kind="stable"))
