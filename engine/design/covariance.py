"""Covariance of the losses of candidate cells and of the estimands, from the resamples of a fit.

The resamples of the fit represent the uncertainty of the law. The training of a cell is a measurement with noise, after
which the covariance decreases as for a Kalman filter (Kalman 1960; with an ensemble: Whitaker & Hamill 2002, Mon. Wea.
Rev. 130, 1913).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.design.candidates import Candidates
from isoplan.engine.design.estimand import Estimand
from isoplan.engine.fitting.types.result import Fit

CLIPPED = 0.025
"""Fraction of the resamples at each end whose values are clipped. A few extreme refits would dominate a covariance."""
HEDGE, REACH = 2.0, float(np.log(10))
"""HEDGE: standard deviation of the deviation from the law, in units of the noise of a run. REACH: correlation length of
this deviation, in logarithms of the axes.

If the hedge is used, the law may be wrong by a smooth function of the axes. Cells near the place of an estimand then
narrow it more than distant cells.
"""


@dataclass(frozen=True, eq=False)
class State:
    """What is known about m candidates and k estimands at one time.

    ``own`` (m,) are the variances of the expected losses of the candidates, ``cross`` (m, k) their covariances with the
    estimands, and ``variance`` (k,) the variances of the estimands. ``noise`` is the variance of the loss of one run.
    ``weight`` (k,) is the weight of each estimand.
    """

    own: Floats
    cross: Floats
    variance: Floats
    noise: float
    weight: Floats

    @property
    def remaining(self) -> float:
        """Sum of the variances of the estimands, each multiplied by its weight."""
        return float(self.weight @ self.variance)

    def gains(self) -> Floats:
        """Return the decrease of ``remaining`` that each candidate is expected to bring: shape (m,)."""
        return (self.cross**2 @ self.weight) / (self.own + self.noise)

    def narrowing(self) -> Floats:
        """Return the relative decrease of the width of the first estimand if one candidate is trained: shape (m,).

        The values are from 0 to 1. The width is proportional to the square root of the variance.
        """
        share = self.cross[:, 0] ** 2 / ((self.own + self.noise) * self.variance[0])
        return np.asarray(1 - np.sqrt(1 - np.clip(share, 0.0, 1.0)))


@dataclass(frozen=True, eq=False)
class Covariance:
    """Covariance of m candidates and k estimands before any of the candidates is trained.

    ``cells`` (m, m) is the covariance of the expected losses of the candidates, and ``cross`` (m, k) that of the losses
    and the estimands. All losses are logarithms if the residuals of the fit are. The other fields are those of
    ``State``.
    """

    cells: Floats
    cross: Floats
    variance: Floats
    noise: float
    weight: Floats

    def after(self, trained: Sequence[int] = ()) -> State:
        """Return the state after the training of the candidates ``trained``."""
        at = np.array(trained, np.int64)
        measured = self.cells[np.ix_(at, at)] + self.noise * np.eye(len(at))
        factor = np.linalg.solve(measured, np.hstack([self.cells[at], self.cross[at]]))
        to_cells, to_estimands = factor[:, : len(self.cells)], factor[:, len(self.cells) :]
        return State(
            np.diagonal(self.cells) - np.sum(self.cells[at] * to_cells, axis=0),
            self.cross - to_cells.T @ self.cross[at],
            self.variance - np.sum(self.cross[at] * to_estimands, axis=0),
            self.noise,
            self.weight,
        )


def covariance(fit: Fit, cells: Candidates, estimands: Sequence[Estimand], hedge: bool = True) -> Covariance:
    """Return the covariance of ``cells`` and ``estimands`` by the resamples of ``fit``.

    If ``hedge`` is true, the law may deviate smoothly from the truth. The weights are divided by the variances of the
    estimands, so that ``remaining`` starts at the sum of the weights.
    """
    assert fit.runs is not None
    z = centred(_losses(fit, cells.columns))
    q = centred(np.column_stack([one.logs(fit.draws) for one in estimands]))
    measured = centred(_losses(fit, fit.runs.columns))
    relative = fit.runs.weight / np.mean(fit.runs.weight)
    # The leverages of the runs add up to the number of free parameters.
    free = max(len(fit.law.names) - len(fit.spec.fixed), 1)
    noise = float(np.sum(relative * np.sum(measured**2, axis=0)) / free)
    found = [z.T @ z, z.T @ q, np.sum(q**2, axis=0)]
    if hedge:
        own, shared, variance = _deviation(fit, cells, estimands, q, noise)
        found = [found[0] + own, found[1] + shared, found[2] + variance]
    weight = np.array([one.weight for one in estimands]) / found[2]
    return Covariance(found[0], found[1], found[2], noise, weight)


def _losses(fit: Fit, columns: Mapping[str, Floats]) -> Floats:
    """Return the losses (r, m) that the resamples predict, as logarithms if the residuals of the fit are logarithms."""
    with np.errstate(all="ignore"):
        predicted = fit.law.predict(fit.resamples, columns)
        return np.log(predicted) if fit.spec.log_residuals else predicted


def centred(x: Floats) -> Floats:
    """Clip each column of ``x`` (r, m), subtract its mean, and divide by sqrt(r - 1).

    Values that are not finite count as the mean. The product of two such matrices is a covariance.
    """
    x = np.where(np.isfinite(x), x, np.nan)
    low, high = np.nanquantile(x, (CLIPPED, 1 - CLIPPED), axis=0)
    clipped = np.clip(x, low, high)
    return np.nan_to_num(clipped - np.nanmean(clipped, axis=0)) / np.sqrt(max(len(x) - 1, 1))


def _deviation(
    fit: Fit, cells: Candidates, estimands: Sequence[Estimand], q: Floats, noise: float
) -> tuple[Floats, Floats, Floats]:
    """Return the covariances (m, m), (m, k) and variances (k,) of a smooth deviation from the law.

    A deviation at the place of an estimand changes the estimand as the resamples do: by the slope of the regression of
    the estimand on the loss at this place.
    """
    size, axes = HEDGE**2 * noise, fit.law.axes
    at = np.column_stack([np.log(cells.columns[axis]) for axis in axes])
    own = size * _near(at, at)
    shared, variance = np.zeros((len(at), len(estimands))), np.zeros(len(estimands))
    for i, one in enumerate(estimands):
        if any(axis not in one.at for axis in axes):
            continue
        place = {axis: np.array([one.at[axis]]) for axis in axes}
        loss = centred(_losses(fit, place))[:, 0]
        slope = float(loss @ q[:, i] / (loss @ loss)) if loss @ loss > 0 else 0.0
        there = np.log([[one.at[axis] for axis in axes]])
        shared[:, i] = slope * size * _near(at, there)[:, 0]
        variance[i] = slope**2 * size
    return own, shared, variance


def _near(one: Floats, other: Floats) -> Floats:
    """Return exp(-d^2 / (2 REACH^2)) for all pairs of places in (a, axes) and (b, axes), where d is their distance."""
    square = np.sum((one[:, None] - other[None]) ** 2, axis=2)
    return np.asarray(np.exp(-square / (2 * REACH**2)))
