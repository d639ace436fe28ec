"""Errors of a surrogate on test points, pulls that test its learned uncertainty, and intrinsic dimensions."""

from __future__ import annotations

import csv
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.special import ndtr

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.surrogate.preprocessing import LOG, Weight, deviation, mean, quantiles, unit, variance
from isoplan.trainers.backend.store.files import replace

METRICS: dict[str, Literal["min", "max"]] = dict.fromkeys(
    ("relative_median", "relative_mean", "relative_99", "epsilon", "sigma_mean"), "min"
)
"""Test metrics of a training run in addition to its loss. "min" means that a smaller value is better."""
FURTHEST = 30.0
"""Upper limit of log(A_NN / A) and of log sigma.

Predictions far from the training points can be arbitrarily large, but all numbers in a run table must be finite.
"""


def errors(guess: Floats, truth: Floats, kind: str, weight: Weight = None) -> dict[str, float]:
    """Return the errors of the predictions ``guess`` for the targets ``truth``, both (points,) and not standardised.

    A is the true amplitude and A_NN the predicted amplitude. ``kind`` is "log" (the targets are log A) or "raw" (the
    targets are A). Points are weighted with ``weight`` (points,), or equally if ``weight`` is None. The result
    contains:

    - ``loss``: mean squared error divided by the variance of the truth. If every prediction is the mean of the truth,
      the loss is 1.
    - ``spread``: standard deviation of the truth. The mean squared error without normalisation is ``loss * spread**2``.
    - ``relative_median``, ``relative_mean``, ``relative_99``: median, mean and 99 % quantile of |A_NN / A - 1|.
    - ``epsilon``: sum |A_NN - A| / sum |A| (amplitude paper, eq. 23).
    """
    if kind == LOG:
        off, share = np.expm1(np.minimum(guess - truth, FURTHEST)), np.exp(truth - truth.max())
    else:
        off, share = guess / truth - 1, np.abs(truth) / np.abs(truth).max()
    relative, counted = np.abs(off), share if weight is None else weight * share
    scale = unit(truth)
    return {
        "loss": float(mean(((guess - truth) / scale) ** 2, weight) / variance(truth / scale, weight)),
        "spread": float(deviation(truth, weight)),
        "relative_median": float(quantiles(relative, 0.5, weight)),
        "relative_mean": float(mean(relative, weight)),
        "relative_99": float(quantiles(relative, 0.99, weight)),
        "epsilon": float(np.sum(relative * counted) / np.sum(counted)),
    }


FILE = "pulls.csv"
"""Name of the file with the histogram of the pulls, in the folder of a training run."""
COLUMNS, FORMATS = ("low", "high", "points", "gaussian"), ("%.1f", "%.1f", "%.8g", "%.6g")
EDGES = np.linspace(-6, 6, 61)
"""Edges of the histogram bins of the pull t = (prediction - truth) / sigma."""


def pulls(guess: Floats, truth: Floats, sigma: Floats) -> Floats:
    """Return the pulls t = (guess - truth) / sigma of the target (log A or A), (points,).

    If the learned uncertainty sigma is correct, the pulls follow a Gaussian with mean 0 and width 1 (amplitude paper,
    eq. 16).
    """
    return (guess - truth) / sigma


def calibration(t: Floats, sigma: Floats, truth: Floats, weight: Weight = None) -> dict[str, float]:
    """Return statistics of the pulls ``t`` (points,). They show whether the learned ``sigma`` is correct.

    - ``pull_mean``, ``pull_width``: mean and standard deviation.
    - ``bulk_mean``, ``bulk_width``: median, and half of the width of the central 68.3 % interval. Outliers do not
      affect these values.
    - ``within_1``, ``within_2``: fractions of pulls between -1 and 1, and between -2 and 2. A correct sigma gives 0.683
      and 0.954.
    - ``sigma_mean``: mean of ``sigma`` divided by the standard deviation of ``truth``. The square of ``sigma_mean`` is
      comparable with the loss.

    Points are weighted as in ``errors``.
    """
    scale = unit(truth)
    low, middle, high = quantiles(t, np.asarray(ndtr([-1.0, 0.0, 1.0]), float), weight)
    return {
        "pull_mean": float(mean(t, weight)),
        "pull_width": float(np.sqrt(variance(t, weight))),
        "bulk_mean": float(middle),
        "bulk_width": float(high - low) / 2,
        "within_1": float(mean(np.abs(t) < 1, weight)),
        "within_2": float(mean(np.abs(t) < 2, weight)),
        "sigma_mean": float(mean(sigma / scale, weight) / np.sqrt(variance(truth / scale, weight))),
    }


