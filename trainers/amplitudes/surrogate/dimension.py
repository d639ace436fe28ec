"""Intrinsic dimension from the distances to the two nearest neighbours (amplitudes, App. B; Facco et al. 2017)."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError

SUBSETS = 5
LEAST = 100
"""Minimum number of points for a meaningful estimate."""


def need_skdim() -> None:
    """Check that scikit-dimension is installed. Raises PlannerError otherwise."""
    if find_spec("skdim") is None:
        raise PlannerError(
            "The intrinsic dimension needs scikit-dimension: install it with pip install 'isoplan[amplitudes]', or set "
            "dimension_points to 0."
        )


def check_points(size: int, there: int) -> None:
    """Check that subsets of ``size`` points are large enough and at most half of the points ``there``.

    Estimates on nearly the same points, or on all points, have no spread. Raises PlannerError otherwise.
    """
    if size < LEAST:
        raise PlannerError(
            f"The intrinsic dimension of {size:,} points says nothing: take subsets of {LEAST} or more, or none (0)."
        )
    if 2 * size > there:
        most = f"dimension_points to {there // 2:,} or less" if there // 2 >= LEAST else "dimension_points to 0"
        raise PlannerError(
            f"The spread of the intrinsic dimension is that over random subsets of {size:,} points (dimension_points), "
            f"and of {there:,} (tests) they would be nearly the same: set tests to {2 * size:,} or more, or {most}."
        )


def two_nn(points: Floats, size: int, seed: int = 0) -> tuple[float, float]:
    """Return the intrinsic dimension of ``points`` (n, m): mean and spread over ``SUBSETS`` random subsets.

    The subsets have ``size`` points. The ratio mu of the distances to the second and the first neighbour has the
    density d mu^(-d-1) (eq. 30); d is the slope of -log(1 - F(mu)) over log(mu), without the largest tenth of the
    ratios (``skdim.id.TwoNN``). Duplicate points are left out. Raises PlannerError if there are too few points or
    scikit-dimension is not installed.
    """
    check_points(size, len(points))
    need_skdim()
    rng = np.random.default_rng(seed)
    found = [_one(points[rng.choice(len(points), size, replace=False)]) for _ in range(SUBSETS)]
    return float(np.mean(found)), float(np.std(found, ddof=1))


def _one(points: Floats) -> float:
    from skdim.id import TwoNN
    from sklearn.neighbors import NearestNeighbors

    different = np.unique(points, axis=0)
    if len(different) < LEAST:
        raise PlannerError(
            f"Only {len(different):,} of {len(points):,} points differ: their intrinsic dimension says nothing."
        )
    near = NearestNeighbors(n_neighbors=3).fit(different).kneighbors(different)[0][:, 1:]
    return float(TwoNN(dist=True).fit(near).dimension_)
