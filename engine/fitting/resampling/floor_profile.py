"""Confidence curve of a floor, from its profile likelihood; calibrated by simulation if the floor is near zero.

S(t) is the sum of squared residuals for a fixed floor t, minimised over all other parameters. Residuals are differences
of logs, or of y if the fit does not use logs. The signed root is r(t) = sign(t - E) sqrt((S(t) - S(E)) / s^2), where E
is the fitted floor, s^2 = S(E) / nu, and nu is the number of degrees of freedom. At the true floor, r has Student's t
distribution with nu degrees of freedom. This is exact for a linear law (the F test). The distribution function at r(t)
is the confidence that the floor is below t (Schweder & Hjort 2016, "Confidence, Likelihood, Probability", ch. 3). The
curve does not depend on how many resamples have no floor.

If there are few runs and the floor is near zero, the distribution of r is not centred at zero and its width differs
from one. Tables are then simulated from the law with floor t, with the best values of the other parameters and with
normal noise as large as the noise of the runs. The median of r and its 10 % and 90 % quantiles in these tables
determine a shift and a scale for r (a parametric bootstrap of the signed root, DiCiccio & Efron 1996, Stat. Sci. 11,
189, sec. 7). The upper width (above the median) is never set to less than the lower width. docs/coverage.md shows the
measured coverage of the curve.

In a table with outliers, the lowest run determines a further upper limit of the floor. Least squares estimates one
scatter from all runs. A few diverged runs increase this scatter, and the confidence curve then allows floors far above
most runs. Such floors are wrong, because without noise every run is above the floor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri, stdtr

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting.resampling.bootstrap import uniforms
from isoplan.engine.fitting.resampling.priors import informed
from isoplan.engine.fitting.samples.sample import Sample, clusters
from isoplan.engine.fitting.solver.descent import perfect
from isoplan.engine.fitting.solver.multistart import best_fit, descents, least_objective, predict
from isoplan.engine.fitting.solver.problem import Problem, problem
from isoplan.engine.fitting.types.intervals import LARGEST, FloorConfidence

POINTS, ENOUGH, ZOOMS = 17, 8, 8
"""POINTS: number of floors in a scan. ENOUGH: minimum number of floors with an absolute score below ``FAR``.
ZOOMS: maximum number of scans.
"""
FAR = 4.0
"""Normal score (positive or negative) at which the curve ends."""
MOST = 5_000
"""Maximum number of runs for the curve. From a longer table, every k-th run is selected, and the curve is wider."""
NEAR = 5.0
"""The curve is calibrated by simulation if the normal score of a zero floor is above -NEAR."""
TABLES, PLACES, TAIL = 200, (-2.0, -1.0, 0.0, 1.0, 2.0), 0.1
"""TABLES: number of simulated tables per floor. PLACES: normal scores of the floors with simulated tables.
TAIL: tail probability of the quantiles that define the width of r.
"""
INFLATED = 2.0
"""The lowest run limits the floor if (standard deviation) / (robust standard deviation) of the residuals exceeds this.

