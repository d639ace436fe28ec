"""Errors of a surrogate on test points, and pulls of its learned uncertainty (eq. 16)."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.special import ndtr

from isoplan.engine.arrays import Floats
from isoplan.trainers.amplitudes.surrogate.standard import LOG, Weight, deviation, mean, quantiles, unit, variance
from isoplan.trainers.backend.store.files import replace

METRICS: dict[str, Literal["min", "max"]] = dict.fromkeys(
    ("relative_median", "relative_mean", "relative_99", "epsilon", "sigma_mean"), "min"
)
"""The metrics of a cell and the direction that is better, beside its loss."""
FURTHEST = 30.0
"""Log of A_NN / A and of sigma at most: of points far from those that were learned a guess may be anything, but a row
holds finite numbers."""


def errors(guess: Floats, truth: Floats, kind: str, weight: Weight = None) -> dict[str, float]:
    """Errors of ``guess`` for the targets ``truth``, both (points,) and before standardisation, of ``kind`` log or raw.

    ``loss`` is the mean squared error over the variance of the truth: that of the standardised target, 1 for whoever
    guesses the mean. ``spread`` is the root of that variance, the standard deviation of log A (of A in its unit where
    ``kind`` is raw): loss x spread^2 is in the units of the target. ``relative_median``, ``relative_mean`` and
    ``relative_99`` (99 % of the points are better) are of |A_NN / A - 1|, and ``epsilon`` is sum |A_NN - A| / sum |A|
    (eq. 23). Each point counts with its ``weight`` (points,), all alike where it is None.
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
"""The histogram in the folder of a cell."""
COLUMNS = ("low", "high", "points", "gaussian")
EDGES = np.linspace(-6, 6, 61)
"""In units of sigma."""


def pulls(guess: Floats, truth: Floats, sigma: Floats) -> Floats:
    """t = (guess - truth) / sigma of the target that was learned, log A or A, (points,): a unit Gaussian if sigma is
    right (eq. 16).
    """
    return (guess - truth) / sigma


def calibration(t: Floats, sigma: Floats, truth: Floats, weight: Weight = None) -> dict[str, float]:
    """Mean and width of the pulls ``t``, the same of their bulk (the median, and half of what holds the central 68.3 %,
    which tails do not move), the shares within 1 and 2 sigma (0.683 and 0.954 where sigma is right), and the mean of
    ``sigma`` in units of the spread of ``truth``, so that its square compares with the loss;
    with weights as ``errors``.
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
    """Keep the histogram of the pulls ``t`` as CSV beside what a unit Gaussian would give; the ends hold all beyond."""
    counts, _ = np.histogram(t.clip(EDGES[0], EDGES[-1]), EDGES, weights=weight)
    below = ndtr(EDGES)
    below[0], below[-1] = 0, 1
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(COLUMNS)
    expected = np.diff(below) * len(t)
    for low, high, points, gaussian in zip(EDGES[:-1], EDGES[1:], counts, expected, strict=True):
        out.writerow((f"{low:.1f}", f"{high:.1f}", f"{points:.8g}", f"{gaussian:.6g}"))
    replace(path, lambda place: _write(place, text.getvalue()))


def _write(place: Path, text: str) -> None:
    place.write_text(text, encoding="utf-8")


def read_pulls(path: Path) -> tuple[Floats, Floats, Floats] | None:
    """Edges (n + 1), points (n) and those of a unit Gaussian (n) of a histogram; None where it is not there or bad."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [[float(row[name]) for name in COLUMNS] for row in csv.DictReader(file)]
    except (OSError, KeyError, TypeError, ValueError):
        return None
    low, high, points, gaussian = np.array(rows, float).reshape(-1, len(COLUMNS)).T
    sound = len(rows) and np.isfinite(rows).all() and points.sum() > 0 and gaussian.sum() > 0
    return (np.r_[low, high[-1]], points, gaussian) if sound else None
