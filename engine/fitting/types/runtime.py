"""Runtime of runs as a function of N and D, for models too small for a fixed fraction of a device's peak.

    seconds = start + sample * D + product * N * D

``start`` is the time to start, ``sample`` the time of a sample for any model, and ``product`` that of the arithmetic,
which is proportional to N D under every compute rule. All three are zero or larger; they are fitted to relative errors
(``scipy.optimize.nnls``) and scaled so that half of the runs took longer. docs/time.md shows the accuracy of the
predictions.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from isoplan.engine.arrays import Floats

NotNegative = Annotated[float, Field(ge=0)]
FEWEST = 4
"""Smallest number of runs with a time for which the three coefficients are fitted."""
NORMAL = 1.4826
"""Ratio of the standard deviation of a normal distribution to its median absolute deviation."""


@dataclass(frozen=True)
class Runtime:
    """Seconds of a run: ``start`` [s], ``sample`` [s] for each of D, ``product`` [s] for each of N D.

    ``scatter`` is the standard deviation of log seconds around the fit, ``runs`` the number of runs, and ``column`` the
    column of their seconds.
    """

    start: NotNegative
    sample: NotNegative
    product: NotNegative
    scatter: NotNegative
    runs: Annotated[int, Field(ge=0)]
    column: str = ""

    def seconds(self, N: ArrayLike, D: ArrayLike) -> Floats:
        """Return the seconds of runs with ``N`` parameters and ``D`` samples, arrays of one shape; NaN without
        either.
        """
        N, D = np.asarray(N, float), np.asarray(D, float)
        with np.errstate(all="ignore"):
            return np.asarray(self.start + self.sample * D + self.product * N * D, float)

    def to_json(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return asdict(self)


def fit_runtime(N: Floats, D: Floats, seconds: Floats, column: str = "") -> Runtime | None:
    """Fit the runtime of runs with ``N``, ``D`` and ``seconds``, (n,) each; None with fewer than ``FEWEST`` such
    runs.
    """
    from scipy.optimize import nnls

    there = np.isfinite(N) & np.isfinite(D) & np.isfinite(seconds) & (N > 0) & (D > 0) & (seconds > 0)
    N, D, seconds = (x[there] for x in (N, D, seconds))
    if len(seconds) < FEWEST:
        return None
    parts = np.stack([np.ones_like(N), D, N * D], axis=1)
    size = np.median(parts, axis=0)
    found = nnls(parts / size / seconds[:, None], np.ones_like(N))[0] / size
    ratio = np.log(seconds / (parts @ found))
    middle = float(np.median(ratio))
    scatter = NORMAL * float(np.median(np.abs(ratio - middle)))
    start, sample, product = (float(x) * math.exp(middle) for x in found)
    return Runtime(start, sample, product, scatter, len(seconds), column)