For comparison: the ratio is 1.5 if one run in twenty has five times the noise of the other runs.
"""
FEWEST = 7
"""Minimum number of degrees of freedom to use the robust standard deviation."""
BOUND_POINTS = 33


def floor_confidence(s: Sample, floor: int) -> FloorConfidence | None:
    """Return the confidence curve of the floor; ``floor`` is its index among the terms of the law of ``s``.

    The result is None if there is no degree of freedom, or if the objective has different weights above and below the
    law.
    """
    if s.spec.objective == "asymmetric":
        return None
    p = least_squares(s)
    freedom = p.n - p.n_free
    if freedom < 1:
        return None
    scan = _Scan(p, floor, best_fit(p).theta, best_fit(p.holding(floor, 0.0)).theta, freedom)
    at, theta, score = scan.curve(float(np.min(s.y)))
    if p.penalty is None and score[0] > -NEAR:
        score = _calibrated(scan, s.spec.seed, at, theta, score)
    return FloorConfidence(s.law.terms[floor].amplitude, tuple(map(float, at)), tuple(map(float, score)))


def least_squares(s: Sample) -> Problem:
    """Return the least-squares problem of ``s``, with one row for each cluster of repeated runs.

    It has at most ``MOST`` rows.
    """
    spec = s.spec.model_copy(update={"objective": "ols-log" if s.spec.log_residuals else "ols"})
    member = clusters(s.runs)
    first = np.unique(member, return_index=True)[1]
    weight = np.asarray(np.bincount(member, s.weight), float)
    y = np.log(s.y) if spec.log_residuals else s.y
    y = np.bincount(member, s.weight * y) / weight
    columns = {axis: x[first] for axis, x in s.columns.items()}
    mean = replace(s, spec=spec, columns=columns, y=np.exp(y) if spec.log_residuals else y, weight=weight)
    p = informed(mean, problem(s.law, spec, columns, mean.y, weight), least_objective)
    return p.rows(np.arange(0, p.n, -(-p.n // MOST)))


@dataclass(frozen=True, eq=False)
class _Scan:
    """The profile of a floor.

    ``best`` (q,) is the best fit, and ``without`` (q,) is the best fit with a floor of zero.
    """

    p: Problem
    floor: int
    best: Floats
    without: Floats
    freedom: int

    def curve(self, least: float) -> tuple[Floats, Floats, Floats]:
        """Return k floors (k,), the best parameters (k, q) of each floor, and the normal score (k,) of each floor.

        The floors increase from zero. ``least`` is the lowest y of the runs. Floors above ``least`` contradict the
        runs.
        """
        low, high = 0.0, max(least, float(self.best[self.floor]))
        for _ in range(ZOOMS):
            at = np.unique(np.concatenate([[0.0], np.linspace(low, high, POINTS)]))
            theta, value = self.profile(at)
            score = self.scores(at, value)
            inside = np.flatnonzero(np.abs(score) < FAR)
            if score[-1] < FAR:
                high *= 1.25
            elif inside.size >= ENOUGH:
                break
            else:
                first, last = (inside[0], inside[-1]) if inside.size else 2 * (int(np.sum(score < 0)),)
                low, high = at[max(first - 1, 0)], at[min(last + 1, len(at) - 1)]
        return at, theta, score

    def profile(self, at: Floats) -> tuple[Floats, Floats]:
        """Return the best parameters (k, q) and the sum of squares (k,) for each of the floors ``at`` (k,).

        The search goes from the best floor to both sides. Each fit starts from the previous fit.
        """
        k = len(at)
        theta, value = np.empty((k, len(self.best))), np.empty(k)
        middle = int(np.argmin(np.abs(at - self.best[self.floor])))
        for way in (range(middle, k), range(middle - 1, -1, -1)):
            near = self.best
            for i in way:
                starts = np.stack([near, self.best, self.without])[None]
                found, least = descents(self.p.holding(self.floor, at[i]), starts)
                near = theta[i] = found[0]
                value[i] = least[0]
        return theta, value

    def scores(self, at: Floats, value: Floats) -> Floats:
        """Return the normal scores (k,) of the floors ``at`` (k,) with the sums of squares ``value`` (k,)."""
        own = descents(self.p, self.best[None, None])[1]
        least = np.minimum(own, np.min(value))
        nothing = perfect(self.p.objective.loss, self.p.n)
        found = signed_scores(at, self.best[None, self.floor], value, least, self.freedom, nothing)
        return np.maximum.accumulate(found)


def signed_scores(at: Floats, best: Floats, value: Floats, least: Floats, freedom: int, nothing: float) -> Floats:
    """Return normal scores of the signed root, elementwise.

    ``at`` and ``value`` are the floor and the sum of squares of the profile. ``best`` and ``least`` are the floor and
    the sum of squares of the best fit. A sum of squares of at most ``nothing`` counts as a rounding error.
    """
    rise = np.maximum(value - least, 0.0)
    root = np.sqrt(rise / (np.maximum(least, nothing) / freedom))
    size = np.minimum(-ndtri(np.maximum(stdtr(freedom, -root), 1e-300)), LARGEST)
    return np.sign(at - best) * size


def _calibrated(scan: _Scan, seed: int, at: Floats, theta: Floats, score: Floats) -> Floats:
    """Return the scores (k,), shifted and scaled. Simulated tables determine the shift and the scale.

    Tables are simulated at the floor zero and at floors with scores close to ``PLACES``.
    """
    near = {0, *(int(np.argmin(np.abs(score - place))) for place in PLACES if score[0] <= place <= score[-1])}
    places: Ints = np.array(sorted(near))
    noise = _noise(seed, scan.p.n)
    quantiles = [np.quantile(_simulated(scan, at[i], theta[i], noise), (TAIL, 0.5, 1 - TAIL)) for i in places]
    lowest, middle, highest = (np.interp(at, at[places], x) for x in np.transpose(quantiles))
    unit = -float(ndtri(TAIL))
    down = np.maximum(middle - lowest, 1e-6) / unit
    up = np.maximum((highest - middle) / unit, down)
    off = score - middle
    return np.maximum.accumulate(np.clip(off / np.where(off < 0, down, up), -LARGEST, LARGEST))


def _noise(seed: int, n: int) -> Floats:
    """Return standard normal noise (tables, n) for simulated tables; each row also occurs with the opposite sign."""
    half = ndtri(uniforms(seed, 0, TABLES // 2, n))
    return np.concatenate([half, -half])


def _simulated(scan: _Scan, floor: float, theta: Floats, noise: Floats) -> Floats:
    """Return normal scores (tables,) of ``floor`` in tables that are simulated with this floor.

    ``theta`` (q,) are the other parameters of the simulation. ``noise`` (tables, n) is the standard normal noise of the
    tables.
    """
    p, tables = scan.p, len(noise)
    start = theta.copy()
    start[scan.floor] = floor
    fitted = predict(p, start[None])[0]
    residual = np.log(p.y[0] / fitted) if p.objective.log else p.y[0] - fitted
    size = np.sqrt(np.sum(p.weight * residual**2) / (scan.freedom + 1)) / np.sqrt(p.weight)
    y = fitted * np.exp(size * noise) if p.objective.log else fitted + size * noise
    drawn = replace(p, y=y)
    held, value = descents(drawn.holding(scan.floor, floor), np.tile(start, (tables, 1, 1)))
    starts = np.stack([held, np.tile(start, (tables, 1)), np.tile(scan.best, (tables, 1))], axis=1)
    free, least = descents(drawn, starts)
    least = np.minimum(least, value)
    found = signed_scores(
        np.full(tables, floor), free[:, scan.floor], value, least, scan.freedom, perfect(p.objective.loss, p.n)
    )
    return found[np.isfinite(found)]


def bound_by_lowest_run(curve: FloorConfidence, y: Floats, fitted: Floats, free: int, log: bool) -> FloorConfidence:
    """Return ``curve``, with higher confidence where the lowest run of the table implies a higher confidence.

    The curve changes only if outliers increase the scatter of the runs. ``y`` (n,) are the values of the runs, and
    ``fitted`` (n,) the predictions of the law with ``free`` fitted parameters. The confidence that the floor is below t
    is at least 1 - n T((min y - t) / s), by Bonferroni's inequality. T is the distribution function of Student's t
    distribution. s is 1.4826 times the median absolute residual, corrected for the degrees of freedom. Residuals, y and
    t are logarithms if ``log`` is True.
    """
    finite = np.isfinite(fitted)
    freedom = int(np.sum(finite)) - free
    if freedom < FEWEST:
        return curve
    scaled = np.log(y[finite]) if log else y[finite]
    residual = scaled - (np.log(fitted[finite]) if log else fitted[finite])
    robust = 1.4826 * float(np.median(np.abs(residual))) * np.sqrt(residual.size / freedom)
    if not 0 < INFLATED * robust < np.sqrt(np.sum(residual**2) / freedom):
        return curve
    lowest = float(np.min(scaled))
    steps = lowest + robust * np.linspace(-LARGEST, LARGEST, BOUND_POINTS)
    at = np.union1d(curve.at, (np.exp(steps) if log else steps).clip(curve.at[0]))
    with np.errstate(divide="ignore"):
        distance = ((np.log(at) if log else at) - lowest) / robust
    bound = ndtri(np.clip(1 - residual.size * stdtr(freedom, -distance), 0.0, 1.0)).clip(-LARGEST, LARGEST)
    score = np.maximum(np.interp(at, curve.at, curve.score), bound)
    return FloorConfidence(curve.name, tuple(map(float, at)), tuple(map(float, np.maximum.accumulate(score))))
