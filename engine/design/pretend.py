"""Expected widths of the intervals after the training of a set of cells, from refits with simulated outcomes.

Each outcome takes one resample of the fit as the truth, simulates the losses of the set with the noise of the runs,
and refits the law and its resamples to all runs. The widths therefore include what the covariance omits: the curvature
of the law, a floor that becomes resolved, and the method of the resamples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.design.candidates import Candidates
from isoplan.engine.design.estimand import Estimand, half_width
from isoplan.engine.fitting.diagnostics.single_runs import freedom, mean_scatter, scatter
from isoplan.engine.fitting.resampling.bootstrap import counts, targets
from isoplan.engine.fitting.resampling.likelihood_draws import likelihood_draws
from isoplan.engine.fitting.solver.kernels import READING_PAYS, compiled
from isoplan.engine.fitting.solver.multistart import Optimum, best_fit, descents, predict, refits
from isoplan.engine.fitting.solver.problem import Problem, problem
from isoplan.engine.fitting.types.intervals import EXCLUDED, Resampling, choose
from isoplan.engine.fitting.types.result import Fit, FittedRuns
from isoplan.engine.laws.terms import Const

OUTCOMES, REFITS = 12, 100
"""OUTCOMES: number of simulated outcomes. REFITS: number of refits per outcome."""
HALF = REFITS // 2


def can_pretend(fit: Fit) -> bool:
    """Return whether simulated outcomes can be refitted.

    This is possible if the law is a sum of terms, the scatter of the runs is known, and the fit has neither priors nor
    parameters that are shared with other groups.
    """
    alone = not (fit.spec.prior or fit.spec.share)
    return fit.law.estimator == "surface" and alone and scatter(fit) is not None


def pretend_widths(
    fit: Fit,
    candidates: Candidates,
    cells: Sequence[int],
    estimands: Sequence[Estimand],
    seed: int = 0,
    outcomes: int = OUTCOMES,
) -> Floats:
    """Return half the widths of the 68 % intervals after the training of ``cells``: shape (outcomes, k).

    ``cells`` are indices of ``candidates``. The widths are in logarithms of the ``estimands``; they are infinite if an
    interval has no end. Two sets of the same candidates with the same ``seed`` have common outcomes: the same truths,
    and the same noise of each cell. ``fit`` must satisfy ``can_pretend``.
    """
    assert fit.runs is not None
    compiled(READING_PAYS)  # loads the kernels, if their cache is complete
    runs = join_cells(fit.runs, candidates.take(cells))
    y = _outcomes(fit, candidates, cells, estimands[0], seed, outcomes)
    p = problem(fit.law, fit.spec, dict(runs.columns), y, runs.weight)
    how = _method(fit, runs, p)
    best, draws = _refit(p, fit, runs, how, seed)
    floor, unresolved = _floor(fit, p), np.zeros(outcomes, bool)
    if floor is not None:
        unresolved = np.mean(draws[:, :, floor] <= 0, axis=1) > EXCLUDED
    if floor is not None and unresolved.any():
        without = p.of(np.flatnonzero(unresolved)).holding(floor, 0.0)
        draws[unresolved, HALF:] = _refit(without, fit, runs, how, seed)[1][:, HALF:]
    methods = [replace(how, floorless=REFITS - HALF) if one else how for one in unresolved]
    values = [(fit.law.values(p.external(b)), fit.law.values(p.external(d))) for b, d in zip(best, draws, strict=True)]
    return np.array(
        [
            [half_width(method, float(one.logs(central)), one.logs(many)) for one in estimands]
            for method, (central, many) in zip(methods, values, strict=True)
        ]
    )


def join_cells(runs: FittedRuns, cells: Candidates) -> FittedRuns:
    """Return the columns, weights and clusters of ``runs`` and ``cells``. Cells have the mean weight and no y."""
    m = len(cells)
    columns = {axis: np.concatenate([x, cells.columns[axis]]) for axis, x in runs.columns.items()}
    weight = np.concatenate([runs.weight, np.full(m, np.mean(runs.weight))])
    cluster = np.concatenate([runs.cluster, int(runs.cluster.max()) + 1 + np.arange(m)])
    return FittedRuns(columns, np.concatenate([runs.y, np.full(m, np.nan)]), weight, cluster)


def _outcomes(
    fit: Fit, candidates: Candidates, cells: Sequence[int], estimand: Estimand, seed: int, outcomes: int
) -> Floats:
    """Return the losses of the runs and of the m ``cells`` in each outcome: shape (outcomes, n + m).

    The truths are resamples at equal steps of the quantiles of ``estimand``. The size of the noise is uncertain: it is
    drawn from its distribution for the degrees of freedom of the fit.
    """
    assert fit.runs is not None
    logs = estimand.logs(fit.draws)
    order = np.argsort(logs, kind="stable")[: int(np.sum(np.isfinite(logs)))]  # infinity and NaN are sorted last
    truth = fit.resamples[order[np.int64((np.arange(outcomes) + 0.5) / outcomes * len(order))]]
    random = np.random.default_rng([seed, fit.spec.seed])
    noise = mean_scatter(fit)
    assert noise is not None
    size = noise * np.sqrt(freedom(fit) / random.chisquare(freedom(fit), outcomes))
    noises = size[:, None] * random.standard_normal((outcomes, len(candidates)))[:, list(cells)]
    expected = fit.law.predict(truth, candidates.take(cells).columns)
    simulated = expected * np.exp(noises) if fit.spec.log_residuals else expected + noises
    return np.hstack([np.tile(fit.runs.y, (outcomes, 1)), simulated])


def _method(fit: Fit, runs: FittedRuns, p: Problem) -> Resampling:
    """Return the method of the resamples for the fit to ``runs``. Its ``floorless`` is not set (0)."""
    groups = int(runs.cluster.max()) + 1
    return Resampling(choose(fit.spec.interval, groups, p.n_free), runs=groups, parameters=p.n_free)


def _floor(fit: Fit, p: Problem) -> int | None:
    """Return the index of the floor if half of the resamples of ``fit`` have no floor; otherwise None."""
    if not fit.resampling.floorless:
        return None
    return next((j for j, term in enumerate(fit.law.terms) if isinstance(term, Const) and p.low[j] == 0), None)


def _refit(p: Problem, fit: Fit, runs: FittedRuns, how: Resampling, seed: int) -> tuple[Floats, Floats]:
    """Return the best fit (tables, q) of each table in ``p``, and its ``REFITS`` resamples (tables, REFITS, q)."""
    tables, spec = len(p.y), fit.spec
    best = refits(p, best_fit(p.of(slice(0, 1))), lambda i, j: np.ones((j - i, p.n)), tables)
    numbers = [slice(start, start + REFITS) for start in range(seed * REFITS, (seed + tables) * REFITS, REFITS)]
    if how.method == "profile":
        empty = np.empty((0, len(p.low))), np.empty(0)
        optima = [Optimum(b, float(v), *empty, ()) for b, v in zip(best, _objectives(p, best), strict=True)]
        drawn = [
            likelihood_draws(p.of(slice(t, t + 1)), optima[t], spec.seed, which.start, which.stop)
            for t, which in enumerate(numbers)
        ]
        return best, np.array(drawn)
    y, weight = np.repeat(p.y, REFITS, axis=0), np.ones((tables * REFITS, p.n))
    if how.method == "residual":
        fitted = predict(p, best)
        drawn = [
            targets(spec, p.y[t], p.weight, fitted[t], runs.cluster, p.n_free, which) for t, which in enumerate(numbers)
        ]
        y = np.concatenate(drawn)
    else:
        weight = counts(how.runs, spec.seed, numbers[0].start, numbers[-1].stop)[:, runs.cluster]
    theta, value = descents(replace(p, y=y), np.repeat(best, REFITS, axis=0)[:, None], weight)
    return best, np.where(np.isfinite(value)[:, None], theta, np.nan).reshape(tables, REFITS, -1)


def _objectives(p: Problem, theta: Floats) -> Floats:
    """Return the objective (tables,) of each table in ``p`` at its parameters ``theta`` (tables, q)."""
    return descents(p, theta[:, None])[1]
