"""Linear models of the runs, the candidates and the estimands around several resamples of a fit.

The truth is unknown, and the best cells depend on it. Each of ``TRUTHS`` resamples of the fit is therefore taken as the
truth once, and the law is linearised there. The runs, the candidates and the estimands are then those of a linear
regression, whose variances after any set of cells are known in advance. Sets of cells are compared by the mean of the
logarithms of these variances over the truths (pseudo-Bayesian design: Chaloner & Verdinelli 1995, Stat. Sci. 10, 273).

If groups share parameters, the runs of the other groups are unknown here. The variances before any cell is trained are
then those of the resamples of the group. There is only one linear model, the regression over these resamples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.design.candidates import Candidates
from isoplan.engine.design.estimand import Estimand, refuse_estimand
from isoplan.engine.design.linear_models import Deviation, LinearModels
from isoplan.engine.fitting.diagnostics.single_runs import freedom, mean_scatter
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws.terms import Const

TRUTHS = 16
"""Number of resamples that are taken as the truth."""
STEP = 3e-3
"""Step of the finite differences, relative to the size of a parameter."""
PRIOR = 10.0
"""Standard deviation of a parameter before the runs, in units of its size: almost nothing is known without runs."""
CLIPPED = 0.025
"""Fraction of the resamples at each end whose values are clipped. A few extreme refits would dominate a covariance."""
HEDGE, REACH = 3.0, float(np.log(30))
"""HEDGE: standard deviation of the deviation from the law, in units of the noise of a run. REACH: correlation length of
this deviation, in logarithms of the axes.

