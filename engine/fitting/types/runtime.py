"""Runtime of runs as a function of N and D, for models too small to reach a fixed fraction of the peak of a device.

    seconds = start + sample * D + product * N * D

``start`` is the time to start a run. ``sample`` is the time per sample that does not depend on the size of the model.
``product`` is the time of the arithmetic, which is proportional to N D in the simplest compute rules. The three
coefficients are not negative. They minimise the relative errors (``scipy.optimize.nnls``), and are then scaled such
that half of the runs took longer than predicted. docs/time.md shows the accuracy of the predictions.
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
"""Minimum number of runs with a measured time to fit the three coefficients."""
NORMAL = 1.4826
"""Standard deviation of a normal distribution divided by its median absolute deviation."""


@dataclass(frozen=True)
class Runtime:
    """Runtime of runs: ``start`` in seconds, ``sample`` in seconds per sample, ``product`` in seconds per unit of N D.

    ``scatter`` is the standard deviation of ln(seconds) about the fit, ``runs`` the number of fitted runs, and
    ``column`` the name of the column with their times.
    """

    start: NotNegative
    sample: NotNegative
    product: NotNegative
    scatter: NotNegative
    runs: Annotated[int, Field(ge=0)]
    column: str = ""

    def seconds(self, N: ArrayLike, D: ArrayLike) -> Floats:
        """Return the seconds of runs with ``N`` parameters and ``D`` samples; NaN where N or D is NaN."""
        N, D = np.asarray(N, float), np.asarray(D, float)
        with np.errstate(all="ignore"):
            return np.asarray(self.start + self.sample * D + self.product * N * D, float)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a dict for JSON."""
        return asdict(self)


def fit_runtime(N: Floats, D: Floats, seconds: Floats, column: str = "") -> Runtime | None:
    """Return the runtime fitted to runs with ``N``, ``D`` and ``seconds``, each (n,).

    The result is None if fewer than ``FEWEST`` runs have positive N, D and seconds.
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
