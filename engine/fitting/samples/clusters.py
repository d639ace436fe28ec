"""Which runs hang together: repeats of one cell share what the law misses there, so they are resampled together."""

from __future__ import annotations

import numpy as np

from isoplan.engine.arrays import Ints
from isoplan.engine.schema import Runs


def clusters(runs: Runs) -> Ints:
    """The cluster (n,) of each run, 0 to G - 1: runs that differ only in their seed, name and targets.

    Without a column of seeds every run is its own.
    """
    if "seed" not in runs.labels:
        return np.arange(len(runs))
    targets = {"loss", *(m.column for m in runs.roles.metrics)}
    codes = [np.unique(x, return_inverse=True)[1] for name, x in runs.values.items() if name not in targets]
    codes += [np.unique(x, return_inverse=True)[1] for role, x in runs.labels.items() if role == "group"]
    found = np.zeros(len(runs), np.int64)
    for value in codes:
        found = np.unique(found * (value.max() + 1) + value, return_inverse=True)[1]
    return found