If the hedge is used, the law may be wrong by a smooth function of the axes. Cells near the place of an estimand then
narrow it more than distant cells. The advice uses a smaller deviation if this one costs too much (see ``hedge``).
"""
RANK, RESOLVED = 30, 1e-2
"""RANK: maximum number of functions that describe the deviation. RESOLVED: part of the variance of the deviation that
these functions may omit.
"""
OMITTED = 1e-3
"""A direction in which the resamples vary is omitted if its variance is at most this number. The unit of the variance
of a loss is the variance of the noise of a run, and the unit of the variance of an estimand is its total variance.
"""


def covariance(fit: Fit, cells: Candidates, estimands: Sequence[Estimand], hedge: bool = True) -> LinearModels:
    """Return the linear models of ``cells`` and ``estimands`` around resamples of ``fit``.

    If ``hedge`` is true, the law may deviate smoothly from the truth. Raises PlannerError if there is no
    resample at which the parameters determine all estimands.
    """
    weight = np.array([one.weight for one in estimands])
    if fit.spec.share:
        return _sampled(fit, cells, estimands, weight, hedge)
    assert fit.runs is not None
    trained = fit.runs.columns
    truths, size = _truths(fit, estimands)
    runs = _slopes(lambda theta: _losses(fit, theta, trained), truths, size)
    offered = _slopes(lambda theta: _losses(fit, theta, cells.columns), truths, size)
    answers = _slopes(lambda theta: _answers(fit, theta, estimands), truths, size)
    known = np.isfinite(answers).all(axis=(1, 2)) & (np.abs(answers).max(axis=2) > 0).all(axis=1)
    if not known.any():
        raise refuse_estimand(estimands[0], 0.0)
    runs, offered, answers = (np.nan_to_num(x[known], posinf=0.0, neginf=0.0) for x in (runs, offered, answers))
    noise, relative = _noise(fit)
    scores = (runs * relative[:, None]).transpose(0, 2, 1) / noise
    spread = np.linalg.inv(scores @ runs + PRIOR**-2 * np.eye(runs.shape[2]))
    found = LinearModels(offered, answers, spread, noise, weight)
    return replace(found, deviation=_deviation(fit, cells, estimands, noise, scores)) if hedge else found


def _sampled(fit: Fit, cells: Candidates, estimands: Sequence[Estimand], weight: Floats, hedge: bool) -> LinearModels:
    """Return the linear model whose variances and covariances are those of the resamples of ``fit``.

    Its d parameters are the directions in which the resamples vary most. Their covariance is the unit matrix.
    """
    assert fit.runs is not None
    known = mean_scatter(fit)
    noise = known**2 if known else _noise(fit)[0]
    runs, losses = (centred(_losses(fit, fit.resamples, x)) for x in (fit.runs.columns, cells.columns))
    logs = centred(_answers(fit, fit.resamples, estimands))
    size = np.sqrt(np.sum(logs**2, axis=0))
    if not size.all():
        raise refuse_estimand(estimands[int(np.argmin(size))], 0.0)
    scaled = np.hstack([losses / np.sqrt(noise), logs / size])
    found, variation, _ = np.linalg.svd(scaled, full_matrices=False)
    directions = found[:, variation**2 > OMITTED]
    slopes, offered, answers = ((x.T @ directions)[None] for x in (runs, losses, logs))
    model = LinearModels(offered, answers, np.eye(directions.shape[1])[None], noise, weight)
    scores = slopes.transpose(0, 2, 1) * (fit.runs.weight / np.mean(fit.runs.weight) / noise)
    return replace(model, deviation=_deviation(fit, cells, estimands, noise, scores)) if hedge else model


def _truths(fit: Fit, estimands: Sequence[Estimand]) -> tuple[Floats, Floats]:
    """Return resamples (t, q) that are taken as the truth, and the sizes (t, q) of their parameters.

    The resamples are spread evenly over the values of the first estimand. The size of a parameter is its absolute
    value. The size of a parameter that can be negative is at least half the central 68 % of its resamples. The size of
    a floor is at least the smallest y of the runs, because resamples with a floor of zero do not show that the true
    floor is zero. Fixed parameters have the size zero.
    """
    assert fit.runs is not None
    logs = np.column_stack([one.logs(fit.draws) for one in estimands])
    usable = np.flatnonzero(np.isfinite(logs).all(axis=1) & np.isfinite(fit.resamples).all(axis=1))
    if not len(usable):
        raise refuse_estimand(estimands[0], 0.0)
    order = usable[np.argsort(logs[usable, 0], kind="stable")]
    many = min(TRUTHS, len(order))
    truths = fit.resamples[order[np.int64((np.arange(many) + 0.5) / many * len(order))]]
    low, high = np.quantile(fit.resamples[usable], (0.16, 0.84), axis=0)
    least = np.where([param.low < 0 for param in fit.law.params], (high - low) / 2, 0.0)
    for term in fit.law.terms:
        if isinstance(term, Const):
            least[fit.law.names.index(term.amplitude)] = np.min(np.abs(fit.runs.y))
    size = np.maximum(np.abs(truths), least)
    return truths, size * (np.ptp(fit.resamples[usable], axis=0) > 0)


def _slopes(value: Callable[[Floats], Floats], truths: Floats, size: Floats) -> Floats:
    """Return the derivatives (t, m, d) of ``value``, which maps (t, q) to (t, m), by the parameters over their sizes.

    They are central differences. For a parameter near zero, they are forward differences.
    """
    slopes = []
    for j in np.flatnonzero(np.any(size > 0, axis=0)):
        step = np.zeros_like(truths)
        step[:, j] = STEP * size[:, j]
        inside = np.abs(truths[:, j]) > step[:, j]
        below = truths - step * inside[:, None]
        slopes.append((value(truths + step) - value(below)) / (STEP * (1 + inside))[:, None])
    return np.stack(slopes, axis=2)


def _losses(fit: Fit, theta: Floats, columns: Mapping[str, Floats]) -> Floats:
    """Return the losses (r, m) that ``theta`` (r, q) predicts; their logarithms if the residuals are logarithmic."""
    with np.errstate(all="ignore"):
        predicted = fit.law.predict(theta, columns)
        return np.log(predicted) if fit.spec.log_residuals else predicted


def _answers(fit: Fit, theta: Floats, estimands: Sequence[Estimand]) -> Floats:
    """Return the logarithms (r, k) of the estimands at the parameters ``theta`` (r, q)."""
    values = fit.law.values(theta)
    return np.column_stack([one.logs(values) for one in estimands])


def _noise(fit: Fit) -> tuple[float, Floats]:
    """Return the variance of the loss of a run, and the weights of the runs relative to their mean.

    The variance follows from the resamples: the leverages of the runs add up to the number of parameters that the runs
    determine.
    """
    assert fit.runs is not None
    relative = fit.runs.weight / np.mean(fit.runs.weight)
    measured = centred(_losses(fit, fit.resamples, fit.runs.columns))
    free = max(fit.n - freedom(fit), 1)
    return float(np.sum(relative * np.sum(measured**2, axis=0)) / free), relative


def centred(x: Floats) -> Floats:
    """Clip each column of ``x`` (r, m), subtract its mean, and divide by sqrt(r - 1).

    Values that are not finite count as the mean. The product of two such matrices is a covariance.
    """
    x = np.where(np.isfinite(x), x, np.nan)
    low, high = np.nanquantile(x, (CLIPPED, 1 - CLIPPED), axis=0)
    clipped = np.clip(x, low, high)
    return np.nan_to_num(clipped - np.nanmean(clipped, axis=0)) / np.sqrt(max(len(x) - 1, 1))


def _deviation(
    fit: Fit, cells: Candidates, estimands: Sequence[Estimand], noise: float, scores: Floats
) -> Deviation | None:
    """Return the deviation from the law; None if an estimand has no place.

    Its standard deviation is ``HEDGE`` times that of the loss of a run, which has the variance ``noise``. ``scores``
    (t, q, n) are the slopes of the losses of the runs, each divided by the variance of the run. The deviation at the
    place of an estimand, times the slope that ``_slope`` returns, is the effect of the deviation on the estimand.
    """
    assert fit.runs is not None
    axes, n, m = fit.law.axes, len(fit.runs.y), len(cells)
    if any(axis not in one.at for one in estimands for axis in axes):
        return None
    at = np.log(
        [np.r_[fit.runs.columns[axis], cells.columns[axis], [one.at[axis] for one in estimands]] for axis in axes]
    )
    functions = HEDGE * np.sqrt(noise) * _functions(at.T)
    slopes = np.array([_slope(fit, one) for one in estimands])
    return Deviation(functions[n : n + m], slopes[:, None] * functions[n + m :], scores @ functions[:n])


def _slope(fit: Fit, estimand: Estimand) -> float:
    """Return the slope of the regression of ``estimand`` on the loss at its place, over the resamples."""
    place = {axis: np.array([estimand.at[axis]]) for axis in fit.law.axes}
    loss = centred(_losses(fit, fit.resamples, place))[:, 0]
    values = centred(estimand.logs(fit.draws)[:, None])[:, 0]
    return float(loss @ values / (loss @ loss)) if loss @ loss > 0 else 0.0


def _functions(at: Floats) -> Floats:
    """Return the values (a, d) of d functions at the places ``at`` (a, axes).

    For two places, the sum over the functions of the product of their values is about exp(-distance^2 / (2 REACH^2)).
    The functions are the columns of a pivoted Cholesky factor: each next column belongs to the place at which the
    largest variance remains.
    """
    left, columns = np.ones(len(at)), list[Floats]()
    while len(columns) < RANK and left.max() > RESOLVED:
        pivot = int(np.argmax(left))
        column = np.exp(-np.sum((at - at[pivot]) ** 2, axis=1) / (2 * REACH**2))
        column -= sum((one * one[pivot] for one in columns), np.zeros(len(at)))
        columns.append(column / np.sqrt(left[pivot]))
        left = np.clip(left - columns[-1] ** 2, 0, None)
    return np.column_stack(columns)
