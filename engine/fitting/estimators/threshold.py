"""Penalised logistic regression: the line in log N and log D between runs that overfit and runs that do not.

The odds that a run overfits are exp(b0 + b1 ln N + b2 ln D). The odds are 1 on the line N = c D^lambda, with lambda =
-b2/b1. If a line separates the two kinds of runs exactly, the likelihood has no finite maximum. The likelihood is
therefore penalised by Jeffreys' prior (Firth 1993, Biometrika 80, 27; Heinze and Schemper 2002). This prior has no free
scale and does not depend on the units of N and D.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.estimators.isoflop import MEMORY
from isoplan.engine.fitting.resampling.bootstrap import counts
from isoplan.engine.fitting.samples.sample import Sample, column
from isoplan.engine.fitting.solver.linear import solve_definite
from isoplan.engine.fitting.solver.problem import blocks
from isoplan.engine.fitting.solver.threads import Progress
from isoplan.engine.fitting.types.intervals import Resampling, pairs_only
from isoplan.engine.fitting.types.result import Estimate, FitWarning
from isoplan.engine.schema import Runs

STEPS = 100
LARGEST_STEP = 2.0
"""Maximum change of a coefficient in one Newton step, for columns with a standard deviation of one."""


def threshold(s: Sample, progress: Progress | None = None) -> Estimate:
    """Return the fit of c and lambda, with one refit for each resample.

    The row of a resample is NaN if larger models do not overfit more often in this resample. If they do not overfit
    more often in the whole table, raises PlannerError.
    """
    if s.spec.fixed:
        raise PlannerError("The law 'threshold' does not support fixed parameters. Leave them free.")
    over = _labels(s)
    x, centre, scale = _basis(s)
    best = logistic(x, over, s.weight[None])
    theta = _line(best, centre, scale)
    if np.isnan(theta).any():
        raise PlannerError(
            "Larger models do not overfit more often than smaller ones in these cells, so there is no threshold: "
            "check the labels, or add cells of other sizes."
        )
    resamples = np.full((s.spec.bootstrap, 2), np.nan)
    for at in blocks(s.spec.bootstrap, MEMORY // (9 * len(s))):
        weight = s.weight * counts(len(s), s.spec.seed, at.start, at.stop)
        resamples[at] = _line(logistic(x, over, weight), centre, scale)
        if progress:
            progress(at.stop / s.spec.bootstrap)
    log_odds = x @ best[0]
    cost = float(s.weight @ np.logaddexp(0, np.where(over == 1, -log_odds, log_odds)))
    how = Resampling(pairs_only(s.spec.interval, "Law threshold"))
    return Estimate(theta[0], cost, resamples, tuple(_notes(s, over, log_odds)), resampling=how)


def is_label(runs: Runs, y: str) -> bool:
    """Return whether the column ``y`` contains 0 and 1 and no other value, so that it can mark runs that overfit."""
    if y not in runs:
        return False
    one, zero = runs[y] == 1, runs[y] == 0
    return bool(np.all(one | zero) and one.any() and zero.any())


def logistic(x: Floats, over: Floats, weight: Floats) -> Floats:
    """Return the coefficients (r, 3) of a logistic regression of ``over`` (n,), 0 or 1, on the columns ``x`` (n, 3).

    ``weight`` (r, n) are the weights of the runs in each resample. The likelihood is penalised by Jeffreys' prior. The
    result has no meaning if the information matrix is singular because a resample has too few different runs.
    """
    b = np.zeros((len(weight), x.shape[1]))
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(b @ x.T, -40, 40)))
        w = weight * p * (1 - p)
        information = np.einsum("rn,ni,nj->rij", w, x, x, optimize=True)
        inverse = np.stack(
            [solve_definite(information, np.tile(e, (len(b), 1)))[0] for e in np.eye(x.shape[1])], axis=2
        )
        leverage = p * (1 - p) * np.einsum("ni,rij,nj->rn", x, inverse, x, optimize=True)
        score = (weight * (over - p + leverage * (0.5 - p))) @ x
        step = np.einsum("rij,rj->ri", inverse, score)
        step *= np.minimum(1, LARGEST_STEP / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-300))
        b = b + step
        if not np.nanmax(np.abs(step), initial=0.0) > 1e-10:
            break
    return b


def _basis(s: Sample) -> tuple[Floats, Floats, Floats]:
    """Return the columns 1, ln N and ln D (n, 3), with their means (2,) and standard deviations (2,).

    ln N and ln D are standardised: the mean is subtracted, and the result divided by the standard deviation.
    """
    logs = np.log(np.stack([s.columns["N"], s.columns["D"]], axis=1))
    centre, scale = logs.mean(axis=0), logs.std(axis=0)
    return np.column_stack([np.ones(len(s)), (logs - centre) / scale]), centre, scale


def _line(b: Floats, centre: Floats, scale: Floats) -> Floats:
    """Return c and lambda (r, 2) of the line N = c D^lambda; NaN if larger models do not overfit more often."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope = np.where(b[:, 1] > 0, b[:, 1], np.nan) / scale[0]
        exponent = -b[:, 2] / scale[1] / slope
        log_c = centre[0] - exponent * centre[1] - b[:, 0] / slope
        return np.stack([np.exp(log_c), exponent], axis=1)


def _labels(s: Sample) -> NDArray[np.float64]:
    """Return the labels (n,) of the runs: 1 if a run overfits, and otherwise 0.

    Raises PlannerError for other values, if all labels are equal, or if all runs have the same N or the same D.
    """
    over, name = s.y * s.sign, column(s.runs, s.spec.y)
    bad = np.flatnonzero(~np.isin(over, (0.0, 1.0)))
    if bad.size:
        raise PlannerError(
            f"The law 'threshold' needs training curves, or a column with 1 for runs that overfit and 0 for others: "
            f"{name} is {over[bad[0]]:g} in row {s.runs.ids[bad[0]]}."
        )
    n, count = len(s), int(over.sum())
    if count in (0, n):
        raise PlannerError(
            f"All {n} cells {'over' if count else 'under'}fit, so there is no threshold: "
            f"add {'smaller models or more samples' if count else 'larger models or fewer samples'}."
        )
    for role in ("N", "D"):
        if np.ptp(s.columns[role]) == 0:
            raise PlannerError(
                f"{column(s.runs, role)} has one value only ({s.columns[role][0]:g}), so the threshold has no slope: "
                f"add cells at other values of {role}."
            )
    return over


def _notes(s: Sample, over: Floats, log_odds: Floats) -> Iterator[FitWarning]:
    across = int(np.sum((log_odds > 0) != (over == 1)))
    if across:
        yield FitWarning(
            "across", f"{across} of {len(s)} cells are on the wrong side of the threshold: the threshold is not sharp."
        )
    sides = {int(over.sum()), len(s) - int(over.sum())}
    if min(sides) < 3:
        yield FitWarning(
            "one-sided",
            f"Only {min(sides)} of {len(s)} cells are on one side of the threshold: add cells on this side.",
        )
