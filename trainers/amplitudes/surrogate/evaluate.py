"""What a surrogate is worth on test points: its error, relative errors of the amplitude, and pulls (eq. 16)."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from trainers.amplitudes.surrogate.standard import LOG
from trainers.backend.files import replace

Real = NDArray[np.float64]
METRICS: dict[str, Literal["min", "max"]] = dict.fromkeys(
    ("relative_median", "relative_mean", "relative_99", "epsilon", "sigma_mean"), "min"
)
"""The metrics of a cell and the direction that is better, beside its loss."""
FURTHEST = 30.0
"""Log of A_NN / A and of sigma at most: of points far from those that were learned a guess may be anything, but a row
holds finite numbers."""
EDGES = np.linspace(-6, 6, 61)


def errors(guess: Real, truth: Real, kind: str) -> dict[str, float]:
    """Errors of ``guess`` for the targets ``truth``, both (points,) and before standardisation, of ``kind`` log or raw.

    ``loss`` is the mean squared error over the variance of the truth: that of the standardised target, 1 for whoever
    guesses the mean. ``spread`` is the root of that variance, the standard deviation of log A (of A in its unit where
    ``kind`` is raw): loss x spread^2 is in the units of the target. ``relative_median``, ``relative_mean`` and
    ``relative_99`` (99 % of the points are better) are of |A_NN / A - 1|, and ``epsilon`` is sum |A_NN - A| / sum A
    (eq. 23).
    """
    if kind == LOG:
        off, share = np.expm1(np.minimum(guess - truth, FURTHEST)), np.exp(truth - truth.max())
    else:
        off, share = guess / truth - 1, truth / truth.max()
    relative = np.abs(off)
    return {
        "loss": float(np.mean((guess - truth) ** 2) / np.var(truth)),
        "spread": float(np.std(truth)),
        "relative_median": float(np.median(relative)),
        "relative_mean": float(np.mean(relative)),
        "relative_99": float(np.quantile(relative, 0.99)),
        "epsilon": float(np.sum(relative * share) / np.sum(share)),
    }


def pulls(guess: Real, truth: Real, sigma: Real) -> Real:
    """t = (A_NN - A) / sigma of the target that was learned, (points,): a unit Gaussian if sigma is right (eq. 16)."""
    return (guess - truth) / sigma


def calibration(t: Real, sigma: Real, truth: Real) -> dict[str, float]:
    """Mean and width of the pulls ``t``, the same of their bulk (the median, and half of what holds the central 68.3 %,
    which tails do not move), the shares within 1 and 2 sigma (0.683 and 0.954 where sigma is right), and the mean of
    ``sigma`` in units of the spread of ``truth``, so that its square compares with the loss.
    """
    low, middle, high = np.quantile(t, ndtr([-1, 0, 1]))
    return {
        "pull_mean": float(t.mean()),
        "pull_width": float(t.std()),
        "bulk_mean": float(middle),
        "bulk_width": float(high - low) / 2,
        "within_1": float(np.mean(np.abs(t) < 1)),
        "within_2": float(np.mean(np.abs(t) < 2)),
        "sigma_mean": float(sigma.mean() / truth.std()),
    }


def write_pulls(path: Path, t: Real) -> None:
    """Keep the histogram of the pulls ``t`` as CSV beside what a unit Gaussian would give; the ends hold all beyond."""
    counts, _ = np.histogram(t.clip(EDGES[0], EDGES[-1]), EDGES)
    below = ndtr(EDGES)
    below[0], below[-1] = 0, 1
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(("low", "high", "points", "gaussian"))
    expected = np.diff(below) * len(t)
    for low, high, points, gaussian in zip(EDGES[:-1], EDGES[1:], counts, expected, strict=True):
        out.writerow((f"{low:.1f}", f"{high:.1f}", points, f"{gaussian:.6g}"))
    replace(path, lambda place: _write(place, text.getvalue()))


def _write(place: Path, text: str) -> None:
    place.write_text(text, encoding="utf-8")