def write_pulls(path: Path, t: Floats, weight: Weight = None) -> None:
    """Write the histogram of the pulls ``t`` to a CSV file, with the counts expected for a unit Gaussian.

    The first and the last bin also count the values outside the range of the bins.
    """
    counts, _ = np.histogram(t.clip(EDGES[0], EDGES[-1]), EDGES, weights=weight)
    below = ndtr(EDGES)
    below[0], below[-1] = 0, 1
    columns = np.column_stack([EDGES[:-1], EDGES[1:], counts, np.diff(below) * len(t)])
    replace(path, lambda place: np.savetxt(place, columns, FORMATS, ",", header=",".join(COLUMNS), comments=""))


def read_pulls(path: Path) -> tuple[Floats, Floats, Floats] | None:
    """Return bin edges (n + 1,), counts (n,) and counts expected for a unit Gaussian (n,) from a histogram file.

    Returns None if the file is missing or invalid.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [[float(row[name]) for name in COLUMNS] for row in csv.DictReader(file)]
    except (OSError, KeyError, TypeError, ValueError):
        return None
    low, high, points, gaussian = np.array(rows, float).reshape(-1, len(COLUMNS)).T
    sound = len(rows) and np.isfinite(rows).all() and points.sum() > 0 and gaussian.sum() > 0
    return (np.r_[low, high[-1]], points, gaussian) if sound else None


SUBSETS = 5
LEAST = 100
"""Minimum number of points for an estimate of the intrinsic dimension."""


def need_skdim() -> None:
    """Check that scikit-dimension is installed. Raises PlannerError otherwise."""
    if find_spec("skdim") is None:
        raise PlannerError(
            "The intrinsic dimension needs scikit-dimension: install it with pip install 'isoplan[amplitudes]', or set "
            "dimension_points to 0."
        )


def check_points(size: int, there: int) -> None:
    """Check that ``there`` points suffice for random subsets of ``size`` points.

    A subset needs at least ``LEAST`` points and at most half of all points. Larger subsets would have most points in
    common, so the spread over subsets would be too small. Raises PlannerError otherwise.
    """
    if size < LEAST:
        raise PlannerError(
            f"The intrinsic dimension of {size:,} points is too uncertain: set dimension_points to {LEAST} or more, "
            "or to 0."
        )
    if 2 * size > there:
        most = f"dimension_points to {there // 2:,} or less" if there // 2 >= LEAST else "dimension_points to 0"
        raise PlannerError(
            f"dimension_points is {size:,} and tests is {there:,}, so random subsets would contain nearly "
            f"the same points: set tests to {2 * size:,} or more, or {most}."
        )


def two_nn(points: Floats, size: int, seed: int = 0) -> tuple[float, float]:
    """Return the intrinsic dimension d of ``points`` (n, m) and its standard deviation.

    Both are computed from estimates of d on ``SUBSETS`` random subsets of ``size`` points. For each point, the ratio mu
    is the distance to the second neighbour divided by the distance to the first. The probability density of mu is
    ``d * mu**(-d - 1)`` (amplitude paper, eq. 30). Therefore d is the slope of -log(1 - F(mu)) as a function of
    log(mu), where F is the cumulative distribution. The fit omits the largest tenth of the ratios
    (``skdim.id.TwoNN``). Duplicate points are removed. Raises PlannerError if there are too few points or if
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
            f"Only {len(different):,} of {len(points):,} points remain without duplicates: this is too few for the "
            "intrinsic dimension."
        )
    near = NearestNeighbors(n_neighbors=3).fit(different).kneighbors(different)[0][:, 1:]
    return float(TwoNN(dist=True).fit(near).dimension_)
